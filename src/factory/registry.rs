//! The informers that a factory holds.

use super::Selection;
use crate::{
    error::{Error, Result},
    informer::{InformerState, SharedInformer},
    object::{ApiResource, GroupVersionResource},
};

/// What informers are told apart by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Key {
    resource: GroupVersionResource,
    selection: Selection,
}

impl Key {
    pub(super) fn new(resource: GroupVersionResource, selection: Selection) -> Self {
        Self { resource, selection }
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }
}

/// Who wants an informer kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Held {
    /// The factory, until it is told otherwise.
    ByFactory,
    /// A lease, which says when it ends.
    ByLease,
}

/// The informers of a factory, and whether there may be more.
#[derive(Debug, Default)]
pub(super) struct Registry {
    entries: Vec<Entry>,
    /// Forgotten, and not at their end yet: a shutdown waits for them too.
    ending: Vec<SharedInformer>,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    informer: SharedInformer,
    by_factory: bool,
    leases: usize,
}

impl Entry {
    fn hold(&mut self, held: Held) {
        match held {
            Held::ByFactory => self.by_factory = true,
            Held::ByLease => self.leases += 1,
        }
    }
}

impl Registry {
    /// The informer of this key, held once more; none if it has stopped while others go on.
    pub(super) fn hold(&mut self, key: &Key, held: Held) -> Option<SharedInformer> {
        let closed = self.closed;
        let entry = self.entries.iter_mut().find(|entry| entry.key == *key)?;
        if entry.informer.is_ending() && !closed {
            return None;
        }
        entry.hold(held);
        Some(entry.informer.clone())
    }

    /// A name that no other informer has, so that none is counted as another: two sets of namespaces
    /// look the same.
    pub(super) fn free_name(&self, name: String, key: &Key) -> String {
        let others = || self.entries.iter().filter(|entry| entry.key != *key);
        let is_free = |name: &str| others().all(|entry| entry.informer.name() != name);
        let numbered = (2..).map(|n| format!("{name} #{n}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| is_free(name)).unwrap_or(name)
    }

    /// Keeps an informer, or gives the one that is there; `None` if nothing is kept any more.
    pub(super) fn keep(
        &mut self,
        key: Key,
        made: SharedInformer,
        held: Held,
    ) -> Option<SharedInformer> {
        if let Some(known) = self.hold(&key, held) {
            return Some(known);
        }
        if self.closed {
            return None;
        }
        let mut entry = Entry { key, informer: made.clone(), by_factory: false, leases: 0 };
        entry.hold(held);
        match self.entries.iter_mut().find(|known| known.key == entry.key) {
            Some(stopped) => self.ending.push(std::mem::replace(stopped, entry).informer),
            None => self.entries.push(entry),
        }
        Some(made)
    }

    /// One lease less. An informer that nobody wants any more is forgotten, and to be stopped.
    pub(super) fn release(&mut self, informer: &SharedInformer) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.informer.is_same(informer))
        else {
            return false;
        };
        entry.leases = entry.leases.saturating_sub(1);
        let unwanted = entry.leases == 0 && !entry.by_factory;
        unwanted && self.forget(informer)
    }

    /// One lease more, if the informer is still held.
    pub(super) fn lease_again(&mut self, informer: &SharedInformer) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.informer.is_same(informer))
        {
            entry.hold(Held::ByLease);
        }
    }

    /// Forgets an informer, which is to be stopped; says whether it was one of these.
    pub(super) fn forget(&mut self, informer: &SharedInformer) -> bool {
        let at = self.entries.iter().position(|entry| entry.informer.is_same(informer));
        let forgotten = at.map(|at| self.entries.remove(at).informer);
        let known = forgotten.is_some();
        self.ending.extend(forgotten);
        known
    }

    /// Those that are to be stopped, or are stopping.
    pub(super) fn ending(&self) -> Vec<SharedInformer> {
        self.ending.clone()
    }

    /// Takes out one that has ended, for its last handle to be dropped without the lock.
    pub(super) fn take_ended(&mut self, informer: &SharedInformer) -> Option<SharedInformer> {
        let at = self.ending.iter().position(|ending| ending.is_same(informer))?;
        Some(self.ending.swap_remove(at))
    }

    /// What an informer of this place is about, if there is one.
    pub(super) fn resource(&self, wanted: &GroupVersionResource) -> Option<ApiResource> {
        let entry = self.entries.iter().find(|entry| entry.key.resource == *wanted)?;
        Some(entry.informer.resource().clone())
    }

    /// All informers.
    pub(super) fn all(&self) -> Vec<SharedInformer> {
        self.entries.iter().map(|entry| entry.informer.clone()).collect()
    }

    /// # Errors
    ///
    /// If the factory has been shut down.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed {
            let text = "it has been shut down and cannot be started again";
            return Err(Error::invalid("factory", text));
        }
        Ok(())
    }

    /// Those that have not been started.
    pub(super) fn unstarted(&self) -> Vec<SharedInformer> {
        let mut all = self.all();
        all.retain(|informer| informer.state() == InformerState::NotStarted);
        all
    }

    /// Takes nothing more; gives all informers, to be stopped and waited for.
    pub(super) fn close(&mut self) -> Vec<SharedInformer> {
        self.closed = true;
        let mut all = self.all();
        all.extend(self.ending());
        all
    }
}
