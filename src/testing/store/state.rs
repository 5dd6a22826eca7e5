//! What the server holds: objects, one revision counter and one bounded history of changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::object::{self, Stored};
use crate::testing::{
    failure::{self, Outcome},
    kinds::{Registry, ResourceDef},
};

/// Everything behind the server's one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) registry: Registry,
    revision: u64,
    /// The changes after `revision - history.len()`, exactly one for each revision.
    history: VecDeque<Arc<Change>>,
    window: usize,
    objects: HashMap<Arc<str>, BTreeMap<String, Arc<Stored>>>,
    /// By the UID of an owner: where its dependents are.
    dependents: HashMap<String, BTreeSet<(Arc<str>, String)>>,
}

/// One step of the revision counter.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) storage: Arc<str>,
    /// The object after the change; for a deletion the last state, at the deletion's revision.
    pub(crate) object: Arc<Stored>,
    /// `None` for a creation.
    pub(crate) previous: Option<Arc<Stored>>,
    pub(crate) deleted: bool,
    previous_now: OnceLock<Arc<Stored>>,
}

/// A part of one storage: all of it, a namespace of it, or one object of that.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) storage: Arc<str>,
    pub(crate) namespace: Option<String>,
}

impl State {
    pub(crate) fn new(window: usize) -> Self {
        Self {
            registry: Registry::builtin(),
            revision: 1,
            history: VecDeque::new(),
            window: window.max(1),
            objects: HashMap::new(),
            dependents: HashMap::new(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The oldest revision that can still be watched from and listed at.
    pub(crate) fn oldest(&self) -> u64 {
        self.revision - self.history.len() as u64
    }

    /// Forgets the history.
    pub(crate) fn compact(&mut self) {
        self.history.clear();
    }

    pub(crate) fn object(&self, storage: &str, key: &str) -> Option<&Arc<Stored>> {
        self.objects.get(storage)?.get(key)
    }

    /// Whether anything is stored in this namespace.
    pub(crate) fn is_empty_namespace(&self, namespace: &str) -> bool {
        let prefix = format!("{namespace}/");
        self.objects.values().all(|objects| {
            objects.range(prefix.clone()..).next().is_none_or(|(key, _)| !key.starts_with(&prefix))
        })
    }

    /// Storage and key of everything in a namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<(Arc<str>, String)> {
        let prefix = format!("{namespace}/");
        let objects = self.objects.iter().flat_map(|(storage, objects)| {
            let inside = objects.range(prefix.clone()..).map(|(key, _)| key);
            inside
                .take_while(|key| key.starts_with(&prefix))
                .map(|key| (storage.clone(), key.clone()))
        });
        objects.collect()
    }

    /// Storage and key of everything that has this UID among its owners.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Arc<str>, String)> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// The objects of a scope as they were at `revision`, sorted by key.
    ///
    /// # Errors
    /// 410 if that is no longer known.
    pub(crate) fn list(&self, scope: &Scope, revision: u64) -> Outcome<Vec<Arc<Stored>>> {
        if revision < self.oldest() {
            return Err(failure::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 You can start a new list without the continue parameter.",
            ));
        }
        let mut objects: Vec<Arc<Stored>> = match self.objects.get(&scope.storage) {
            None => Vec::new(),
            Some(all) => match &scope.namespace {
                None => all.values().cloned().collect(),
                Some(namespace) => {
                    let prefix = format!("{namespace}/");
                    let inside = all.range(prefix.clone()..);
                    let inside = inside.take_while(|(key, _)| key.starts_with(&prefix));
                    inside.map(|(_, object)| object.clone()).collect()
                }
            },
        };
        let undone = self.undo(scope, revision);
        if !undone.is_empty() {
            objects.retain(|object| !undone.contains_key(object.key.as_str()));
            objects.extend(undone.into_values().flatten());
            objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        }
        Ok(objects)
    }

    /// For each key that changed after `revision`: what was there then.
    fn undo(&self, scope: &Scope, revision: u64) -> HashMap<&str, Option<Arc<Stored>>> {
        let mut undone = HashMap::new();
        let later = self.revision.saturating_sub(revision) as usize;
        for change in self.history.iter().rev().take(later) {
            if scope.contains(change) {
                undone.insert(change.object.key.as_str(), change.previous.clone());
            }
        }
        undone
    }

    /// The changes of a scope after `cursor`, at most `most` of them, and where that leaves the
    /// cursor. `None` if changes after the cursor have been forgotten.
    pub(crate) fn changes(
        &self,
        scope: &Scope,
        cursor: u64,
        most: usize,
    ) -> Option<(Vec<Arc<Change>>, u64)> {
        let skip = cursor.checked_sub(self.oldest())?;
        let mut found = Vec::new();
        for change in self.history.iter().skip(skip as usize) {
            if scope.contains(change) {
                found.push(change.clone());
                if found.len() == most {
                    return Some((found, change.revision));
                }
            }
        }
        Some((found, cursor.max(self.revision)))
    }

    /// Stores `value` at the next revision and remembers the change.
    pub(crate) fn put(&mut self, def: &ResourceDef, value: &mut Value) -> Arc<Stored> {
        value["metadata"]["resourceVersion"] = (self.revision + 1).to_string().into();
        let object = Arc::new(Stored::new(def, value));
        let storage = storage(def);
        let objects = self.objects.entry(storage.clone()).or_default();
        let previous = objects.insert(object.key.clone(), object.clone());
        if let Some(previous) = &previous {
            self.disown(&storage, previous);
        }
        for owner in &object.owners {
            let place = (storage.clone(), object.key.clone());
            self.dependents.entry(owner.clone()).or_default().insert(place);
        }
        self.remember(storage, object.clone(), previous, false);
        object
    }

    /// Removes an object; what it returns is its last state at the revision of the deletion.
    pub(crate) fn remove(&mut self, def: &ResourceDef, key: &str) -> Option<Arc<Stored>> {
        let storage = storage(def);
        let previous = self.objects.get_mut(&storage)?.remove(key)?;
        self.disown(&storage, &previous);
        let last = Arc::new(at_revision(def, &previous, self.revision + 1));
        self.remember(storage, last.clone(), Some(previous), true);
        Some(last)
    }

    fn disown(&mut self, storage: &Arc<str>, object: &Stored) {
        for owner in &object.owners {
            if let Some(places) = self.dependents.get_mut(owner) {
                places.remove(&(storage.clone(), object.key.clone()));
                if places.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    fn remember(
        &mut self,
        storage: Arc<str>,
        object: Arc<Stored>,
        previous: Option<Arc<Stored>>,
        deleted: bool,
    ) {
        self.revision += 1;
        if self.history.len() == self.window {
            self.history.pop_front();
        }
        self.history.push_back(Arc::new(Change {
            revision: self.revision,
            storage,
            object,
            previous,
            deleted,
            previous_now: OnceLock::new(),
        }));
    }
}

impl Change {
    /// The previous object at the revision of this change: what a watcher is shown when an object
    /// leaves its selection.
    pub(crate) fn previous_now(&self, def: &ResourceDef) -> Option<&Arc<Stored>> {
        let previous = self.previous.as_ref()?;
        Some(self.previous_now.get_or_init(|| Arc::new(at_revision(def, previous, self.revision))))
    }
}

impl Scope {
    fn contains(&self, change: &Change) -> bool {
        *change.storage == *self.storage
            && self.namespace.as_ref().is_none_or(|namespace| change.object.namespace == *namespace)
    }
}

/// The name under which objects of all versions of a resource are kept.
pub(crate) fn storage(def: &ResourceDef) -> Arc<str> {
    format!("{}/{}", def.storage.0, def.storage.1).into()
}

fn at_revision(def: &ResourceDef, object: &object::Stored, revision: u64) -> Stored {
    let mut value = object.value(def);
    value["metadata"]["resourceVersion"] = revision.to_string().into();
    Stored::new(def, &value)
}
