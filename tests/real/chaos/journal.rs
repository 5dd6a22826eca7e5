//! What a handler is told, checked as it is told: the life of an object is an add, updates, a delete.

use std::{collections::HashMap, sync::Arc};

use kinformer::{DynamicObject, Event, Object, ObjectKey};
use parking_lot::Mutex;

/// More than this of what is wrong helps nobody.
const ENOUGH: usize = 20;

#[derive(Clone)]
pub(crate) struct Journal(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    name: String,
    /// What is alive, as it was last told.
    alive: HashMap<ObjectKey, Object>,
    /// The newest resource version of what is not.
    gone: HashMap<ObjectKey, u64>,
    wrong: Vec<String>,
    told: u64,
    resynced: u64,
}

impl Journal {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(State { name: name.into(), ..State::default() })))
    }

    pub(crate) fn take(&self, event: &Event<DynamicObject>) {
        self.0.lock().take(event);
    }

    /// How many changes were told.
    pub(crate) fn told(&self) -> u64 {
        self.0.lock().told
    }

    /// How often an object was told again that had not changed.
    pub(crate) fn resynced(&self) -> u64 {
        self.0.lock().resynced
    }

    /// What is alive, as it was last told.
    pub(crate) fn alive(&self) -> Vec<Object> {
        self.0.lock().alive.values().cloned().collect()
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.0.lock().wrong.clone()
    }
}

impl State {
    fn take(&mut self, event: &Event<DynamicObject>) {
        let key = event.key().clone();
        let known = self.alive.get(&key).map(version);
        let problem = match (event, known) {
            (Event::Added { .. }, Some(_)) => "added twice",
            (Event::Updated { .. }, None) => "updated before it was added",
            (Event::Deleted(_), None) => "deleted without being there",
            (Event::Updated { old, .. }, Some(known)) if version(old) != known => {
                "updated from a state that was not told"
            }
            _ => "",
        };
        if !problem.is_empty() {
            self.is_wrong(format!("{key} was {problem}: {event}"));
        }
        match event {
            Event::Updated { old, new } if version(old) == version(new) => self.resynced += 1,
            _ => self.told += 1,
        }
        match event {
            Event::Deleted(deleted) => {
                let last = deleted.object().map_or(0, version).max(known.unwrap_or_default());
                self.alive.remove(&key);
                self.gone.insert(key, last);
            }
            _ => {
                let Some(object) = event.object() else { return };
                let before = known.or_else(|| self.gone.get(&key).copied()).unwrap_or_default();
                if version(object) < before {
                    self.is_wrong(format!("{key} went back from {before}: {event}"));
                }
                self.alive.insert(key, object.clone());
            }
        }
    }

    fn is_wrong(&mut self, what: String) {
        if self.wrong.len() < ENOUGH {
            self.wrong.push(format!("{}: {what}", self.name));
        }
    }
}

pub(crate) fn version<K>(object: &Object<K>) -> u64 {
    object.resource_version().parse().unwrap()
}
