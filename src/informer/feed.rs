//! What fills the queue of a controller.

use crate::{
    error::Result,
    reflector::{Activity, Moved, Reflector},
    stop::StopToken,
};

/// Fills a queue with what a server tells.
pub(super) trait Feed: Send + Sync {
    /// Whether it can run.
    ///
    /// # Errors
    ///
    /// If nothing can be asked for.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Runs until `stop` is stopped.
    fn run(&self, stop: &StopToken);

    /// Calls `moved` when it has come further. Before it runs, once.
    fn on_move(&self, moved: Moved);

    /// What it is doing, and how it went so far.
    fn activity(&self) -> Activity;

    /// Where a watch would go on from; empty before the first list.
    fn resource_version(&self) -> String {
        self.activity().resource_version
    }

    /// Whether a list is on its way. Is asked all the time.
    fn is_listing(&self) -> bool;
}

impl<K: 'static> Feed for Reflector<K> {
    fn check(&self) -> Result<()> {
        Self::check(self)
    }

    fn run(&self, stop: &StopToken) {
        Self::run(self, stop);
    }

    fn on_move(&self, moved: Moved) {
        self.progress.on_move(moved);
    }

    fn activity(&self) -> Activity {
        self.progress.activity()
    }

    fn resource_version(&self) -> String {
        self.progress.resource_version()
    }

    fn is_listing(&self) -> bool {
        self.progress.is_listing()
    }
}
