//! Sequences of operations on a [`DeltaFifo`], against a model of it.
//!
//! The numbers of invariants are those of section 31 of the specification of client-go's cache. Those that
//! are about a DeltaFIFO: 1 (keys and deltas in line), 3 (which deltas are initial), 4 (when it has
//! synced), 5 (producers go on while a callback runs), 6 (the store is the sum of the deltas), 8 (the life
//! of a key) and 17 (what a close leaves). That a close ends pops that block, one thread cannot show:
//! `tests/models.rs` does.

use std::collections::{BTreeMap, BTreeSet};

use self::model::Model;
use super::Choices;
use crate::{
    cache::{Delta, DeltaFifo, Deltas, Popped, Replace, Store},
    error::{Error, Result},
    object::ObjectKey,
};

mod model;

/// How the queue is made.
#[derive(Clone, Copy, Debug)]
struct Setup {
    known_objects: bool,
    emit_replaced: bool,
    reuse_unchanged: bool,
}

/// One step.
#[derive(Clone, Debug)]
enum Operation {
    Add(Change),
    Update(Change),
    Delete(Change),
    Replace(Vec<Change>),
    Resync,
    /// Takes and applies the first object.
    Pop,
    /// The same in a callback, with other operations before it is applied and after.
    Process(Vec<Self>, Vec<Self>),
    BeginList,
    Item(Change),
    Remove(Change),
    FinishList,
    AbandonList,
    Close,
}

/// An object to come.
#[derive(Clone, Copy, Debug)]
struct Change {
    key: u8,
    /// Whether it is as it was.
    same: bool,
    /// Whether the transform fails on it.
    fails: bool,
}

/// An object. Each that was made has its own `copy`, so that no two can be taken for each other.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Thing {
    key: u8,
    version: u32,
    copy: u32,
    fails: bool,
    transformed: bool,
}

const KEYS: u8 = 5;

/// Does what the bytes say.
pub fn delta_fifo(data: &[u8]) {
    let mut choices = Choices::new(data);
    let setup = choices.byte();
    let setup = Setup {
        known_objects: setup & 3 != 0,
        emit_replaced: setup & 4 != 0,
        reuse_unchanged: setup & 8 != 0,
    };
    let store = Store::new(|thing: &Thing| name(thing.key));
    let mut fifo = DeltaFifo::builder(|thing: &Thing| name(thing.key))
        .emit_replaced(setup.emit_replaced)
        .transform(transform);
    if setup.known_objects {
        fifo = fifo.known_objects(store.clone());
    }
    if setup.reuse_unchanged {
        fifo = fifo.unchanged(|known, listed| known.version == listed.version);
    }
    let fifo = fifo.build();
    let mut run = Run {
        fifo: &fifo,
        store,
        list: None,
        model: Model::new(setup),
        truth: BTreeMap::new(),
        listed: BTreeSet::new(),
        made: 0,
        was_synced: false,
    };
    while !choices.is_empty() {
        let operation = Operation::choose(&mut choices, false);
        run.perform(operation);
    }
    run.converge();
}

fn name(key: u8) -> String {
    format!("key-{key}")
}

fn transform(thing: Thing) -> Result<Thing> {
    assert!(!thing.transformed, "each object is transformed once: {thing:?}");
    if thing.fails {
        return Err(Error::invalid("thing", "the transform fails"));
    }
    Ok(Thing { transformed: true, ..thing })
}

impl Operation {
    fn choose(choices: &mut Choices, in_process: bool) -> Self {
        let many = |choices: &mut Choices, limit| {
            (0..choices.below(limit)).map(|_| Change::choose(choices)).collect()
        };
        match choices.below(if in_process { 12 } else { 16 }) {
            0 => Self::Add(Change::choose(choices)),
            1 => Self::Update(Change::choose(choices)),
            2 => Self::Delete(Change::choose(choices)),
            3 | 4 => Self::Replace(many(choices, 5)),
            5 => Self::Resync,
            6 => Self::BeginList,
            7 | 8 => Self::Item(Change::choose(choices)),
            9 => Self::Remove(Change::choose(choices)),
            10 => Self::FinishList,
            11 => match choices.below(8) {
                0 => Self::Close,
                _ => Self::AbandonList,
            },
            12 => Self::Pop,
            _ => {
                let mut some = || {
                    let count = choices.below(3);
                    (0..count).map(|_| Self::choose(choices, true)).collect()
                };
                Self::Process(some(), some())
            }
        }
    }
}

impl Change {
    fn choose(choices: &mut Choices) -> Self {
        let byte = choices.byte();
        Self { key: byte % KEYS, same: byte & 0x40 != 0, fails: byte >= 0xF4 }
    }
}

struct Run<'a> {
    fifo: &'a DeltaFifo<Thing>,
    /// What the consumer has applied.
    store: Store<Thing>,
    list: Option<Replace<'a, Thing>>,
    model: Model,
    /// The versions of what there is, as whoever sees changes sees it.
    truth: BTreeMap<u8, u32>,
    /// What the list that is on its way has had.
    listed: BTreeSet<u8>,
    made: u32,
    was_synced: bool,
}

impl Run<'_> {
    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Add(change) => {
                let thing = self.make(change);
                if succeeds(&thing, self.fifo.add(thing.clone())) {
                    self.truth.insert(thing.key, thing.version);
                    self.model.change(Delta::Added(transformed(thing)));
                }
            }
            Operation::Update(change) => {
                let thing = self.make(change);
                if succeeds(&thing, self.fifo.update(thing.clone())) {
                    self.truth.insert(thing.key, thing.version);
                    self.model.change(Delta::Updated(transformed(thing)));
                }
            }
            Operation::Delete(change) => {
                let thing = self.make(change);
                let seen = succeeds(&thing, self.fifo.delete(thing.clone()));
                self.truth.remove(&thing.key);
                self.model.populate();
                if seen {
                    self.model.delete(transformed(thing));
                } else {
                    self.model.delete_last_known(thing.key);
                }
            }
            Operation::Replace(changes) => self.replace(&changes),
            Operation::Resync => {
                self.fifo.resync();
                self.model.resync();
                self.align();
            }
            Operation::Pop => self.pop(),
            Operation::Process(before, after) => self.process(before, after),
            Operation::BeginList => {
                self.list = Some(self.fifo.begin_replace());
                self.listed.clear();
            }
            Operation::Item(change) => self.item(change),
            Operation::Remove(change) => self.remove(change),
            Operation::FinishList => {
                let Some(list) = self.list.take() else { return };
                list.finish();
                self.truth.retain(|key, _| self.listed.contains(key));
                self.model.finish_list(&self.listed);
                self.align();
            }
            Operation::AbandonList => self.list = None,
            Operation::Close => {
                self.fifo.close();
                // Invariant 17: what is queued stays, and what comes is queued, as before.
                self.model.closed = true;
            }
        }
        self.check();
    }

    fn make(&mut self, change: Change) -> Thing {
        self.made += 1;
        let now = self.truth.get(&change.key).copied();
        let version = now.filter(|_| change.same).unwrap_or(self.made);
        let Change { key, fails, .. } = change;
        Thing { key, version, copy: self.made, fails, transformed: false }
    }

    fn replace(&mut self, changes: &[Change]) {
        let things: Vec<_> = changes.iter().map(|&change| self.make(change)).collect();
        let result = self.fifo.replace(things.clone());
        assert_eq!(result.is_err(), things.iter().any(|thing| thing.fails));
        if result.is_err() {
            return;
        }
        let things: Vec<_> = things.into_iter().map(transformed).collect();
        self.truth = things.iter().map(|thing| (thing.key, thing.version)).collect();
        for thing in things {
            self.model.item(thing);
        }
        let listed = self.truth.keys().copied().collect();
        self.model.finish_list(&listed);
        self.align();
    }

    fn item(&mut self, change: Change) {
        let thing = self.make(change);
        let Some(list) = &mut self.list else { return };
        self.listed.insert(thing.key);
        if succeeds(&thing, list.item(thing.clone())) {
            self.truth.insert(thing.key, thing.version);
            self.model.item(transformed(thing));
        }
        assert_eq!(list.len(), self.listed.len());
    }

    fn remove(&mut self, change: Change) {
        let thing = self.make(change);
        let Some(list) = &mut self.list else { return };
        self.listed.remove(&thing.key);
        if succeeds(&thing, list.remove(thing.clone())) {
            self.truth.remove(&thing.key);
            self.model.delete(transformed(thing));
        }
    }

    fn pop(&mut self) {
        if self.model.queue.is_empty() {
            assert_eq!(self.fifo.try_pop(), None);
            if self.model.closed {
                assert_eq!(self.fifo.pop(), None, "invariant 17: closed and empty ends a pop");
            }
            return;
        }
        let popped = self.fifo.pop().expect("invariant 17: what is queued can be popped");
        let key = self.check_popped(&popped);
        self.model.processed();
        self.apply(key, popped.deltas);
    }

    fn process(&mut self, before: Vec<Operation>, after: Vec<Operation>) {
        if self.model.queue.is_empty() {
            return;
        }
        let done = self.fifo.pop_with(|popped| {
            let key = self.check_popped(&popped);
            self.check();
            // Invariant 5: this is no deadlock.
            before.into_iter().for_each(|operation| self.perform(operation));
            self.apply(key, popped.deltas);
            after.into_iter().for_each(|operation| self.perform(operation));
        });
        assert_eq!(done, Some(()), "invariant 17: what is queued can be popped");
        self.model.processed();
    }

    fn check_popped(&mut self, popped: &Popped<Thing>) -> u8 {
        let initial = !self.model.synced;
        let entry = self.model.take();
        assert_eq!(popped.key, *name(entry.key), "first come, first served");
        assert_eq!(to_vec(&popped.deltas), entry.deltas, "the deltas of {}", popped.key);
        assert_eq!(
            popped.initial, initial,
            "invariant 3: initial is what was popped before the queue had synced"
        );
        entry.key
    }

    fn apply(&self, key: u8, deltas: Deltas<Thing>) {
        for delta in deltas {
            match delta {
                Delta::Deleted(_) => {
                    let had = self.store.delete_by_key(&name(key));
                    assert!(had.is_some(), "invariant 8: key-{key} was deleted and not there");
                }
                Delta::Added(thing)
                | Delta::Updated(thing)
                | Delta::Replaced(thing)
                | Delta::Sync(thing) => {
                    self.store.add(thing);
                }
            }
        }
        self.model.check_store(&self.store);
    }

    /// What a list or a resync implies may be queued in any order.
    fn align(&mut self) {
        let keys = self.fifo.list_keys();
        let order: BTreeMap<_, _> =
            keys.iter().enumerate().map(|(at, key)| (key.to_string(), at)).collect();
        self.model.sort_implied(|key| order.get(&name(key)).copied().unwrap_or(usize::MAX));
    }

    fn check(&mut self) {
        let keys = self.fifo.list_keys();
        let expected: Vec<ObjectKey> =
            self.model.queue.iter().map(|entry| name(entry.key).into()).collect();
        assert_eq!(keys, expected, "invariant 1: what is in line");
        assert_eq!(self.fifo.len(), keys.len());
        for key in 0..KEYS {
            let queued = self.fifo.get_by_key(&name(key)).map(|deltas| to_vec(&deltas));
            let expected = self.model.queue.iter().find(|entry| entry.key == key);
            assert_eq!(
                queued.is_some(),
                expected.is_some(),
                "invariant 1: key-{key} is in line if and only if it has deltas"
            );
            let expected = expected.map(|entry| &entry.deltas);
            assert_eq!(queued.as_ref(), expected, "what is told of key-{key}");
            if let Some(deltas) = queued {
                assert!(!deltas.is_empty(), "invariant 1: no empty deltas");
                let twice = deltas.windows(2).any(|pair| pair.iter().all(Delta::is_deleted));
                assert!(!twice, "invariant 1: two deletions in a row: {deltas:?}");
            }
        }
        assert_eq!(self.fifo.is_closed(), self.model.closed);
        let synced = self.fifo.has_synced();
        assert!(synced || !self.was_synced, "invariant 4: once synced, always synced");
        assert!(
            !synced || self.was_synced || !self.model.initial_is_pending(),
            "invariant 4: synced while part of the first list is queued or in process"
        );
        self.was_synced = synced;
        assert_eq!(synced, self.model.synced, "has_synced");
    }

    /// When everything is applied, the store is what there is: nothing was lost on the way.
    fn converge(mut self) {
        self.perform(Operation::AbandonList);
        while !self.model.queue.is_empty() {
            self.process(Vec::new(), Vec::new());
        }
        self.check();
        if self.model.setup.known_objects {
            let stored: BTreeMap<_, _> =
                self.store.list().iter().map(|thing| (thing.key, thing.version)).collect();
            assert_eq!(stored, self.truth, "a deletion was lost, or an older state came back");
        }
    }
}

fn succeeds(thing: &Thing, result: Result<()>) -> bool {
    assert_eq!(result.is_err(), thing.fails, "an operation fails with the transform");
    result.is_ok()
}

fn transformed(thing: Thing) -> Thing {
    Thing { transformed: true, ..thing }
}

fn to_vec(deltas: &Deltas<Thing>) -> Vec<Delta<Thing>> {
    deltas.iter().cloned().collect()
}
