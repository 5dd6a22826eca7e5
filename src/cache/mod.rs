//! Keeping objects: the queue of changes, the store with its indices, and listers on top.
//!
//! No HTTP and no threads: everything here works alone, with any type.

mod chunks;
mod delta;
mod delta_fifo;
mod fingerprint;
mod index;
mod key_set;
mod key_table;
mod lister;
mod near_key;
mod replace;
mod store;
mod thread_safe_store;
mod view;

pub use self::{
    delta::{Deleted, Delta, Deltas, IntoIter, Iter, Popped},
    delta_fifo::{DeltaFifo, DeltaFifoBuilder, KnownObjects},
    index::{Indexers, UnknownIndex},
    lister::{Lister, NAMESPACE_INDEX, NamespaceLister, meta_namespace_key, namespace_index},
    replace::Replace,
    store::{Indexer, Store},
    thread_safe_store::ThreadSafeStore,
};
pub(crate) use self::{
    delta_fifo::Pop, index::panic_text, lister::object_store, thread_safe_store::Outdated,
};
