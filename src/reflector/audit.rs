//! Comparing a store with what it mirrors.

use std::{collections::HashMap, time::Duration};

use super::{ListerWatcher, PAGE};
use crate::{
    cache::Store,
    client::ListOptions,
    error::{Error, Result},
    object::{Object, ObjectKey},
    stop::StopToken,
};

/// An object that a store has in another state than the server does.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Inconsistency {
    /// Which object.
    pub key: ObjectKey,
    /// Its resource version in the store; `None` if it is not there.
    pub stored: Option<String>,
    /// Its resource version on the server; `None` if it is not there.
    pub listed: Option<String>,
}

/// Compares a store with a fresh list, and gives what differs and stays so.
///
/// A store is always a little behind. So what differs at first is looked at again after `settle`: only
/// what has not moved until then is given, because a watch that works would have brought the change.
/// Choose it longer than events take to arrive, some seconds.
///
/// Only resource versions are compared. The source may be another one than the store is filled from: to
/// list metadata is enough, and cheaper.
///
/// ```no_run
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListWatch, SharedInformer, StopToken, check_consistency};
///
/// let client = Client::try_default()?;
/// let informer = SharedInformer::builder(ListWatch::<Pod>::from_client(&client, None)).build()?;
/// let audit = ListWatch::from_api(client.metadata::<Pod>());
/// let settle = Duration::from_secs(10);
/// for found in check_consistency(&audit, &informer.store(), settle, &StopToken::new())? {
///     eprintln!("{found:?}");
/// }
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Errors
///
/// If the list fails, or `stop` is stopped.
///
/// # Blocking
///
/// For as long as the list takes, and for `settle` if anything differs.
#[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
pub fn check_consistency<J, K: 'static>(
    source: &impl ListerWatcher<J>,
    store: &Store<Object<K>>,
    settle: Duration,
    stop: &StopToken,
) -> Result<Vec<Inconsistency>> {
    let stored = versions(store);
    let listed = list_versions(source, stop)?;
    let mut differing = differences(&stored, &listed);
    if differing.is_empty() {
        return Ok(differing);
    }
    if stop.wait_timeout(settle) {
        return Err(Error::Stopped);
    }
    differing.retain(|found| {
        let now = store.get_by_key(found.key.as_str());
        now.as_ref().map(Object::resource_version) == found.stored.as_deref()
    });
    Ok(differing)
}

type Versions = HashMap<ObjectKey, String>;

fn versions<K: 'static>(store: &Store<Object<K>>) -> Versions {
    let objects = store.list();
    let version = |object: &Object<K>| (object.key().clone(), object.resource_version().to_owned());
    objects.iter().map(version).collect()
}

/// All objects in their newest state.
fn list_versions<J>(source: &impl ListerWatcher<J>, stop: &StopToken) -> Result<Versions> {
    let mut listed = Versions::new();
    let mut options = ListOptions::new().limit(PAGE);
    loop {
        let page = source.list(&options, stop, &mut |object| {
            // What cannot be used is not in the store either.
            if let Ok(object) = object {
                listed.insert(object.key().clone(), object.resource_version().to_owned());
            }
        });
        match page {
            Ok(page) if page.continue_token.is_empty() => return Ok(listed),
            Ok(page) => options.continue_token = Some(page.continue_token),
            // The rest of the list is not to be had any more: take all of it at once.
            Err(error) if error.is_expired() && options.continue_token.is_some() => {
                listed.clear();
                options = ListOptions::new();
            }
            Err(error) => return Err(error),
        }
    }
}

fn differences(stored: &Versions, listed: &Versions) -> Vec<Inconsistency> {
    let missing = stored.keys().filter(|key| !listed.contains_key(*key));
    let mut found: Vec<_> = listed
        .keys()
        .chain(missing)
        .filter(|key| stored.get(*key) != listed.get(*key))
        .map(|key| Inconsistency {
            key: key.clone(),
            stored: stored.get(key).cloned(),
            listed: listed.get(key).cloned(),
        })
        .collect();
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found
}
