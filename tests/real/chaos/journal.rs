//! What a handler is told, checked as it is told: the life of an object is an add, updates, a delete.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use kinformer::{
    Doing, DynamicObject, Event, Object, ObjectKey, SharedInformer, WeakInformer, cache::Deleted,
};
use parking_lot::Mutex;

use super::body;

/// More than this of what is wrong helps nobody.
const ENOUGH: usize = 20;

/// How long after a list a handler may still be told what was queued before it.
const LATE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Journal {
    /// Weak: it has the handler that has this.
    informer: WeakInformer<DynamicObject>,
    state: Arc<Mutex<State>>,
}

struct State {
    name: String,
    /// Whether an object may go and come back as it was: its namespace went from the set, and came back.
    returns: bool,
    /// What is alive, as it was last told, and when that was.
    alive: HashMap<ObjectKey, (Object, Instant)>,
    /// The newest resource version of what is not.
    gone: HashMap<ObjectKey, u64>,
    /// Lists and failures of the informer, and when they were seen to move.
    trouble: (u64, Instant),
    wrong: Vec<String>,
    told: u64,
    resynced: u64,
    tombstones: u64,
}

impl Journal {
    /// Of one that is about to listen to `informer`.
    pub(crate) fn new(
        name: impl Into<String>,
        informer: &SharedInformer<DynamicObject>,
        returns: bool,
    ) -> Self {
        let state = State {
            name: name.into(),
            returns,
            alive: HashMap::new(),
            gone: HashMap::new(),
            trouble: (0, Instant::now()),
            wrong: Vec::new(),
            told: 0,
            resynced: 0,
            tombstones: 0,
        };
        Self { informer: informer.downgrade(), state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn take(&self, event: &Event<DynamicObject>) {
        let now = Instant::now();
        let status = self.informer.upgrade().map(|informer| informer.status());
        let watches = status.as_ref().is_some_and(|status| status.doing == Doing::Watching);
        // A list is told as it arrives, also if it does not arrive in full.
        let trouble = status.map_or(0, |status| status.lists + status.all_failures);
        let mut state = self.state.lock();
        if trouble != state.trouble.0 || !watches {
            state.trouble = (trouble, now);
        }
        state.take(event, now);
    }

    /// How many changes were told.
    pub(crate) fn told(&self) -> u64 {
        self.state.lock().told
    }

    /// How often an object was told again that had not changed.
    pub(crate) fn resynced(&self) -> u64 {
        self.state.lock().resynced
    }

    /// How many objects went unseen.
    pub(crate) fn tombstones(&self) -> u64 {
        self.state.lock().tombstones
    }

    /// How often the handler was called.
    pub(crate) fn calls(&self) -> u64 {
        let state = self.state.lock();
        state.told + state.resynced
    }

    /// What is alive, as it was last told.
    pub(crate) fn alive(&self) -> Vec<Object> {
        self.state.lock().alive.values().map(|(object, _)| object.clone()).collect()
    }

    /// Whether an object was ever told.
    pub(crate) fn knows(&self, key: &ObjectKey) -> bool {
        let state = self.state.lock();
        state.alive.contains_key(key) || state.gone.contains_key(key)
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.state.lock().wrong.clone()
    }
}

impl State {
    fn take(&mut self, event: &Event<DynamicObject>, now: Instant) {
        let key = event.key().clone();
        let known = self.alive.get(&key).cloned();
        if let Some(problem) = self.problem(event, known.as_ref()) {
            let known =
                known.as_ref().map(|(object, _)| (version(object), object.uid().to_owned()));
            self.is_wrong(format!("{key} was {problem}: {event}, known as {known:?}"));
        }
        if let Some(problem) = event.object().and_then(body::problem) {
            self.is_wrong(format!("{key} has {problem}: {event}"));
        }
        match event {
            Event::Updated { old, new } if version(old) == version(new) => self.resynced += 1,
            _ => self.told += 1,
        }
        let known = known.map_or(0, |(object, _)| version(&object));
        match event {
            Event::Deleted(deleted) => {
                self.tombstones += u64::from(!deleted.is_final_state_known());
                let last = deleted.object().map_or(0, version).max(known);
                self.alive.remove(&key);
                self.gone.insert(key, last);
            }
            _ => {
                let Some(object) = event.object() else { return };
                if version(object) < known {
                    self.is_wrong(format!("{key} went back from {known}: {event}"));
                }
                let gone = self.gone.get(&key).copied().unwrap_or_default();
                // What was deleted cannot be again without a change.
                let earliest = if self.returns { gone } else { gone + 1 };
                if version(object) < earliest {
                    self.is_wrong(format!("{key} came back from {gone}: {event}"));
                }
                self.alive.insert(key, (object.clone(), now));
            }
        }
    }

    fn problem(
        &self,
        event: &Event<DynamicObject>,
        known: Option<&(Object, Instant)>,
    ) -> Option<&'static str> {
        let Some((known, since)) = known else {
            return match event {
                Event::Updated { .. } => Some("updated before it was added"),
                Event::Deleted(_) => Some("deleted without being there"),
                _ => None,
            };
        };
        match event {
            Event::Added { .. } => Some("added twice"),
            Event::Updated { old, .. } if !is_like(old, known) => {
                Some("updated from a state that was not told")
            }
            // A watch would have told that the one went and the other came.
            Event::Updated { old, new } if old.uid() != new.uid() => {
                (self.trouble.1 + LATE < *since).then_some("replaced, and no list explains it")
            }
            Event::Deleted(Deleted::Known(last)) if version(last) < version(known) => {
                Some("deleted in a state older than the last that was told")
            }
            Event::Deleted(Deleted::Known(last)) if last.uid() != known.uid() => {
                Some("deleted as another object")
            }
            Event::Deleted(Deleted::FinalStateUnknown { last, .. })
                if !last.as_ref().is_some_and(|last| is_like(last, known)) =>
            {
                Some("left with a tombstone of another state than the last that was told")
            }
            _ => None,
        }
    }

    fn is_wrong(&mut self, what: String) {
        if self.wrong.len() < ENOUGH {
            self.wrong.push(format!("{}: {what}", self.name));
        }
    }
}

fn is_like(one: &Object, other: &Object) -> bool {
    one.is_same(other) || (version(one) == version(other) && one.json() == other.json())
}

pub(crate) fn version<K>(object: &Object<K>) -> u64 {
    object.resource_version().parse().unwrap()
}
