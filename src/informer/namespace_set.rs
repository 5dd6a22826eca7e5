//! A set of namespaces that can change while informers follow it.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::{
    error::Result,
    object::check_namespace,
    stop::{Interrupt, StopToken},
    sync::{Condvar, Mutex},
};

/// Several namespaces, for informers of any number of kinds.
///
/// A handle: clones are the same set, and a change of it is a change for every informer that was made
/// with it. Such an informer has one watch for each namespace, one cache and one lister; a handler sees
/// the events of all namespaces, one at a time. The objects of a namespace that is taken out are told as
/// deleted, with their last known state.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, NamespaceSet, SharedInformerFactory};
///
/// let tenants = NamespaceSet::new(["red", "green"])?;
/// let factory = SharedInformerFactory::builder(Client::try_default()?).namespaces(&tenants).build();
/// let pods = factory.informer::<Pod>();
/// factory.start()?;
/// tenants.insert("blue")?;
/// tenants.remove("red");
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "MultiNamespacedCacheBuilder")]
pub struct NamespaceSet(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// The names are others, or somebody who waits has to stop.
    changed: Condvar,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct State {
    names: BTreeSet<String>,
    /// How often they changed.
    changes: u64,
}

impl NamespaceSet {
    /// A set of these namespaces; none is fine.
    ///
    /// # Errors
    ///
    /// If a name is one that no namespace can have.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Result<Self> {
        let state = Mutex::new(State { names: checked(names)?, changes: 0 });
        Ok(Self(Arc::new(Inner { state, changed: Condvar::new() })))
    }

    /// Adds a namespace; says whether it was not there.
    ///
    /// # Errors
    ///
    /// If the name is one that no namespace can have.
    pub fn insert(&self, name: impl Into<String>) -> Result<bool> {
        let name = name.into();
        check_namespace(&name)?;
        Ok(self.change(|names| names.insert(name)))
    }

    /// Takes out a namespace; says whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.change(|names| names.remove(name))
    }

    /// Takes these namespaces in place of those that are there.
    ///
    /// # Errors
    ///
    /// If a name is one that no namespace can have; nothing changes then.
    pub fn replace<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Result<()> {
        let new = checked(names)?;
        self.change(|names| {
            let changes = *names != new;
            *names = new;
            changes
        });
        Ok(())
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.state.lock().names.iter().cloned().collect()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> bool {
        let mut state = self.0.state.lock();
        let changed = change(&mut state.names);
        state.changes += u64::from(changed);
        drop(state);
        if changed {
            self.0.changed.notify_all();
        }
        changed
    }

    /// The names and the number of their last change, once that is another than `seen`; `None` at the
    /// stop.
    pub(super) fn wait_for_change(
        &self,
        seen: Option<u64>,
        stop: &StopToken,
    ) -> Option<(BTreeSet<String>, u64)> {
        let _waking = stop.on_stop(Arc::new(Wake(self.clone()))).ok()?;
        let mut state = self.0.state.lock();
        while !stop.is_stopped() {
            if seen != Some(state.changes) {
                return Some((state.names.clone(), state.changes));
            }
            self.0.changed.wait(&mut state);
        }
        None
    }
}

/// Wakes those who wait for a change.
struct Wake(NamespaceSet);

impl Interrupt for Wake {
    fn interrupt(&self) {
        // Under the lock, so that nobody is between his look at the token and his wait.
        let _state = self.0.0.state.lock();
        self.0.0.changed.notify_all();
    }
}

/// Whether they are one and the same set.
impl PartialEq for NamespaceSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for NamespaceSet {}

impl fmt::Debug for NamespaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamespaceSet").field(&self.names()).finish()
    }
}

fn checked<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Result<BTreeSet<String>> {
    let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
    names.iter().try_for_each(|name| check_namespace(name))?;
    Ok(names)
}
