//! The informers that a factory holds.

use super::selection::{Namespaces, Selection};
use crate::{
    error::{Error, Result},
    informer::{SharedInformer, check_namespace},
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

    /// Keeps an informer, or gives the one that is there; `None` if nothing is kept any more. One that it
    /// takes the place of goes to `replaced`: the end of an informer may wait for handlers, and they for
    /// this registry.
    pub(super) fn keep(
        &mut self,
        key: Key,
        made: SharedInformer,
        held: Held,
        replaced: &mut Option<SharedInformer>,
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
            Some(stopped) => *replaced = Some(std::mem::replace(stopped, entry).informer),
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

    /// Forgets an informer; says whether it was one of these.
    pub(super) fn forget(&mut self, informer: &SharedInformer) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !entry.informer.is_same(informer));
        self.entries.len() < before
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

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// All informers.
    ///
    /// # Errors
    ///
    /// If the factory has been shut down.
    pub(super) fn open(&self) -> Result<Vec<SharedInformer>> {
        if self.closed {
            let text = "it has been shut down and cannot be started again";
            return Err(Error::invalid("factory", text));
        }
        Ok(self.all())
    }

    /// # Errors
    ///
    /// If an informer is about a namespace that cannot be.
    pub(super) fn check(&self) -> Result<()> {
        self.entries.iter().try_for_each(|entry| match &entry.key.selection.namespaces {
            Namespaces::One(name) => check_namespace(name),
            Namespaces::Any | Namespaces::Several(_) => Ok(()),
        })
    }

    /// Takes nothing more; gives all informers, to be stopped.
    pub(super) fn close(&mut self) -> Vec<SharedInformer> {
        self.closed = true;
        self.all()
    }
}
