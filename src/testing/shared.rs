//! What all connections of a server share.

use std::{
    collections::HashMap,
    net::{Shutdown, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{
    StopToken,
    testing::{
        failure::{self, Outcome},
        faults::Faults,
        http::RequestLog,
        store::State,
    },
};

/// How long a reader waits for a revision that is not there yet, as a real server does.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

pub(crate) struct Shared {
    pub(super) settings: Settings,
    /// Notified after every change, at the stop and when connections are dropped.
    pub(super) changed: Condvar,
    pub(super) faults: Mutex<Faults>,
    pub(super) requests: Mutex<RequestLog>,
    pub(super) stop: StopToken,
    pub(super) watches: AtomicUsize,
    state: Mutex<State>,
    connections: Mutex<HashMap<u64, Arc<TcpStream>>>,
    next_connection: AtomicU64,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(super) token: Option<String>,
    pub(super) bookmark_interval: Duration,
    pub(super) control: bool,
    pub(super) compressed_streams: bool,
}

impl Shared {
    pub(crate) fn new(settings: Settings, window: usize) -> Self {
        Self {
            settings,
            changed: Condvar::new(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            stop: StopToken::new(),
            watches: AtomicUsize::new(0),
            state: Mutex::new(State::new(window)),
            connections: Mutex::default(),
            next_connection: AtomicU64::new(0),
        }
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock())
    }

    /// Changes the state, and wakes the watches if it did change.
    pub(super) fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let before = state.revision();
        let result = write(&mut state);
        let changed = state.revision() != before;
        drop(state);
        if changed {
            self.changed.notify_all();
        }
        result
    }

    /// Looks at the state until `look` finds what it is after, the deadline passes or the server
    /// stops.
    pub(super) fn wait<T>(
        &self,
        deadline: Instant,
        mut look: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(found) = look(&state) {
                return Some(found);
            }
            if self.stop.is_stopped() || self.changed.wait_until(&mut state, deadline).timed_out() {
                return look(&state);
            }
        }
    }

    /// Waits until the server has reached a revision.
    ///
    /// # Errors
    /// 504 if it does not.
    pub(super) fn reach(&self, revision: u64) -> Outcome<()> {
        let reached = |state: &State| (state.revision() >= revision).then_some(());
        self.wait(Instant::now() + FUTURE_WAIT, reached)
            .ok_or_else(|| failure::too_large(revision, self.read(State::revision)))
    }

    /// Registers a connection, so that it can be shut down; `None` if the server is stopping.
    pub(super) fn connect(&self, tcp: &Arc<TcpStream>) -> Option<u64> {
        let mut connections = self.connections.lock();
        if self.stop.is_stopped() {
            return None;
        }
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        connections.insert(id, tcp.clone());
        Some(id)
    }

    pub(super) fn disconnect(&self, id: u64) {
        self.connections.lock().remove(&id);
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.lock().len()
    }

    /// Shuts every connection down, but for one.
    pub(super) fn drop_connections(&self, except: Option<u64>) {
        for (id, tcp) in &*self.connections.lock() {
            if Some(*id) != except {
                // It may be gone already.
                let _ = tcp.shutdown(Shutdown::Both);
            }
        }
        self.wake();
    }

    /// Interrupts everything that runs.
    pub(super) fn stop(&self) {
        self.stop.stop();
        self.drop_connections(None);
    }

    fn wake(&self) {
        // Under the lock, so that nobody is between looking and waiting.
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}
