//! Waiting for a condition over several pieces of state.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use crate::sync::{Condvar, Mutex};

/// Wakes those who wait whenever something they may wait for has changed.
#[derive(Debug, Default)]
pub(super) struct Signal {
    changes: Mutex<u64>,
    change: Condvar,
    waiting: AtomicUsize,
}

/// A thread that has ended cannot tell: it is looked at this often.
const LOOK: Duration = Duration::from_millis(1);

impl Signal {
    /// Something has changed.
    pub(super) fn changed(&self) {
        *self.changes.lock() += 1;
        self.change.notify_all();
    }

    /// The same for what happens all the time: costs nothing while nobody waits.
    pub(super) fn changed_for_waiters(&self) {
        if self.waiting.load(Ordering::Acquire) > 0 {
            self.changed();
        }
    }

    /// Blocks until `holds`, or until `deadline`; says whether it does.
    ///
    /// `holds` is called without a lock.
    pub(super) fn wait_until(&self, deadline: Option<Instant>, holds: impl Fn() -> bool) -> bool {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let held = self.wait(deadline, holds);
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        held
    }

    fn wait(&self, deadline: Option<Instant>, holds: impl Fn() -> bool) -> bool {
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
