//! What a reflector is doing, for whoever wants to know.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use crate::{
    error::{Error, describe},
    sync::Mutex,
};

/// What a reflector is doing, and how it went so far.
pub(crate) struct Progress {
    state: Mutex<Activity>,
    moved: OnceLock<Moved>,
}

/// Is called, without a lock, when a reflector has come further.
pub(crate) type Moved = Arc<dyn Fn() + Send + Sync>;

/// What a reflector is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Doing {
    /// It has not started.
    Nothing,
    /// It is listing: so many objects have arrived.
    Listing {
        /// Objects of this list so far.
        received: u64,
        /// About how many there will be, if the server says so. It does for lists in pages, without a
        /// selector.
        expected: Option<u64>,
    },
    /// It is asking for a watch.
    Connecting,
    /// It is watching.
    Watching,
    /// It waits before it tries again.
    BackingOff,
    /// It has stopped.
    Stopped,
}

/// How a reflector has been doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Activity {
    pub(crate) doing: Doing,
    /// Of listing or watching, until that works again.
    pub(crate) last_error: Option<String>,
    /// The same, to be asked.
    pub(crate) cause: Option<Error>,
    /// Failures since something last worked.
    pub(crate) failures: u32,
    /// Objects that could not be used.
    pub(crate) passed_over: u64,
    pub(crate) last_passed_over: Option<String>,
    /// Objects that a check found to differ from the server's.
    pub(crate) inconsistencies: u64,
    /// Failures ever.
    pub(crate) all_failures: u64,
    /// What watches have sent, bookmarks included.
    pub(crate) events: u64,
    /// When the server last sent anything: part of a list, the head of a watch, an event.
    pub(crate) last_event: Option<Instant>,
    pub(crate) watching_since: Option<Instant>,
    pub(crate) lists: u64,
    pub(crate) watches: u64,
    /// Where a watch would go on from; empty before the first list.
    pub(crate) resource_version: String,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let activity = Activity {
            doing: Doing::Nothing,
            last_error: None,
            cause: None,
            failures: 0,
            passed_over: 0,
            last_passed_over: None,
            inconsistencies: 0,
            all_failures: 0,
            events: 0,
            last_event: None,
            watching_since: None,
            lists: 0,
            watches: 0,
            resource_version: String::new(),
        };
        Self { state: Mutex::new(activity), moved: OnceLock::new() }
    }

    /// Calls `moved` from now on when the resource version has moved; of several, the first counts.
    pub(crate) fn on_move(&self, moved: Moved) {
        let _ = self.moved.set(moved);
    }

    fn has_moved(&self) {
        if let Some(moved) = self.moved.get() {
            moved();
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        self.state.lock().clone()
    }

    pub(super) fn doing(&self, doing: Doing) {
        let mut state = self.state.lock();
        if doing != Doing::Watching {
            state.watching_since = None;
        }
        state.doing = doing;
    }

    /// A list begins.
    pub(super) fn listing(&self) {
        self.doing(Doing::Listing { received: 0, expected: None });
    }

    pub(super) fn received(&self, now: Instant) {
        let mut state = self.state.lock();
        state.last_event = Some(now);
        if let Doing::Listing { received, .. } = &mut state.doing {
            *received += 1;
        }
    }

    /// A page is over, and so many objects are to come.
    pub(super) fn remaining(&self, remaining: Option<u64>) {
        if let Doing::Listing { received, expected } = &mut self.state.lock().doing {
            *expected = remaining.map(|remaining| received.saturating_add(remaining));
        }
    }

    /// All objects of a list have arrived: who waits for them may see that before they count.
    pub(super) fn arrived(&self, now: Instant) {
        let mut state = self.state.lock();
        state.last_event = Some(now);
        state.doing = Doing::Connecting;
        state.lists += 1;
        state.failures = 0;
        state.last_error = None;
        state.cause = None;
    }

    /// A list counts, and a watch would go on from there.
    pub(super) fn listed(&self, resource_version: &str) {
        resource_version.clone_into(&mut self.state.lock().resource_version);
        self.has_moved();
    }

    pub(super) fn watching(&self, now: Instant) {
        let mut state = self.state.lock();
        state.watches += 1;
        state.last_event = Some(now);
        state.failures = 0;
        state.last_error = None;
        state.cause = None;
        state.doing = Doing::Watching;
        state.watching_since = Some(now);
    }

    /// Something arrived; `resource_version` is where a watch would go on from now.
    pub(super) fn event(&self, now: Instant, resource_version: Option<&str>) {
        let mut state = self.state.lock();
        state.last_event = Some(now);
        state.events += 1;
        if let Some(version) = resource_version {
            state.resource_version.clear();
            state.resource_version.push_str(version);
        }
        drop(state);
        self.has_moved();
    }

    pub(super) fn failed(&self, error: &Error) {
        let mut state = self.state.lock();
        state.failures += 1;
        state.all_failures += 1;
        state.last_error = Some(describe(error));
        state.cause = Some(error.clone());
    }

    /// An object cannot be used: that says nothing about list and watch.
    pub(super) fn passed_over(&self, error: &Error) {
        let mut state = self.state.lock();
        state.passed_over += 1;
        state.last_passed_over = Some(describe(error));
    }

    pub(super) fn inconsistent(&self, objects: usize) {
        self.state.lock().inconsistencies += objects as u64;
    }

    pub(crate) fn is_listing(&self) -> bool {
        matches!(self.state.lock().doing, Doing::Listing { .. })
    }

    pub(super) fn is_watching(&self) -> bool {
        self.state.lock().doing == Doing::Watching
    }

    pub(crate) fn resource_version(&self) -> String {
        self.state.lock().resource_version.clone()
    }
}
