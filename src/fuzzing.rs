//! What `fuzz/` runs, and the property tests with it: each part does something with the real thing and
//! with a model of it that is too simple to be wrong, and panics where they differ.
//!
//! Behind the feature `_fuzz`, and no part of the interface. `tests/corpus.rs` runs the same on stable.

#![allow(missing_docs, clippy::missing_panics_doc)]

mod delta_fifo;
mod labels;
mod store_index;
mod wire;

use std::sync::Arc;

pub use self::{
    delta_fifo::delta_fifo,
    labels::labels,
    store_index::{store_index, store_index_with_panics},
    wire::{json_stream, list_page, object_ingest, watch_frame},
};
use crate::{
    client::fuzzing::cut_list,
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
    let object = |text: String| Object::ingest(&origin, text.as_bytes()).expect("an object");
    texts.into_iter().map(object).collect()
}

/// The objects of a list as they are cut out of its body. For benchmarks.
///
/// # Panics
///
/// If the body is no list of objects.
pub fn objects_of_list<K>(resource: &ApiResource, body: &[u8]) -> Vec<Object<K>> {
    let origin = Arc::new(Origin::new(resource.clone(), "".into()));
    let mut objects = Vec::new();
    let mut item = |text: &[u8]| objects.push(Object::ingest(&origin, text).expect("an object"));
    cut_list(body, &mut item).expect("a list");
    objects
}

/// Random bytes as a source of decisions; zeros when they run out.
#[derive(Debug)]
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// One of the numbers below `limit`.
    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }
}
