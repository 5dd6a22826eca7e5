//! Handlers that decode what they are told. There are several of each, and they share what is decoded.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use k8s_openapi::{
    Metadata,
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kinformer::{DynamicObject, Event, Object, Resource, SharedInformer};
use parking_lot::Mutex;

use super::{body::prefix, writers::is_written};

/// How many handlers decode the same.
const HANDLERS: usize = 3;

/// What was decoded by all handlers.
#[derive(Clone, Default)]
pub(crate) struct Decoder(Arc<State>);

#[derive(Default)]
struct State {
    decoded: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

/// A kind that says in its body what it was written as.
pub(crate) trait Stamped: Resource + Metadata<Ty = ObjectMeta> {
    fn stamp(&self) -> Option<&str>;
}

impl Stamped for ConfigMap {
    fn stamp(&self) -> Option<&str> {
        self.data.as_ref()?.get("stamp").map(String::as_str)
    }
}

impl Stamped for Deployment {
    fn stamp(&self) -> Option<&str> {
        let containers = &self.spec.template.spec.as_ref()?.containers;
        containers.first()?.image.as_ref()?.rsplit(':').next()
    }
}

impl Decoder {
    pub(crate) fn listen<K: Stamped>(&self, informer: &SharedInformer<DynamicObject>) {
        for _ in 0..HANDLERS {
            let decoder = self.clone();
            let informer = informer.cast::<K>();
            informer.on_event(move |event| decoder.take(&event)).unwrap();
        }
    }

    pub(crate) fn decoded(&self) -> u64 {
        self.0.decoded.load(Ordering::Relaxed)
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.0.wrong.lock().clone()
    }

    fn take<K: Stamped>(&self, event: &Event<K>) {
        let old = if let Event::Updated { old, .. } = event { Some(old) } else { None };
        for object in old.into_iter().chain(event.object()) {
            self.0.decoded.fetch_add(1, Ordering::Relaxed);
            if let Some(problem) = problem(object) {
                self.0.wrong.lock().push(format!("{event}: {problem}"));
            }
        }
    }
}

fn problem<K: Stamped>(object: &Object<K>) -> Option<String> {
    let decoded = match object.get() {
        Ok(decoded) => decoded,
        Err(error) => return Some(error.to_string()),
    };
    let said = decoded.metadata();
    let pairs = [
        (said.name.as_deref(), Some(object.name())),
        (said.namespace.as_deref(), object.namespace()),
        (said.uid.as_deref(), Some(object.uid())),
        (said.resource_version.as_deref(), Some(object.resource_version())),
    ];
    if let Some((said, wanted)) = pairs.iter().find(|(said, wanted)| said != wanted) {
        return Some(format!("decodes as {said:?}, not {wanted:?}"));
    }
    let fits = |stamp: &str| {
        stamp.starts_with(&prefix(object.namespace().unwrap_or_default(), object.name()))
    };
    let stamp = decoded.stamp();
    (is_written(object.name()) && !stamp.is_some_and(fits))
        .then(|| format!("decodes with the stamp {stamp:?}"))
}
