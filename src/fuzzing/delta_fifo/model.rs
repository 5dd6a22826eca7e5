//! A queue as one would explain it: a list of keys with lists of deltas, searched from end to end.

use std::collections::{BTreeMap, BTreeSet};

use super::{Setup, Thing, name};
use crate::cache::{Deleted, Delta, Store};

#[derive(Debug)]
pub(super) struct Model {
    pub(super) setup: Setup,
    pub(super) queue: Vec<Entry>,
    pub(super) synced: bool,
    pub(super) closed: bool,
    /// What the consumer has, were it done with what it is working on.
    store: BTreeMap<u8, Thing>,
    in_process: Option<Entry>,
    populated: bool,
    /// How many at the end of the queue came by one list or resync, in no certain order.
    implied: usize,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: u8,
    pub(super) deltas: Vec<Delta<Thing>>,
    /// Whether it is part of the first list.
    counted: bool,
}

impl Model {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            setup,
            queue: Vec::new(),
            synced: false,
            closed: false,
            store: BTreeMap::new(),
            in_process: None,
            populated: false,
            implied: 0,
        }
    }

    pub(super) fn change(&mut self, delta: Delta<Thing>) {
        self.populate();
        self.push(delta.object().expect("a state").key, delta);
    }

    pub(super) fn delete(&mut self, thing: Thing) {
        if self.is_queued(thing.key) || self.is_known(thing.key) {
            self.push(thing.key, Delta::Deleted(Deleted::Known(thing)));
        }
    }

    /// The deletion of a thing whose final state the transform failed on.
    pub(super) fn delete_last_known(&mut self, key: u8) {
        let newest = self.entry(key).and_then(|entry| entry.deltas.last());
        let queued = newest.and_then(Delta::object);
        let known = self.store.get(&key).filter(|_| self.is_known(key));
        if let Some(last) = queued.or(known).cloned() {
            self.push(key, tombstone(key, Some(last)));
        }
    }

    pub(super) fn item(&mut self, thing: Thing) {
        let queued = self.entry(thing.key).and_then(|entry| entry.deltas.last());
        let known = self.store.get(&thing.key).filter(|_| self.is_known(thing.key));
        let newest = match queued {
            Some(Delta::Deleted(_)) => None,
            Some(other) => other.object(),
            None => known,
        };
        let same =
            newest.filter(|newest| self.setup.reuse_unchanged && newest.version == thing.version);
        let thing = match same {
            Some(_) if queued.is_some() => {
                self.count(thing.key);
                return;
            }
            // A list that was abandoned has brought it.
            Some(_) if !self.populated => return,
            Some(known) => known.clone(),
            None => thing,
        };
        let told = if self.setup.emit_replaced { Delta::Replaced } else { Delta::Sync };
        self.push(thing.key, told(thing));
    }

    pub(super) fn finish_list(&mut self, listed: &BTreeSet<u8>) {
        let before = self.queue.len();
        let in_queue: Vec<_> = self.queue.iter().map(|entry| entry.key).collect();
        for key in in_queue.iter().copied().filter(|key| !listed.contains(key)) {
            let newest = self.entry(key).and_then(|entry| entry.deltas.last());
            if let Some(newest) = newest.filter(|delta| !delta.is_deleted()) {
                let last = newest.object().cloned();
                self.push(key, tombstone(key, last));
            }
        }
        for (key, thing) in self.store.clone() {
            if !listed.contains(&key) && !in_queue.contains(&key) && self.is_known(key) {
                self.push(key, tombstone(key, Some(thing)));
            }
        }
        self.implied = self.queue.len() - before;
        self.populate();
    }

    pub(super) fn resync(&mut self) {
        let before = self.queue.len();
        for (key, thing) in self.store.clone() {
            if self.setup.known_objects && !self.is_queued(key) {
                // It is no part of a list, whenever it comes.
                let deltas = vec![Delta::Sync(thing)];
                self.queue.push(Entry { key, deltas, counted: false });
            }
        }
        self.implied = self.queue.len() - before;
    }

    pub(super) fn sort_implied(&mut self, order: impl Fn(u8) -> usize) {
        let from = self.queue.len() - self.implied;
        self.queue[from..].sort_by_key(|entry| order(entry.key));
        self.implied = 0;
    }

    /// Takes the first in line; its deltas are as good as applied.
    pub(super) fn take(&mut self) -> Entry {
        let entry = self.queue.remove(0);
        match entry.deltas.last() {
            Some(Delta::Deleted(_)) => self.store.remove(&entry.key),
            Some(other) => other.object().and_then(|o| self.store.insert(entry.key, o.clone())),
            None => unreachable!("invariant 1: no empty deltas"),
        };
        let Entry { key, deltas, counted } = &entry;
        let in_process = Entry { key: *key, deltas: deltas.clone(), counted: *counted };
        self.in_process = Some(in_process);
        entry
    }

    pub(super) fn processed(&mut self) {
        self.in_process = None;
        self.settle();
    }

    /// Something came that is no list, or a list is complete.
    pub(super) fn populate(&mut self) {
        self.populated = true;
        self.settle();
    }

    pub(super) fn initial_is_pending(&self) -> bool {
        self.queue.iter().chain(&self.in_process).any(|entry| entry.counted)
    }

    pub(super) fn check_store(&self, store: &Store<Thing>) {
        let mut stored = store.list();
        stored.sort_by_key(|thing| thing.key);
        let expected: Vec<_> = self.store.values().cloned().collect();
        assert_eq!(stored, expected, "invariant 6: the store is the sum of the deltas");
    }

    fn settle(&mut self) {
        self.synced |= self.populated && !self.initial_is_pending();
    }

    fn is_queued(&self, key: u8) -> bool {
        self.entry(key).is_some()
    }

    /// Whether the queue can know of the object by anything but its line.
    fn is_known(&self, key: u8) -> bool {
        let in_process = self.in_process.as_ref().is_some_and(|entry| entry.key == key);
        self.store.contains_key(&key) && (self.setup.known_objects || in_process)
    }

    fn entry(&self, key: u8) -> Option<&Entry> {
        self.queue.iter().find(|entry| entry.key == key)
    }

    /// What is queued for it is part of a list.
    fn count(&mut self, key: u8) {
        let is_initial = !self.populated;
        if let Some(entry) = self.queue.iter_mut().find(|entry| entry.key == key) {
            entry.counted |= is_initial;
        }
    }

    fn push(&mut self, key: u8, delta: Delta<Thing>) {
        let counted = !self.populated;
        let Some(entry) = self.queue.iter_mut().find(|entry| entry.key == key) else {
            self.queue.push(Entry { key, deltas: vec![delta], counted });
            return;
        };
        entry.counted |= counted;
        entry.deltas.push(delta);
        if let [.., one, other] = &entry.deltas[..]
            && one.is_deleted()
            && other.is_deleted()
        {
            let first_was_seen = matches!(one, Delta::Deleted(Deleted::Known(_)));
            let at = entry.deltas.len() - if first_was_seen { 1 } else { 2 };
            entry.deltas.remove(at);
        }
    }
}

fn tombstone(key: u8, last: Option<Thing>) -> Delta<Thing> {
    Delta::Deleted(Deleted::FinalStateUnknown { key: name(key).into(), last })
}
