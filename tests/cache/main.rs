//! The cache through its public interface: the queue, the stores, the indices, the listers.
//!
//! `tests/README.md` says which rule of client-go each test stands for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod delta_fifo;
mod index;
mod lister;
mod processing;
mod properties;
mod replace;
mod store;

use kinformer::{
    Error,
    cache::{Deleted, Delta, DeltaFifo, DeltaFifoBuilder, Store},
};

/// What is queued and stored: a name, which is its key, and a value.
type Item = (&'static str, u32);

fn key(item: &Item) -> &'static str {
    item.0
}

fn fifo() -> DeltaFifo<Item> {
    DeltaFifo::new(key)
}

fn builder() -> DeltaFifoBuilder<Item> {
    DeltaFifo::builder(key)
}

fn store(items: impl IntoIterator<Item = Item>) -> Store<Item> {
    let store = Store::new(key);
    store.replace(items, "");
    store
}

/// A queue over a store of its own, as an informer has it.
fn fifo_over(items: impl IntoIterator<Item = Item>) -> (DeltaFifo<Item>, Store<Item>) {
    let known = store(items);
    (builder().known_objects(known.clone()).build(), known)
}

fn deleted(name: &'static str, value: u32) -> Delta<Item> {
    Delta::Deleted(Deleted::Known((name, value)))
}

fn tombstone(name: &'static str, value: u32) -> Delta<Item> {
    Delta::Deleted(Deleted::FinalStateUnknown { key: name.into(), last: Some((name, value)) })
}

/// The deltas of the next object in line, which has this key.
fn pop_key(fifo: &DeltaFifo<Item>, name: &str) -> Vec<Delta<Item>> {
    let popped = fifo.try_pop().expect("something is queued");
    assert_eq!(popped.key, name);
    popped.deltas.into_iter().collect()
}

/// Everything that is queued, in order.
fn drain(fifo: &DeltaFifo<Item>) -> Vec<(String, Vec<Delta<Item>>)> {
    let pops = std::iter::from_fn(|| fifo.try_pop());
    pops.map(|popped| (popped.key.to_string(), popped.deltas.into_iter().collect())).collect()
}

/// Does to a store what a consumer does.
fn apply(store: &Store<Item>, deltas: impl IntoIterator<Item = Delta<Item>>, name: &str) {
    for delta in deltas {
        match delta {
            Delta::Added(item)
            | Delta::Updated(item)
            | Delta::Replaced(item)
            | Delta::Sync(item) => {
                store.add(item);
            }
            Delta::Deleted(_) => {
                store.delete_by_key(name);
            }
        }
    }
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_unstable();
    items
}

/// Some error, for a transform to fail with.
fn an_error() -> Error {
    kinformer::labels::parse("a in").unwrap_err()
}
