//! Objects by key, with indices: the store under all others.

mod state;

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use self::state::State;
use super::{
    fingerprint::Fingerprint,
    index::{Index, Indexers, UnknownIndex, Values},
};
use crate::{error::Error, object::ObjectKey, sync::RwLock};

/// How many objects a new index takes in while the lock is held; one in models, which have few.
const BACKFILL: usize = if cfg!(shuttle) { 1 } else { 256 };

/// About as many reads as a processor has under way at a time.
const READ_AT_ONCE: usize = 12;

/// Objects by key, with any number of indices, for any number of threads.
///
/// Store and indices change in one step: readers see all of a change or nothing of it. Reads give
/// clones, so `T` should be cheap to clone; an [`Object`](crate::Object) is.
///
/// [`Store`](super::Store) and [`Indexer`](super::Indexer) are the same with a key function.
///
/// ```
/// use kinformer::cache::{Indexers, ThreadSafeStore};
///
/// let parity = Indexers::new().with("even", |n: &u32| vec![(n % 2 == 0).to_string()]);
/// let store = ThreadSafeStore::new(parity);
/// for n in 1..=3 {
///     store.insert(n.to_string().into(), n);
/// }
/// assert_eq!(store.by_index("even", "true")?, [2]);
/// # Ok::<(), kinformer::cache::UnknownIndex>(())
/// ```
#[doc(alias = "NewThreadSafeStore")]
pub struct ThreadSafeStore<T> {
    options: Options<T>,
    state: RwLock<State<T>>,
}

/// What the store can know about its objects.
pub(super) struct Options<T> {
    pub(super) resource_version: Option<fn(&T) -> &str>,
    /// A set of bits that says which labels an object may have: see [`super::fingerprint`].
    pub(super) fingerprint: Option<fn(&T) -> Fingerprint>,
    /// Reads what will be written to when the object is cloned.
    pub(super) touch: Option<fn(&T)>,
}

/// An object whose index values are known, to be stored.
pub(crate) struct Prepared<T> {
    key: ObjectKey,
    object: T,
    /// None if there is no function of the user's to be run.
    indexed: Option<Indexed<T>>,
}

/// What the functions of these indices say of an object.
type Indexed<T> = (Arc<Indexers<T>>, SmallVec<[Values<'static>; 2]>);

/// An object that was prepared before indices were added, given back.
pub(crate) struct Outdated<T>(pub(crate) ObjectKey, pub(crate) T);

impl<T: Clone> ThreadSafeStore<T> {
    /// An empty store with these indices.
    #[must_use]
    pub fn new(indexers: Indexers<T>) -> Self {
        let options = Options { resource_version: None, fingerprint: None, touch: None };
        Self::with_options(indexers, options)
    }

    pub(super) fn with_options(indexers: Indexers<T>, options: Options<T>) -> Self {
        let state = State::new(Arc::new(indexers));
        Self { options, state: RwLock::new(state) }
    }

    /// Stores an object; gives back the one it replaces.
    #[doc(alias = "Add")]
    #[doc(alias = "Update")]
    pub fn insert(&self, key: ObjectKey, object: T) -> Option<T> {
        // What it frees, it frees without the lock.
        match self.insert_plain(key, object) {
            Ok(old) => old,
            Err(Outdated(key, object)) => self.insert_indexed(key, object),
        }
    }

    /// Stores an object if no function of the user's is to be run for it.
    fn insert_plain(&self, key: ObjectKey, object: T) -> Result<Option<T>, Outdated<T>> {
        let mut state = self.state.write();
        if !state.indexers.are_plain() {
            return Err(Outdated(key, object));
        }
        Ok(state.put_plain(key, object))
    }

    fn insert_indexed(&self, key: ObjectKey, object: T) -> Option<T> {
        loop {
            let indexers = self.state.read().indexers.clone();
            // The user's code, without any lock.
            let values = indexers.values(&object);
            let mut state = self.state.write();
            if !Arc::ptr_eq(&indexers, &state.indexers) {
                continue;
            }
            let slot = state.place(&key, &values);
            drop(values);
            return state.fill(slot, key, object);
        }
    }

    /// The part of [`insert`](Self::insert) that runs the user's index functions: without any lock.
    pub(crate) fn prepare(&self, key: ObjectKey, object: T) -> Prepared<T> {
        let state = self.state.read();
        if state.indexers.are_plain() {
            return Prepared { key, object, indexed: None };
        }
        let indexers = state.indexers.clone();
        drop(state);
        let values = indexers.values(&object).into_iter().map(Values::into_owned).collect();
        Prepared { key, object, indexed: Some((indexers, values)) }
    }

    /// The rest of [`insert`](Self::insert); fails if indices were added since the object was prepared.
    pub(crate) fn commit(&self, prepared: Prepared<T>) -> Result<Option<T>, Outdated<T>> {
        let Prepared { key, object, indexed } = prepared;
        let Some((indexers, values)) = indexed else { return self.insert_plain(key, object) };
        let mut state = self.state.write();
        if !Arc::ptr_eq(&indexers, &state.indexers) {
            return Err(Outdated(key, object));
        }
        Ok(state.put(key, object, &values))
    }

    /// Removes the object of this key, and gives it back.
    #[doc(alias = "Delete")]
    pub fn remove(&self, key: &str) -> Option<T> {
        self.state.write().remove(key, self.options.resource_version)
    }

    /// Removes the object of this key; `last` is its last state, which says how far the store has come.
    #[doc(alias = "DeleteWithObject")]
    pub fn remove_with(&self, key: &str, last: &T) -> Option<T> {
        let mut state = self.state.write();
        if let Some(version) = self.options.resource_version {
            state.set_resource_version(version(last));
        }
        state.remove(key, self.options.resource_version)
    }

    /// Replaces everything in one step. Of objects with the same key the last counts.
    pub fn replace(
        &self,
        objects: impl IntoIterator<Item = (ObjectKey, T)>,
        resource_version: &str,
    ) {
        let objects: Vec<_> = objects.into_iter().collect();
        loop {
            let indexers = self.state.read().indexers.clone();
            let mut fresh = State::new(indexers.clone());
            fresh.reserve(objects.len());
            for (key, object) in &objects {
                fresh.put(key.clone(), object.clone(), &indexers.values(object));
            }
            fresh.set_resource_version(resource_version);
            let mut state = self.state.write();
            if Arc::ptr_eq(&indexers, &state.indexers) {
                std::mem::swap(&mut *state, &mut fresh);
                drop(state);
                return;
            }
        }
    }

    /// Notes how far the store has come, without a change.
    pub fn bookmark(&self, resource_version: &str) {
        self.state.write().set_resource_version(resource_version);
    }

    /// The resource version of the last change; empty at the start.
    ///
    /// That of the last change applied, which need not be the largest. Only what knows its objects'
    /// versions (the store of an informer) follows single changes; others have that of the last
    /// [`replace`](Self::replace).
    #[must_use]
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn resource_version(&self) -> String {
        self.state.read().resource_version(self.options.resource_version).to_owned()
    }

    /// The object of this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<T> {
        self.get_bytes(key.as_bytes())
    }

    /// The same for a key that was put together and need not be looked at again to be text.
    pub(super) fn get_bytes(&self, key: &[u8]) -> Option<T> {
        let state = self.state.read();
        let slot = match self.options.touch {
            Some(touch) => state.find_and(key, touch),
            None => state.find(key),
        };
        state.object(slot?).cloned()
    }

    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<T> {
        self.candidates(Fingerprint::NOTHING)
    }

    /// The objects that may have the labels of this fingerprint.
    pub(super) fn candidates(&self, fingerprint: Fingerprint) -> Vec<T> {
        let state = self.state.read();
        let are_all = fingerprint == Fingerprint::NOTHING;
        let mut objects = Vec::with_capacity(if are_all { state.len() } else { 0 });
        let slots = (0..state.end()).filter(|&slot| self.may_have(&state, slot, fingerprint));
        self.clone_into(&mut objects, slots.filter_map(|slot| state.object(slot)));
        objects
    }

    /// The objects under a value of an index that may have the labels of this fingerprint.
    pub(super) fn candidates_by_index(
        &self,
        index: &str,
        value: &str,
        fingerprint: Fingerprint,
    ) -> Result<Vec<T>, UnknownIndex> {
        let state = self.state.read();
        let slots = state.index(index)?.slots(value);
        let are_all = fingerprint == Fingerprint::NOTHING;
        let mut objects = Vec::with_capacity(if are_all { slots.len() } else { 0 });
        let slots = slots.iter().copied().filter(|&slot| self.may_have(&state, slot, fingerprint));
        self.clone_into(&mut objects, slots.filter_map(|slot| state.object(slot)));
        Ok(objects)
    }

    /// All keys, in no order.
    #[must_use]
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        let state = self.state.read();
        state.keys().cloned().collect()
    }

    pub(super) fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.state.read().keys().for_each(visit);
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.read().len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes everything, and gives the memory back.
    pub fn clear(&self) {
        let mut state = self.state.write();
        let fresh = State::new(state.indexers.clone());
        let old = std::mem::replace(&mut *state, fresh);
        drop(state);
        drop(old);
    }

    /// The objects that share a value of the index with `object`, in no order.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    #[doc(alias = "Index")]
    pub fn index(&self, index: &str, object: &T) -> Result<Vec<T>, UnknownIndex> {
        let indexers = self.state.read().indexers.clone();
        let at = indexers.position(index).ok_or_else(|| UnknownIndex(index.to_owned()))?;
        let values = indexers.values_of(at, object);
        let state = self.state.read();
        let found = state.index(index)?;
        let mut slots: Vec<u32> =
            values.iter().flat_map(|value| found.slots(value)).copied().collect();
        slots.sort_unstable();
        slots.dedup();
        Ok(slots.into_iter().filter_map(|slot| state.object(slot)).cloned().collect())
    }

    /// The objects under a value of an index, in no order.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<T>, UnknownIndex> {
        self.candidates_by_index(index, value, Fingerprint::NOTHING)
    }

    /// The keys of the objects under a value of an index, sorted.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        let state = self.state.read();
        let slots = state.index(index)?.slots(value).iter();
        let mut keys: Vec<_> = slots.filter_map(|&slot| state.key(slot)).cloned().collect();
        drop(state);
        keys.sort_unstable();
        Ok(keys)
    }

    /// The values of an index that some object has, in no order; none if there is no such index.
    #[must_use]
    pub fn list_index_func_values(&self, index: &str) -> Vec<String> {
        let state = self.state.read();
        let Ok(index) = state.index(index) else { return Vec::new() };
        index.values().map(ToString::to_string).collect()
    }

    /// The names of the indices.
    #[must_use]
    #[doc(alias = "GetIndexers")]
    pub fn index_names(&self) -> Vec<String> {
        let state = self.state.read();
        let named = state.indexers.names().zip(&state.indices);
        named.filter(|(_, index)| index.complete).map(|(name, _)| name.to_owned()).collect()
    }

    /// Adds indices, over the objects that are there and those to come.
    ///
    /// # Errors
    ///
    /// If there is an index of one of the names; nothing is added then.
    pub fn add_indexers(&self, more: Indexers<T>) -> Result<(), Error> {
        let mut state = self.state.write();
        if let Some(name) = more.names().find(|name| state.indexers.contains(name)) {
            let text = format!("there is an index {name:?} already");
            return Err(Error::invalid("indexers", text));
        }
        let mut all = Indexers::clone(&state.indexers);
        all.extend(more);
        let all = Arc::new(all);
        while state.indices.len() < all.len() {
            // From now on every change is indexed by it; it is shown when the rest is, too.
            state.indices.push(Index::new(false));
        }
        state.indexers = all.clone();
        drop(state);
        self.backfill(&all);
        Ok(())
    }

    /// Indexes the objects that were there before the last indexers, a few at a time, so that their
    /// functions run without the lock.
    fn backfill(&self, indexers: &Arc<Indexers<T>>) {
        let wanted = indexers.len() as u32;
        let mut from = 0;
        loop {
            let (part, end) = self.state.read().unindexed(from, wanted);
            let values: Vec<_> = part
                .iter()
                .map(|(slot, indexed, object)| {
                    let new = (*indexed as usize)..indexers.len();
                    let values = new.map(|index| (index as u32, indexers.values_of(index, object)));
                    (*slot, values.collect::<Vec<_>>())
                })
                .collect();
            let mut state = self.state.write();
            for (slot, values) in values {
                state.index_more(slot, wanted, &values);
            }
            if end >= state.end() {
                state.indices.iter_mut().take(wanted as usize).for_each(|i| i.complete = true);
                return;
            }
            from = end;
        }
    }

    /// Clones objects, each of which is somewhere else in memory. A processor that counts references comes to one
    /// after the other and waits for each, but many at a time can be read.
    fn clone_into<'a>(&self, clones: &mut Vec<T>, mut objects: impl Iterator<Item = &'a T>)
    where
        T: 'a,
    {
        let Some(touch) = self.options.touch else { return clones.extend(objects.cloned()) };
        let mut next = [None; READ_AT_ONCE];
        loop {
            let mut count = 0;
            for (place, object) in next.iter_mut().zip(&mut objects) {
                touch(object);
                (*place, count) = (Some(object), count + 1);
            }
            clones.extend(next[..count].iter().copied().flatten().cloned());
            if count < READ_AT_ONCE {
                return;
            }
        }
    }

    /// Whether the object of a slot may have the labels of this fingerprint.
    fn may_have(&self, state: &State<T>, slot: u32, wanted: Fingerprint) -> bool {
        // What cannot be known about an object rules nothing out.
        match self.options.fingerprint {
            Some(of) if wanted != Fingerprint::NOTHING => {
                state.fingerprint(slot, of).may_have(wanted)
            }
            _ => true,
        }
    }
}

impl<T: Clone> fmt::Debug for ThreadSafeStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.read();
        f.debug_struct("ThreadSafeStore")
            .field("objects", &state.len())
            .field("indexers", &state.indexers)
            .finish_non_exhaustive()
    }
}
