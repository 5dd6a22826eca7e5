//! The informers that a factory holds.

use super::Selection;
use crate::{
    error::{Error, Result},
    informer::SharedInformer,
    object::{DynamicObject, GroupVersionResource},
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

/// Who keeps an informer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Held {
    /// The factory, until it is told otherwise.
    ByFactory,
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
    informer: SharedInformer<DynamicObject>,
}

impl Registry {
    /// The informer of this key, unless it has stopped while others go on.
    pub(super) fn find(&self, key: &Key, held: Held) -> Option<SharedInformer<DynamicObject>> {
        let _ = held;
        let entry = self.entries.iter().find(|entry| entry.key == *key)?;
        (self.closed || !entry.informer.is_stopped()).then(|| entry.informer.clone())
    }

    /// Keeps an informer, or gives the one that is there; `None` if nothing is kept any more.
    pub(super) fn keep(
        &mut self,
        key: Key,
        made: SharedInformer<DynamicObject>,
        held: Held,
    ) -> Option<SharedInformer<DynamicObject>> {
        if let Some(known) = self.find(&key, held) {
            return Some(known);
        }
        if self.closed {
            return None;
        }
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(Entry { key, informer: made.clone() });
        Some(made)
    }

    /// All informers.
    pub(super) fn all(&self) -> Vec<SharedInformer<DynamicObject>> {
        self.entries.iter().map(|entry| entry.informer.clone()).collect()
    }

    /// All informers.
    ///
    /// # Errors
    ///
    /// If the factory has been shut down.
    pub(super) fn open(&self) -> Result<Vec<SharedInformer<DynamicObject>>> {
        if self.closed {
            let text = "it has been shut down and cannot be started again";
            return Err(Error::invalid("factory", text));
        }
        Ok(self.all())
    }

    /// Takes nothing more; gives all informers, to be stopped.
    pub(super) fn close(&mut self) -> Vec<SharedInformer<DynamicObject>> {
        self.closed = true;
        self.all()
    }
}
