//! Replacing what a queue knows by a new list, all at once or object by object.

use std::collections::HashSet;

use super::{
    delta::{Deleted, Delta},
    delta_fifo::{DeltaFifo, Options, State},
};
use crate::{error::Result, object::ObjectKey};

/// A list that is on its way into a [`DeltaFifo`], object by object.
///
/// Objects are queued as they come, so that the list is never held twice. What the list leaves out is
/// deleted when it is [`finish`](Self::finish)ed. A list that is dropped before is abandoned: nothing is
/// deleted, and the queue has not synced by it.
///
/// ```
/// use kinformer::cache::DeltaFifo;
///
/// let fifo = DeltaFifo::new(|name: &&str| *name);
/// let mut list = fifo.begin_replace();
/// list.item("a")?;
/// list.item("b")?;
/// assert!(!fifo.has_synced());
/// list.finish();
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a list that is dropped is abandoned"]
pub struct Replace<'a, T> {
    fifo: &'a DeltaFifo<T>,
    replacing: Replacing,
}

impl<T: Clone + 'static> DeltaFifo<T> {
    /// Starts to take a list object by object.
    pub fn begin_replace(&self) -> Replace<'_, T> {
        Replace { fifo: self, replacing: Replacing::default() }
    }
}

impl<T: Clone + 'static> Replace<'_, T> {
    /// Queues an object of the list.
    ///
    /// # Errors
    ///
    /// If the transform fails: the object counts as listed all the same, so that it is not deleted.
    pub fn item(&mut self, object: T) -> Result<()> {
        let (key, object) = self.fifo.options.transformed(object);
        let replacing = &mut self.replacing;
        match object {
            Ok(object) => {
                self.fifo.change_list(|state, options| replacing.item(state, options, key, object));
                Ok(())
            }
            Err(error) => {
                replacing.listed.insert(key);
                Err(error)
            }
        }
    }

    /// Takes back an object: it was deleted after it was listed.
    ///
    /// # Errors
    ///
    /// If the transform fails.
    pub fn remove(&mut self, object: T) -> Result<()> {
        let (key, object) = self.fifo.options.prepare(object)?;
        let replacing = &mut self.replacing;
        self.fifo.change_list(|state, options| replacing.remove(state, options, key, object));
        Ok(())
    }

    /// How many objects the list has so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.replacing.listed.len()
    }

    /// Whether the list has no object so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The list is complete: queues the deletion of every known object that was not in it.
    pub fn finish(self) {
        self.fifo.change_list(|state, options| self.replacing.finish(state, options));
    }

    /// Forgets the list: nothing is deleted.
    pub fn abandon(self) {}
}

/// Which keys a list has had.
#[derive(Debug, Default)]
pub(super) struct Replacing {
    listed: HashSet<ObjectKey>,
}

impl Replacing {
    pub(super) fn item<T: Clone + 'static>(
        &mut self,
        state: &mut State<T>,
        options: &Options<T>,
        key: ObjectKey,
        object: T,
    ) {
        // Without the queued changes the known object is not what it will be.
        let object =
            if state.is_queued(&key) { object } else { options.known_or(state, &key, object) };
        self.listed.insert(key.clone());
        state.enqueue_listed(key, options.listed(object));
    }

    fn remove<T: Clone + 'static>(
        &mut self,
        state: &mut State<T>,
        options: &Options<T>,
        key: ObjectKey,
        object: T,
    ) {
        self.listed.remove(&key);
        if state.is_queued(&key) || options.known_object(state, &key).is_some() {
            state.enqueue_listed(key, Delta::Deleted(Deleted::Known(object)));
        }
    }

    pub(super) fn finish<T: Clone + 'static>(self, state: &mut State<T>, options: &Options<T>) {
        let gone = |key: &ObjectKey| !self.listed.contains(key);
        let queued: Vec<_> = state
            .live()
            .filter(|(key, _)| gone(key))
            .map(|(key, object)| (key.clone(), Some(object.clone())))
            .collect();
        let mut known = options.known_keys(state);
        known.retain(|key| gone(key) && !state.is_queued(key));
        let known = known.into_iter().filter_map(|key| {
            // One that is being deleted by the consumer is not known any more.
            let last = options.known_object(state, &key)?;
            Some((key, Some(last)))
        });
        let known: Vec<_> = known.collect();
        for (key, last) in queued.into_iter().chain(known) {
            let deleted = Deleted::FinalStateUnknown { key: key.clone(), last };
            state.enqueue_listed(key, Delta::Deleted(deleted));
        }
        state.complete_list();
    }
}
