//! What a handler is told, checked as it is told: the life of an object is an add, updates, a delete.

use std::{collections::HashMap, sync::Arc};

use kinformer::{DynamicObject, Event, Object, ObjectKey};
use parking_lot::Mutex;

#[derive(Clone)]
pub(crate) struct Journal(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    name: String,
    /// What is alive, with its newest resource version.
    alive: HashMap<ObjectKey, u64>,
    /// The newest resource version of what is not.
    gone: HashMap<ObjectKey, u64>,
    wrong: Vec<String>,
    told: u64,
}

impl Journal {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(State { name: name.into(), ..State::default() })))
    }

    pub(crate) fn take(&self, event: &Event<DynamicObject>) {
        self.0.lock().take(event);
    }

    pub(crate) fn told(&self) -> u64 {
        self.0.lock().told
    }

    /// Whether what is alive is exactly this, by its newest resource version.
    pub(crate) fn agrees_with(&self, expected: &HashMap<ObjectKey, u64>) -> bool {
        self.0.lock().alive == *expected
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.0.lock().wrong.clone()
    }
}

impl State {
    fn take(&mut self, event: &Event<DynamicObject>) {
        self.told += 1;
        let key = event.key().clone();
        let known = self.alive.get(&key).copied();
        let text = match (event, known) {
            (Event::Added { .. }, Some(_)) => "added twice",
            (Event::Updated { .. }, None) => "updated before it was added",
            (Event::Deleted(_), None) => "deleted without being there",
            (Event::Updated { old, .. }, Some(known)) if version(old) != known => {
                "updated from a state that was not told"
            }
            _ => "",
        };
        if !text.is_empty() {
            self.wrong.push(format!("{}: {key} was {text}: {event}", self.name));
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
                    let name = &self.name;
                    self.wrong.push(format!("{name}: {key} went back from {before}: {event}"));
                }
                self.alive.insert(key, version(object));
            }
        }
    }
}

pub(crate) fn version<K>(object: &Object<K>) -> u64 {
    object.resource_version().parse().unwrap()
}
