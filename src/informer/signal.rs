//! Waiting for a condition over several pieces of state.

use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

/// Wakes those who wait whenever something they may wait for has changed.
#[derive(Debug, Default)]
pub(super) struct Signal {
    changes: Mutex<u64>,
    change: Condvar,
}

/// A thread that has ended cannot tell: it is looked at this often.
const LOOK: Duration = Duration::from_millis(1);

impl Signal {
    /// Something has changed.
    pub(super) fn changed(&self) {
        *self.changes.lock() += 1;
        self.change.notify_all();
    }

    /// Blocks until `holds`, or until `deadline`; says whether it does.
    ///
    /// `holds` is called without a lock.
    pub(super) fn wait_until(&self, deadline: Option<Instant>, holds: impl Fn() -> bool) -> bool {
        loop {
            let seen = *self.changes.lock();
            if holds() {
                return true;
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return false;
            }
            let look = deadline.map_or(now + LOOK, |deadline| deadline.min(now + LOOK));
            let mut changes = self.changes.lock();
            if *changes == seen {
                self.change.wait_until(&mut changes, look);
            }
        }
    }
}
