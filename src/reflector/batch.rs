//! Events that arrived together.

use super::target::ReflectorStore;
use crate::client::Watch;

/// So many in a row are told together, however many more there are: what is done with each of them may
/// take its time.
const MOST: u32 = 32;

/// Tells a store whether more follows at once, and that nothing does when it is dropped.
pub(super) struct Batch<'a, T: 'static> {
    store: &'a dyn ReflectorStore<T>,
    in_a_row: u32,
    more: bool,
}

impl<'a, T: 'static> Batch<'a, T> {
    pub(super) fn new(store: &'a dyn ReflectorStore<T>) -> Self {
        Self { store, in_a_row: 0, more: false }
    }

    /// An event of a watch is about to be told.
    pub(super) fn before_event<K>(&mut self, watch: &mut Watch<K>) {
        self.in_a_row = (self.in_a_row + 1) % MOST;
        self.set(self.in_a_row != 0 && watch.has_next());
    }

    /// What follows may take its time.
    pub(super) fn end(&mut self) {
        self.set(false);
    }

    fn set(&mut self, more: bool) {
        if self.more != more {
            self.more = more;
            self.store.more_follows(more);
        }
    }
}

impl<T: 'static> Drop for Batch<'_, T> {
    fn drop(&mut self) {
        self.end();
    }
}
