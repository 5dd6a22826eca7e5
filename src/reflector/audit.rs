//! Comparing a store with what it mirrors.

use std::{collections::HashMap, fmt, time::Duration};

use super::{ListerWatcher, PAGE, Reflector};
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

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".into());
        let (stored, listed) = (version(&self.stored), version(&self.listed));
        write!(f, "{}: version {stored} in the store, {listed} on the server", self.key)
    }
}

/// What a reflector tells its error handler when its store differs from the server and stays so.
///
/// [`Error::downcast_ref`] gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConsistencyError(Vec<Inconsistency>);

impl ConsistencyError {
    /// The objects that differ.
    #[must_use]
    pub fn found(&self) -> &[Inconsistency] {
        &self.0
    }
}

impl fmt::Display for ConsistencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        write!(f, "the store is not as the server is")?;
        for (at, found) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{} {found}", if at == 0 { ":" } else { ";" })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for ConsistencyError {}

/// A check that is made now and then.
pub(super) struct Audit<K> {
    pub(super) period: Duration,
    pub(super) store: Store<Object<K>>,
}

impl<K: 'static> Reflector<K> {
    /// Checks until `stop` is stopped.
    pub(super) fn check_now_and_then(&self, audit: &Audit<K>, stop: &StopToken) {
        // A dead watch is found by its silence, and then caught up with.
        let settle = audit.period.min(self.options.watch_silence.saturating_mul(2));
        while !stop.wait_timeout(audit.period) {
            // A reflector that is catching up is known to be behind.
            if !self.progress.is_watching() {
                continue;
            }
            match check_consistency(&*self.source, &audit.store, settle, stop) {
                Ok(found) if found.is_empty() || !self.progress.is_watching() => {}
                Ok(found) => {
                    self.progress.inconsistent(found.len());
                    self.tell(&Error::other(ConsistencyError(found)));
                }
                Err(Error::Stopped) => {}
                Err(error) => {
                    log::debug!("reflector {}: not checked: {error:?}", self.options.name);
                }
            }
        }
    }
}

/// Compares a store with a fresh list, and gives what differs and stays so.
///
/// A store is always a little behind. So what differs at first is looked at again after `settle`: only
/// what has not moved until then is given, because a watch that works would have brought the change.
/// Choose it longer than events take to arrive, some seconds.
///
/// Only resource versions are compared. The source may be another one than the store is filled from: to
/// list metadata is enough, and cheaper. To have it done now and then, see
/// [`ReflectorBuilder::check_consistency`](super::ReflectorBuilder::check_consistency).
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
/// For as long as the list takes; if anything differs for `settle`, and if it still does for another list.
#[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
pub fn check_consistency<J, K: 'static>(
    source: &(impl ListerWatcher<J> + ?Sized),
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
    if differing.is_empty() {
        return Ok(differing);
    }
    // What came and went meanwhile is missing from the store as it should be.
    let listed = list_versions(source, stop)?;
    differing.retain(|found| listed.get(&found.key) == found.listed.as_ref());
    Ok(differing)
}

type Versions = HashMap<ObjectKey, String>;

fn versions<K: 'static>(store: &Store<Object<K>>) -> Versions {
    let objects = store.list();
    let version = |object: &Object<K>| (object.key().clone(), object.resource_version().to_owned());
    objects.iter().map(version).collect()
}

/// All objects in their newest state.
fn list_versions<J>(
    source: &(impl ListerWatcher<J> + ?Sized),
    stop: &StopToken,
) -> Result<Versions> {
    let mut listed = Versions::new();
    let mut options = ListOptions::new().limit(PAGE);
    let crowd = source.crowd().unwrap_or_default();
    loop {
        let _turn = crowd.list_turn(stop)?;
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
