//! Waiting for a condition over several pieces of state.

use std::{
    sync::atomic::{AtomicUsize, Ordering, fence},
    time::Instant,
};

use crate::sync::{Condvar, Mutex};

/// Wakes those who wait whenever something they may wait for has changed.
#[derive(Debug, Default)]
pub(super) struct Signal {
    changes: Mutex<u64>,
    change: Condvar,
    followers: AtomicUsize,
}

impl Signal {
    /// Something has changed.
    pub(super) fn changed(&self) {
        *self.changes.lock() += 1;
        self.change.notify_all();
    }

    /// The same for what happens all the time: only those hear of it who [follow](Self::follow_until), and
    /// it costs next to nothing while nobody does.
    pub(super) fn moved(&self) {
        // Whoever begins to follow now sees the change, or is seen here.
        fence(Ordering::SeqCst);
        if self.followers.load(Ordering::SeqCst) > 0 {
            self.changed();
        }
    }

    /// Blocks until `holds`, which can also change where something has [moved](Self::moved).
    pub(super) fn follow_until(&self, deadline: Option<Instant>, holds: impl Fn() -> bool) -> bool {
        let _following = Following::begin(&self.followers);
        self.wait_until(deadline, holds)
    }

    /// Blocks until `holds`, which can only change where this is signalled, or until `deadline`; says
    /// whether it does.
    ///
    /// `holds` is called without a lock.
    pub(super) fn wait_until(&self, deadline: Option<Instant>, holds: impl Fn() -> bool) -> bool {
        loop {
            let seen = *self.changes.lock();
            if holds() {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            let mut changes = self.changes.lock();
            if *changes != seen {
                continue;
            }
            match deadline {
                Some(deadline) => {
                    self.change.wait_until(&mut changes, deadline);
                }
                None => self.change.wait(&mut changes),
            }
        }
    }
}

/// Somebody who follows, also if what is waited for panics.
struct Following<'a>(&'a AtomicUsize);

impl<'a> Following<'a> {
    fn begin(followers: &'a AtomicUsize) -> Self {
        followers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Self(followers)
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
