//! What is stored, and where in the indices it is.

use std::sync::Arc;

use smallvec::SmallVec;

use super::BACKFILL;
use crate::{
    cache::{
        chunks::Chunks,
        fingerprint::{Fingerprint, Fingerprints},
        index::{Index, Indexers, Place, UnknownIndex, Values},
        key_table::KeyTable,
        near_key::NearKey,
    },
    object::ObjectKey,
};

/// Objects in numbered slots. What reads want is apart from what only changes want: a read touches as
/// little memory as can be.
pub(super) struct State<T> {
    pub(super) indexers: Arc<Indexers<T>>,
    pub(super) indices: Vec<Index>,
    /// As far as the store was told; a change after that is `newest`.
    resource_version: String,
    /// The slot that was filled last. Its object knows its version, and is asked when somebody wants to know.
    newest: Option<u32>,
    positions: KeyTable,
    /// What is in each slot, which is little more than a pointer: of one slot it is in the processor's cache sooner
    /// than the key, and lists want nothing else.
    objects: Vec<Option<T>>,
    /// Of the object in the same slot.
    keys: Chunks<NearKey>,
    details: Chunks<Details>,
    fingerprints: Fingerprints,
    free: Vec<u32>,
}

#[derive(Default)]
struct Details {
    /// None if the slot is empty.
    key: Option<ObjectKey>,
    /// How many indexers were there when it was stored: later ones have not seen it.
    indexed: u32,
    places: SmallVec<[Place; 2]>,
}

impl<T> State<T> {
    pub(super) fn new(indexers: Arc<Indexers<T>>) -> Self {
        Self {
            indices: (0..indexers.len()).map(|_| Index::new(true)).collect(),
            indexers,
            resource_version: String::new(),
            newest: None,
            positions: KeyTable::new(),
            objects: Vec::new(),
            keys: Chunks::default(),
            details: Chunks::default(),
            fingerprints: Fingerprints::default(),
            free: Vec::new(),
        }
    }

    /// Makes room for so many objects more.
    pub(super) fn reserve(&mut self, objects: usize) {
        self.positions.reserve(objects);
        self.objects.reserve(objects);
    }

    pub(super) fn set_resource_version(&mut self, version: &str) {
        self.newest = None;
        self.resource_version.clear();
        self.resource_version.push_str(version);
    }

    /// How far the store has come; `of` tells the version of an object.
    pub(super) fn resource_version(&self, of: Option<fn(&T) -> &str>) -> &str {
        let newest = self.newest.and_then(|slot| self.object(slot));
        of.zip(newest).map_or(&self.resource_version, |(of, newest)| of(newest))
    }

    /// Stores an object with its values in all indices; gives back the one it replaces.
    pub(super) fn put(&mut self, key: ObjectKey, object: T, values: &[Values<'_>]) -> Option<T> {
        let slot = self.place(&key, values);
        self.fill(slot, key, object)
    }

    /// The same where all values are fields of the object, which need not be kept anywhere.
    pub(super) fn put_plain(&mut self, key: ObjectKey, object: T) -> Option<T> {
        let slot = self.slot_for(&key);
        let Self { indexers, indices, details, .. } = self;
        reindex(indices, details, slot, || indexers.fields(&object));
        self.fill(slot, key, object)
    }

    /// The part of [`put`](Self::put) that wants the values: the slot for the object, which is in the
    /// indices already.
    pub(super) fn place(&mut self, key: &ObjectKey, values: &[Values<'_>]) -> u32 {
        let slot = self.slot_for(key);
        reindex(&mut self.indices, &mut self.details, slot, || flatten(values));
        slot
    }

    /// The part that wants the object.
    #[inline]
    pub(super) fn fill(&mut self, slot: u32, key: ObjectKey, object: T) -> Option<T> {
        self.newest = Some(slot);
        let details = &mut self.details[slot];
        details.key = Some(key);
        details.indexed = self.indexers.len() as u32;
        self.fingerprints.forget(slot);
        self.objects[slot as usize].replace(object)
    }

    pub(super) fn remove(&mut self, key: &str, version: Option<fn(&T) -> &str>) -> Option<T> {
        let slot = self.find(key.as_bytes())?;
        if self.newest == Some(slot) {
            let version = self.resource_version(version).to_owned();
            self.set_resource_version(&version);
        }
        let details = std::mem::take(&mut self.details[slot]);
        for place in details.places {
            take_out(&mut self.indices, &mut self.details, place);
        }
        self.positions.remove(self.positions.hash(key), slot);
        let object = self.objects[slot as usize].take();
        self.free.push(slot);
        if self.free.len() == self.objects.len() {
            (self.objects, self.free) = (Vec::new(), Vec::new());
            (self.keys, self.details) = (Chunks::default(), Chunks::default());
            self.fingerprints = Fingerprints::default();
            self.positions.shrink();
        }
        object
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        self.find_and(key, |_| {})
    }

    /// The same, and does something with what may be the object before its key is there to be compared.
    #[inline]
    pub(super) fn find_and(&self, key: &[u8], early: impl Fn(&T)) -> Option<u32> {
        let hash = self.positions.hash(key);
        self.positions.find(hash, |slot| {
            self.object(slot).into_iter().for_each(&early);
            let near = self.keys[slot].is(key);
            near.unwrap_or_else(|| self.key(slot).is_some_and(|all| all.as_str().as_bytes() == key))
        })
    }

    pub(super) fn object(&self, slot: u32) -> Option<&T> {
        self.objects.get(slot as usize)?.as_ref()
    }

    pub(super) fn key(&self, slot: u32) -> Option<&ObjectKey> {
        self.details.get(slot)?.key.as_ref()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.details.iter().filter_map(|details| details.key.as_ref())
    }

    /// Every slot that is in use is before it.
    pub(super) fn end(&self) -> u32 {
        self.objects.len() as u32
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len() - self.free.len()
    }

    pub(super) fn index(&self, name: &str) -> Result<&Index, UnknownIndex> {
        let at = self.indexers.position(name);
        let index = at.and_then(|at| self.indices.get(at)).filter(|index| index.complete);
        index.ok_or_else(|| UnknownIndex(name.to_owned()))
    }

    /// The fingerprint of the object in a slot, which `of` computes if nobody has asked for it before.
    pub(super) fn fingerprint(&self, slot: u32, of: fn(&T) -> Fingerprint) -> Fingerprint {
        // An empty slot is none that is asked for its object afterwards.
        let compute = || self.object(slot).map_or(Fingerprint::NOTHING, of);
        self.fingerprints.get(slot, self.objects.len(), compute)
    }

    /// Objects from slot `from` on that some of the first `wanted` indexers have not seen, and where to
    /// go on.
    pub(super) fn unindexed(&self, from: u32, wanted: u32) -> (Vec<(u32, u32, T)>, u32)
    where
        T: Clone,
    {
        let mut found = Vec::new();
        for slot in from..self.end() {
            let indexed = self.details[slot].indexed;
            if let Some(object) = self.object(slot).filter(|_| indexed < wanted) {
                found.push((slot, indexed, object.clone()));
                if found.len() == BACKFILL {
                    return (found, slot + 1);
                }
            }
        }
        (found, self.end())
    }

    /// Adds the object of `slot` to indices that have not seen it. One that was stored meanwhile has
    /// been seen by all.
    pub(super) fn index_more(&mut self, slot: u32, wanted: u32, values: &[(u32, Values<'_>)]) {
        if self.object(slot).is_none() {
            return;
        }
        let details = &mut self.details[slot];
        for (index, values) in values.iter().filter(|(index, _)| *index >= details.indexed) {
            let into = &mut self.indices[*index as usize];
            details.places.extend(values.iter().map(|value| into.insert(*index, value, slot)));
        }
        details.indexed = details.indexed.max(wanted);
    }

    /// The slot of a key: its own, or an empty one that is now its own.
    fn slot_for(&mut self, key: &ObjectKey) -> u32 {
        if let Some(slot) = self.find(key.as_str().as_bytes()) {
            return slot;
        }
        let near = NearKey::new(key);
        let slot = if let Some(slot) = self.free.pop() {
            self.keys[slot] = near;
            slot
        } else {
            self.keys.push(near);
            self.objects.push(None);
            self.details.push(Details::default());
            self.end() - 1
        };
        self.positions.insert(self.positions.hash(key.as_str()), slot);
        slot
    }
}

/// Takes what is in `slot` out of where it was, and puts it where its new values are.
#[inline]
fn reindex<'a, V: Iterator<Item = (u32, &'a str)>>(
    indices: &mut [Index],
    details: &mut Chunks<Details>,
    slot: u32,
    values: impl Fn() -> V,
) {
    let mut wanted = values();
    let is_wanted = |place: &Place| {
        let had = indices[place.index as usize].value(*place);
        wanted.next().is_some_and(|(index, value)| (place.index, had) == (index, value))
    };
    // As it is with most changes.
    if details[slot].places.iter().all(is_wanted) && wanted.next().is_none() {
        return;
    }
    for place in std::mem::take(&mut details[slot].places) {
        take_out(indices, details, place);
    }
    let places = values().map(|(index, value)| indices[index as usize].insert(index, value, slot));
    details[slot].places = places.collect();
}

fn take_out(indices: &mut [Index], details: &mut Chunks<Details>, place: Place) {
    let Some(moved) = indices[place.index as usize].remove(place) else { return };
    let places = &mut details[moved].places;
    if let Some(its_place) = places.iter_mut().find(|its| its.is_beside(place)) {
        *its_place = its_place.moved_to(place);
    }
}

/// All values with the number of their index.
fn flatten<'a>(values: &'a [Values<'a>]) -> impl Iterator<Item = (u32, &'a str)> {
    let numbered = values.iter().enumerate();
    numbered.flat_map(|(index, values)| values.iter().map(move |value| (index as u32, value)))
}
