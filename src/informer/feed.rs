//! What fills the queue of a controller.

use crate::{
    reflector::{Activity, Reflector},
    stop::StopToken,
};

/// Fills a queue with what a server tells.
pub(super) trait Feed: Send + Sync {
    /// Runs until `stop` is stopped.
    fn run(&self, stop: &StopToken);

    /// What it is doing, and how it went so far.
    fn activity(&self) -> Activity;

    /// Where a watch would go on from; empty before the first list.
    fn resource_version(&self) -> String {
        self.activity().resource_version
    }
}

impl<K: 'static> Feed for Reflector<K> {
    fn run(&self, stop: &StopToken) {
        Self::run(self, stop);
    }

    fn activity(&self) -> Activity {
        self.progress.activity()
    }
}
