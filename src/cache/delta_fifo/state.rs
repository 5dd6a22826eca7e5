//! What is in line, and what the consumer is working on.
//!
//! What every event passes is inlined: entries are large, and each call that hands one on writes it to memory for
//! the next to wait for. Without that the queue takes a third longer.

use std::{collections::VecDeque, iter, mem};

use crate::{
    cache::{
        delta::{Delta, Deltas, Popped},
        key_set::KeySet,
        key_table::{KeyHash, KeyTable},
    },
    object::ObjectKey,
};

/// Room for more entries than these is given back after a burst.
const KEPT_CAPACITY: usize = 256;

pub(in crate::cache) struct State<T> {
    /// In line. The first has the sequence number `base`, the next `base + 1`, and so on.
    pub(super) entries: VecDeque<Entry<T>>,
    base: u32,
    /// What `base` was when the line was last empty.
    empty_at: u32,
    /// From keys to sequence numbers.
    pub(super) positions: KeyTable,
    pub(super) in_process: Vec<InProcess<T>>,
    next_id: u64,
    /// How many lists there have been.
    lists: u32,
    /// Whether the first list is complete, or something else came before one.
    pub(in crate::cache) populated: bool,
    /// The first of several lists are not all complete.
    pub(super) held: bool,
    /// Objects of the first list that are queued or in process.
    initial_left: usize,
    pub(super) synced: bool,
    /// The queue has synced with nothing left to pop, and whoever waits does not know.
    pub(super) sync_untold: bool,
    /// More will be queued at once, and consumers need not be woken before.
    pub(super) more_follows: bool,
    pub(super) closed: bool,
}

pub(in crate::cache) struct Entry<T> {
    pub(in crate::cache) key: ObjectKey,
    pub(in crate::cache) hash: KeyHash,
    pub(super) deltas: Deltas<T>,
    /// Whether it counts towards `initial_left`.
    counted: bool,
    /// The number of the last list that had it.
    pub(in crate::cache) list: u32,
}

pub(super) struct InProcess<T> {
    id: u64,
    pub(super) key: ObjectKey,
    /// What the store will hold when the consumer is done; `None` if nothing.
    object: Option<T>,
}

pub(super) struct Taken<T> {
    pub(super) popped: Popped<T>,
    pub(super) counted: bool,
}

impl<T> State<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            base: 0,
            empty_at: 0,
            positions: KeyTable::new(),
            in_process: Vec::new(),
            next_id: 0,
            lists: 0,
            populated: false,
            held: false,
            initial_left: 0,
            more_follows: false,
            synced: false,
            sync_untold: false,
            closed: false,
        }
    }

    #[inline(always)]
    pub(super) fn enqueue(&mut self, key: ObjectKey, delta: Delta<T>) {
        let hash = self.hash(&key);
        self.enqueue_at(key, hash, delta);
    }

    /// The same for an object of a list, or of a deletion that it implies: those of the first count.
    /// Where in line it is then.
    pub(in crate::cache) fn enqueue_listed(
        &mut self,
        key: ObjectKey,
        hash: KeyHash,
        delta: Delta<T>,
    ) -> usize {
        let at = self.enqueue_at(key, hash, delta);
        self.count_listed(at);
        at
    }

    /// An object of a list is in line here: those of the first count.
    pub(in crate::cache) fn count_listed(&mut self, at: usize) {
        if !self.populated && !mem::replace(&mut self.entries[at].counted, true) {
            self.initial_left += 1;
        }
    }

    /// The number of a list of so many objects that is about to be queued.
    pub(in crate::cache) fn begin_list(&mut self, objects: usize) -> u32 {
        self.lists = self.lists.wrapping_add(1).max(1);
        self.entries.reserve(objects);
        self.positions.reserve(objects);
        self.lists
    }

    pub(in crate::cache) fn mark(&mut self, at: usize, list: u32) {
        self.entries[at].list = list;
    }

    /// Where in line it is then.
    #[inline(always)]
    fn enqueue_at(&mut self, key: ObjectKey, hash: KeyHash, delta: Delta<T>) -> usize {
        let (base, end) = (self.base, self.entries.len());
        let at = |sequence: u32| sequence.wrapping_sub(base) as usize;
        let is_key = |sequence| self.entries[at(sequence)].key == key;
        let next = base.wrapping_add(end as u32);
        if let Some(found) = self.positions.find_or_insert(hash, next, is_key) {
            let at = at(found);
            self.entries[at].deltas.push(delta);
            return at;
        }
        // Made where it is to stand. Pushed, it would be made elsewhere and then copied.
        self.entries.extend(iter::once_with(|| Entry {
            key,
            hash,
            deltas: Deltas::new(delta),
            counted: false,
            list: 0,
        }));
        end
    }

    pub(in crate::cache) fn hash(&self, key: &ObjectKey) -> KeyHash {
        self.positions.hash(key.as_str())
    }

    /// An empty set of keys with the hashes of this queue.
    pub(in crate::cache) fn no_keys(&self) -> KeySet {
        KeySet::beside(&self.positions)
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Taken<T>> {
        let Entry { key, hash, deltas, counted, .. } = self.entries.pop_front()?;
        self.positions.remove(hash, self.base);
        self.base = self.base.wrapping_add(1);
        if self.entries.is_empty() {
            self.give_back_room();
        }
        Some(Taken { popped: Popped { key, deltas, initial: !self.synced }, counted })
    }

    /// Not right after a burst, for the next may be as large: when the line has been empty again after
    /// few.
    fn give_back_room(&mut self) {
        let taken = self.base.wrapping_sub(mem::replace(&mut self.empty_at, self.base));
        let room = self.entries.capacity();
        if room > KEPT_CAPACITY && (taken as usize) < room / 4 {
            self.entries.shrink_to(KEPT_CAPACITY);
            self.positions.shrink();
        }
    }

    /// Something other than a list came: if it is the first, there is nothing to wait for.
    pub(super) fn populate(&mut self) {
        if self.held {
            return;
        }
        let was_synced = self.synced;
        self.populated = true;
        self.settle(false);
        self.sync_untold |= self.synced && !was_synced;
    }

    /// The first list is complete.
    pub(in crate::cache) fn complete_list(&mut self) {
        self.populate();
    }

    /// One object has been processed, which may have been the last of the first list.
    pub(super) fn settle(&mut self, counted: bool) {
        if counted {
            self.initial_left -= 1;
        }
        self.synced |= self.populated && self.initial_left == 0;
    }

    pub(super) fn is_queued(&self, key: &ObjectKey) -> bool {
        self.is_queued_at(key, self.hash(key))
    }

    pub(in crate::cache) fn is_queued_at(&self, key: &ObjectKey, hash: KeyHash) -> bool {
        self.find(key.as_str(), hash).is_some()
    }

    /// Where the object of a key is in line, and its newest state, if it is not gone.
    pub(in crate::cache) fn newest(
        &self,
        key: &ObjectKey,
        hash: KeyHash,
    ) -> Option<(usize, Option<&T>)> {
        let at = self.find(key.as_str(), hash)?;
        Some((at, self.entries[at].deltas.newest().live()))
    }

    pub(super) fn find(&self, key: &str, hash: KeyHash) -> Option<usize> {
        let at = |sequence: u32| sequence.wrapping_sub(self.base) as usize;
        let is_key = |sequence| self.entries[at(sequence)].key.as_str() == key;
        self.positions.find(hash, is_key).map(at)
    }

    /// The queued objects that are not gone: where they are queued, and their newest states.
    pub(in crate::cache) fn live(&self) -> impl Iterator<Item = (&Entry<T>, &T)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.deltas.newest().live()?)))
    }

    /// What becomes of the object that a consumer works on: `None` if it works on none of this key.
    pub(super) fn in_process(&self, key: &ObjectKey) -> Option<Option<&T>> {
        if cfg!(kinf_bug = "1") {
            return None;
        }
        // The latest counts, should several consumers have taken the same key one after the other.
        let found = self.in_process.iter().rev().find(|object| object.key == *key)?;
        Some(found.object.as_ref())
    }

    #[inline(always)]
    pub(super) fn end(&mut self, id: u64) -> Option<InProcess<T>> {
        let at = self.in_process.iter().position(|object| object.id == id)?;
        Some(self.in_process.remove(at))
    }
}

impl<T: Clone> State<T> {
    #[inline(always)]
    pub(super) fn begin(&mut self, popped: &Popped<T>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let object = popped.deltas.newest().live().cloned();
        self.in_process.push(InProcess { id, key: popped.key.clone(), object });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_burst_is_given_back_when_no_other_follows() {
        let mut state = State::new();
        let mut burst = |count: u32| {
            for n in 0..count {
                state.enqueue(ObjectKey::from(n.to_string()), Delta::Added(n));
            }
            while state.take().is_some() {}
            state.entries.capacity()
        };
        let (first, second) = (burst(10_000), burst(10_000));
        assert_eq!(first, second, "the next burst finds it");
        assert!(burst(1) <= KEPT_CAPACITY);
        assert!(burst(10) <= KEPT_CAPACITY);
    }
}
