//! What `fuzz/` runs, and the property tests with it: each part does something with the real thing and
//! with a model of it that is too simple to be wrong, and panics where they differ.
//!
//! Behind the feature `_fuzz`, and no part of the interface. `tests/corpus.rs` runs the same on stable.

#![allow(missing_docs, clippy::missing_panics_doc)]

mod alike;
mod delta_fifo;
#[cfg(feature = "kubeconfig")]
mod kubeconfig;
mod labels;
mod reflector;
mod store_index;
mod wire;

use std::{collections::VecDeque, sync::Arc};

#[cfg(feature = "kubeconfig")]
pub use self::kubeconfig::kubeconfig;
pub use self::{
    alike::alike_objects,
    delta_fifo::delta_fifo,
    labels::labels,
    reflector::reflector,
    store_index::{store_index, store_index_with_panics},
    wire::{http_answers, list_stream, object_meta, watch_frames},
};
use crate::{
    client::fuzzing::cut_list,
    json::outline::Value,
    object::{ApiResource, Object, Origin},
};

/// Objects as an informer has them: of one origin. For benchmarks.
///
/// # Panics
///
/// If a text is no object.
pub fn objects<K>(
    resource: &ApiResource,
    texts: impl IntoIterator<Item = String>,
) -> Vec<Object<K>> {
    let origin = Arc::new(Origin::new(resource.clone(), "".into()));
    let object = |text: String| Object::ingest_text(&origin, text.as_bytes()).expect("an object");
    texts.into_iter().map(object).collect()
}

/// The objects of a list as they are cut out of its body. For benchmarks.
///
/// # Panics
///
/// If the body is no list of objects.
pub fn objects_of_list<K>(resource: &ApiResource, body: &[u8]) -> Vec<Object<K>> {
    pruned_objects_of_list(resource, body, &[])
}

/// The same without what is at these paths.
///
/// # Panics
///
/// If the body is no list of objects, or a path is none.
pub fn pruned_objects_of_list<K>(
    resource: &ApiResource,
    body: &[u8],
    paths: &[&str],
) -> Vec<Object<K>> {
    let mut origin = Origin::new(resource.clone(), "".into());
    paths.iter().for_each(|path| origin.shape.prune(path).expect("a path"));
    let origin = Arc::new(origin);
    let mut objects = Vec::new();
    let mut item =
        |item: Value<'_>| objects.push(Object::ingest(&origin, item).expect("an object"));
    cut_list(body, &origin.shape, &mut item).expect("a list");
    objects
}

/// Random bytes as a source of decisions; zeros when they run out.
#[derive(Debug)]
struct Choices(VecDeque<u8>);

impl Choices {
    fn new(data: &[u8]) -> Self {
        Self(data.iter().copied().collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn byte(&mut self) -> u8 {
        self.0.pop_front().unwrap_or(0)
    }

    /// One of the numbers below `limit`.
    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }
}
