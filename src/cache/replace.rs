//! Replacing what a queue knows by a new list, all at once or object by object.

use super::{
    delta::{Deleted, Delta},
    delta_fifo::{DeltaFifo, News, Options, State},
    key_set::KeySet,
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
        Replace { fifo: self, replacing: Replacing::streamed(&self.state.lock(), None) }
    }

    /// The same for the objects of one namespace: the list says nothing about others.
    pub(crate) fn begin_replace_in(&self, namespace: &str) -> Replace<'_, T> {
        let namespace = Some(namespace.to_owned());
        Replace { fifo: self, replacing: Replacing::streamed(&self.state.lock(), namespace) }
    }
}

impl<T: Clone + 'static> Replace<'_, T> {
    /// Queues an object of the list.
    ///
    /// # Errors
    ///
    /// If the transform fails: the object counts as listed all the same, so that it is not deleted.
    pub fn item(&mut self, object: T) -> Result<()> {
        let key = self.fifo.options.key_of(&object);
        let transformed = self.fifo.options.transformed(object);
        let replacing = &mut self.replacing;
        let mut result = Ok(());
        self.fifo.change_list(|state, options| match transformed {
            Ok(object) => replacing.item(state, options, key, object),
            Err(error) => {
                replacing.keys.insert(state.hash(&key), &key);
                result = Err(error);
            }
        });
        result
    }

    /// Takes back an object: it was deleted after it was listed.
    ///
    /// # Errors
    ///
    /// If the transform fails: the object counts as not listed all the same, so that it is deleted when
    /// the list is finished.
    pub fn remove(&mut self, object: T) -> Result<()> {
        let key = self.fifo.options.key_of(&object);
        let transformed = self.fifo.options.transformed(object);
        let replacing = &mut self.replacing;
        let mut result = Ok(());
        self.fifo.change_list(|state, options| {
            replacing.keys.remove(state.hash(&key), &key);
            match transformed {
                Ok(object) => options.delete(state, key, object),
                Err(error) => result = Err(error),
            }
        });
        result
    }

    /// How many objects the list has so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.replacing.keys.len()
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

/// Which objects a list has had.
#[derive(Debug)]
pub(super) struct Replacing {
    /// Marks them where they are queued, if the whole list is queued before anything is taken.
    number: Option<u32>,
    /// Their keys, if it is not.
    keys: KeySet,
    /// What the list is about; `None` for all namespaces.
    namespace: Option<String>,
}

impl Replacing {
    pub(super) fn whole<T>(state: &mut State<T>, objects: usize) -> Self {
        Self { number: Some(state.begin_list(objects)), keys: state.no_keys(), namespace: None }
    }

    fn streamed<T>(state: &State<T>, namespace: Option<String>) -> Self {
        Self { number: None, keys: state.no_keys(), namespace }
    }

    /// Whether the list says anything about an object of this key.
    fn is_about(&self, key: &ObjectKey) -> bool {
        self.namespace.is_none() || self.namespace.as_deref() == key.namespace()
    }

    pub(super) fn item<T: Clone + 'static>(
        &mut self,
        state: &mut State<T>,
        options: &Options<T>,
        key: ObjectKey,
        object: T,
    ) {
        let hash = state.hash(&key);
        if self.number.is_none() {
            self.keys.insert(hash, &key);
        }
        let at = match options.news(state, &key, hash, object) {
            News::Of(object) => state.enqueue_listed(key, hash, options.listed(object)),
            News::InLine(at) => {
                state.count_listed(at);
                at
            }
            News::None => {
                self.keys.insert(hash, &key);
                return;
            }
        };
        if let Some(number) = self.number {
            state.mark(at, number);
        }
    }

    pub(super) fn finish<T: Clone + 'static>(self, state: &mut State<T>, options: &Options<T>) {
        let queued = state.live().filter(|(entry, _)| {
            let listed =
                self.number == Some(entry.list) || self.keys.contains(entry.hash, &entry.key);
            !listed && self.is_about(&entry.key) && !cfg!(kinf_bug = "4")
        });
        let queued: Vec<_> =
            queued.map(|(entry, object)| (entry.key.clone(), Some(object.clone()))).collect();
        let known = options.known_keys(state, |key| {
            let hash = state.hash(key);
            self.is_about(key) && !state.is_queued_at(key, hash) && !self.keys.contains(hash, key)
        });
        let known = known.into_iter().map(|key| {
            let last = options.known_object(state, &key);
            (key, last)
        });
        let known: Vec<_> = known.collect();
        for (key, last) in queued.into_iter().chain(known) {
            let hash = state.hash(&key);
            let deleted = Deleted::FinalStateUnknown { key: key.clone(), last };
            state.enqueue_listed(key, hash, Delta::Deleted(deleted));
        }
        state.complete_list();
    }
}
