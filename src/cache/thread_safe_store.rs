//! Objects by key, with indices: the store under all others.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use smallvec::SmallVec;

use super::{
    index::{Index, Indexers, Place, UnknownIndex, Values},
    key_table::{KeyHash, KeyTable},
};
use crate::{error::Error, object::ObjectKey, sync::RwLock};

/// How many objects a new index takes in while the lock is held; one in models, which have few.
const BACKFILL: usize = if cfg!(shuttle) { 1 } else { 256 };

/// Objects by key, with any number of indices, for any number of threads.
///
/// Store and indices change in one step: readers see all of a change or nothing of it. Reads give
/// clones, so `T` should be cheap to clone; an [`Object`](crate::Object) is.
///
/// [`Store`](super::Store) and [`Indexer`](super::Indexer) are the same with a key function.
pub struct ThreadSafeStore<T> {
    options: Options<T>,
    state: RwLock<State<T>>,
}

/// What the store can know about its objects.
pub(super) struct Options<T> {
    pub(super) resource_version: Option<fn(&T) -> &str>,
    /// A set of bits that says which labels an object may have: see [`super::fingerprint`].
    pub(super) fingerprint: Option<fn(&T) -> u64>,
}

/// An object whose index values are known, to be stored.
pub(crate) struct Prepared<T> {
    key: ObjectKey,
    object: T,
    indexers: Arc<Indexers<T>>,
    values: SmallVec<[Values<'static>; 2]>,
}

/// An object that was prepared before indices were added, given back.
pub(crate) struct Outdated<T>(pub(crate) ObjectKey, pub(crate) T);

struct State<T> {
    indexers: Arc<Indexers<T>>,
    indices: Vec<Index>,
    slots: Vec<Option<Item<T>>>,
    free: Vec<u32>,
    positions: KeyTable,
    resource_version: String,
}

struct Item<T> {
    key: ObjectKey,
    object: T,
    /// Zero until somebody lists by labels: most objects change more often than that.
    fingerprint: AtomicU64,
    /// How many indexers were there when it was stored: later ones have not seen it.
    indexed: u32,
    places: SmallVec<[Place; 2]>,
}

impl<T: Clone> ThreadSafeStore<T> {
    /// An empty store with these indices.
    #[must_use]
    pub fn new(indexers: Indexers<T>) -> Self {
        Self::with_options(indexers, Options { resource_version: None, fingerprint: None })
    }

    pub(super) fn with_options(indexers: Indexers<T>, options: Options<T>) -> Self {
        Self { options, state: RwLock::new(State::new(Arc::new(indexers))) }
    }

    /// Stores an object; gives back the one it replaces.
    #[doc(alias = "Add")]
    #[doc(alias = "Update")]
    pub fn insert(&self, key: ObjectKey, object: T) -> Option<T> {
        let mut prepared = self.prepare(key, object);
        loop {
            match self.commit(prepared) {
                Ok(old) => return old,
                Err(Outdated(key, object)) => prepared = self.prepare(key, object),
            }
        }
    }

    /// The part of [`insert`](Self::insert) that runs the user's index functions: without any lock.
    pub(crate) fn prepare(&self, key: ObjectKey, object: T) -> Prepared<T> {
        let indexers = self.state.read().indexers.clone();
        let values = indexers.values(&object).into_iter().map(Values::into_owned).collect();
        Prepared { key, object, indexers, values }
    }

    /// The rest of [`insert`](Self::insert); fails if indices were added since the object was prepared.
    pub(crate) fn commit(&self, prepared: Prepared<T>) -> Result<Option<T>, Outdated<T>> {
        let Prepared { key, object, indexers, values } = prepared;
        let mut state = self.state.write();
        if !Arc::ptr_eq(&indexers, &state.indexers) {
            return Err(Outdated(key, object));
        }
        if let Some(version) = self.options.resource_version {
            state.set_resource_version(version(&object));
        }
        let hash = state.positions.hash(key.as_str());
        let slot = state.slot_for(&key, hash);
        let places = state.reindex(slot, &values);
        let indexed = indexers.len() as u32;
        let fingerprint = AtomicU64::new(0);
        let old = state.put(slot, Item { key, object, fingerprint, indexed, places });
        drop(state);
        // What it frees, it frees without the lock.
        Ok(old.map(|item| item.object))
    }

    /// Removes the object of this key, and gives it back.
    #[doc(alias = "Delete")]
    pub fn remove(&self, key: &str) -> Option<T> {
        let removed = self.state.write().remove(key);
        removed.map(|item| item.object)
    }

    /// Removes the object of this key; `last` is its last state, which says how far the store has come.
    #[doc(alias = "DeleteWithObject")]
    pub fn remove_with(&self, key: &str, last: &T) -> Option<T> {
        let mut state = self.state.write();
        if let Some(version) = self.options.resource_version {
            state.set_resource_version(version(last));
        }
        let removed = state.remove(key);
        drop(state);
        removed.map(|item| item.object)
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
            for (key, object) in &objects {
                let hash = fresh.positions.hash(key.as_str());
                let slot = fresh.slot_for(key, hash);
                let places = fresh.reindex(slot, &indexers.values(object));
                let item = Item {
                    key: key.clone(),
                    object: object.clone(),
                    fingerprint: AtomicU64::new(0),
                    indexed: indexers.len() as u32,
                    places,
                };
                fresh.put(slot, item);
            }
            resource_version.clone_into(&mut fresh.resource_version);
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
        self.state.read().resource_version.clone()
    }

    /// The object of this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<T> {
        let state = self.state.read();
        let slot = state.find(key, state.positions.hash(key))?;
        state.item(slot).map(|item| item.object.clone())
    }

    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<T> {
        let state = self.state.read();
        let mut objects = Vec::with_capacity(state.len());
        objects.extend(state.items().map(|item| item.object.clone()));
        objects
    }

    /// The objects that may have the labels of this fingerprint.
    pub(super) fn candidates(&self, fingerprint: u64) -> Vec<T> {
        if fingerprint == 0 {
            return self.list();
        }
        let state = self.state.read();
        let may_have = |item: &&Item<T>| self.may_have(item, fingerprint);
        state.items().filter(may_have).map(|item| item.object.clone()).collect()
    }

    /// The objects under a value of an index that may have the labels of this fingerprint.
    pub(super) fn candidates_by_index(
        &self,
        index: &str,
        value: &str,
        fingerprint: u64,
    ) -> Result<Vec<T>, UnknownIndex> {
        let state = self.state.read();
        let slots = state.index(index)?.slots(value);
        let may_have = |item: &&Item<T>| self.may_have(item, fingerprint);
        let items = slots.iter().filter_map(|&slot| state.item(slot)).filter(may_have);
        let mut objects = Vec::with_capacity(if fingerprint == 0 { slots.len() } else { 0 });
        objects.extend(items.map(|item| item.object.clone()));
        Ok(objects)
    }

    /// All keys, in no order.
    #[must_use]
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        let state = self.state.read();
        state.items().map(|item| item.key.clone()).collect()
    }

    pub(super) fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.state.read().items().for_each(|item| visit(&item.key));
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
        Ok(slots
            .into_iter()
            .filter_map(|slot| state.item(slot))
            .map(|i| i.object.clone())
            .collect())
    }

    /// The objects under a value of an index, in no order.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<T>, UnknownIndex> {
        self.candidates_by_index(index, value, 0)
    }

    /// The keys of the objects under a value of an index, sorted.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        let state = self.state.read();
        let slots = state.index(index)?.slots(value).iter();
        let mut keys: Vec<_> =
            slots.filter_map(|&slot| state.item(slot)).map(|item| item.key.clone()).collect();
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
            if end >= state.slots.len() {
                state.indices.iter_mut().take(wanted as usize).for_each(|i| i.complete = true);
                return;
            }
            from = end;
        }
    }

    /// Whether the object may have the labels of this fingerprint.
    fn may_have(&self, item: &Item<T>, wanted: u64) -> bool {
        // What cannot be known about an object rules nothing out.
        let Some(fingerprint) = self.options.fingerprint.filter(|_| wanted != 0) else {
            return true;
        };
        let mut bits = item.fingerprint.load(Ordering::Relaxed);
        if bits == 0 {
            bits = fingerprint(&item.object);
            item.fingerprint.store(bits, Ordering::Relaxed);
        }
        bits & wanted == wanted
    }
}

impl<T> State<T> {
    fn new(indexers: Arc<Indexers<T>>) -> Self {
        Self {
            indices: (0..indexers.len()).map(|_| Index::new(true)).collect(),
            indexers,
            slots: Vec::new(),
            free: Vec::new(),
            positions: KeyTable::new(),
            resource_version: String::new(),
        }
    }

    fn set_resource_version(&mut self, version: &str) {
        self.resource_version.clear();
        self.resource_version.push_str(version);
    }

    fn find(&self, key: &str, hash: KeyHash) -> Option<u32> {
        let is_key = |slot| self.item(slot).is_some_and(|item| item.key.as_str() == key);
        self.positions.find(hash, is_key)
    }

    fn item(&self, slot: u32) -> Option<&Item<T>> {
        self.slots.get(slot as usize)?.as_ref()
    }

    fn items(&self) -> impl Iterator<Item = &Item<T>> {
        self.slots.iter().flatten()
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn index(&self, name: &str) -> Result<&Index, UnknownIndex> {
        let at = self.indexers.position(name);
        let index = at.and_then(|at| self.indices.get(at)).filter(|index| index.complete);
        index.ok_or_else(|| UnknownIndex(name.to_owned()))
    }

    /// The slot of a key: its own, or an empty one that is now its own.
    fn slot_for(&mut self, key: &ObjectKey, hash: KeyHash) -> u32 {
        if let Some(slot) = self.find(key.as_str(), hash) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.positions.insert(hash, slot);
        slot
    }

    fn put(&mut self, slot: u32, item: Item<T>) -> Option<Item<T>> {
        self.slots[slot as usize].replace(item)
    }

    fn remove(&mut self, key: &str) -> Option<Item<T>> {
        let hash = self.positions.hash(key);
        let slot = self.find(key, hash)?;
        for place in self.take_places(slot) {
            self.take_out(place);
        }
        self.positions.remove(hash, slot);
        let item = self.slots[slot as usize].take();
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.positions.shrink();
        }
        item
    }

    /// Where the object of `slot` belongs by its new values; it is taken out of where it was.
    fn reindex(&mut self, slot: u32, values: &[Values<'_>]) -> SmallVec<[Place; 2]> {
        let old = self.take_places(slot);
        let had = |place: &Place| (place.index, self.indices[place.index as usize].value(*place));
        // As it is with most changes.
        if old.iter().map(had).eq(flatten(values)) {
            return old;
        }
        for place in old {
            self.take_out(place);
        }
        flatten(values)
            .map(|(index, value)| self.indices[index as usize].insert(index, value, slot))
            .collect()
    }

    /// Objects from slot `from` on that some of the first `wanted` indexers have not seen, and where to
    /// go on.
    fn unindexed(&self, from: usize, wanted: u32) -> (Vec<(u32, u32, T)>, usize)
    where
        T: Clone,
    {
        let mut found = Vec::new();
        for (slot, item) in self.slots.iter().enumerate().skip(from) {
            if let Some(item) = item
                && item.indexed < wanted
            {
                found.push((slot as u32, item.indexed, item.object.clone()));
                if found.len() == BACKFILL {
                    return (found, slot + 1);
                }
            }
        }
        (found, self.slots.len())
    }

    /// Adds the object of `slot` to indices that have not seen it. One that was stored meanwhile has
    /// been seen by all.
    fn index_more(&mut self, slot: u32, wanted: u32, values: &[(u32, Values<'_>)]) {
        let Some(Some(item)) = self.slots.get_mut(slot as usize) else { return };
        for (index, values) in values.iter().filter(|(index, _)| *index >= item.indexed) {
            let into = &mut self.indices[*index as usize];
            item.places.extend(values.iter().map(|value| into.insert(*index, value, slot)));
        }
        item.indexed = item.indexed.max(wanted);
    }

    fn take_places(&mut self, slot: u32) -> SmallVec<[Place; 2]> {
        let item = self.slots[slot as usize].as_mut();
        item.map_or_else(SmallVec::new, |item| std::mem::take(&mut item.places))
    }

    fn take_out(&mut self, place: Place) {
        let index = &mut self.indices[place.index as usize];
        let Some(moved) = index.remove(place) else { return };
        let moved = self.slots[moved as usize].as_mut();
        let beside = moved.and_then(|item| item.places.iter_mut().find(|p| p.is_beside(place)));
        if let Some(its_place) = beside {
            *its_place = its_place.moved_to(place);
        }
    }
}

/// All values with the number of their index.
fn flatten<'a>(values: &'a [Values<'a>]) -> impl Iterator<Item = (u32, &'a str)> {
    let numbered = values.iter().enumerate();
    numbered.flat_map(|(index, values)| values.iter().map(move |value| (index as u32, value)))
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
