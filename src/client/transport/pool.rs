//! Connections to one server, kept for the next request.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{bounds::Bounds, dial::Dialer, wire::Wire};
use crate::error::Result;

/// As client-go's: what a server closes sooner is found out before it is used.
const IDLE_CONNECTIONS: usize = 25;
const IDLE_AGE: Duration = Duration::from_secs(90);

/// Knows the way to a server, and keeps connections that nobody uses for a while.
#[derive(Debug)]
pub(super) struct Pool {
    dialer: Dialer,
    /// The one that was used last is last.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    wire: Wire,
    since: Instant,
}

impl Pool {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer, idle: Mutex::default() }
    }

    /// A connection that was kept and is still good.
    pub(super) fn take(&self, now: Instant) -> Option<Wire> {
        loop {
            // To look at one takes system calls, and to drop one closes it: neither is done under the lock.
            let Idle { mut wire, since } = self.idle.lock().pop()?;
            if now.saturating_duration_since(since) < IDLE_AGE && wire.is_reusable() {
                return Some(wire);
            }
        }
    }

    /// Blocks until there is a new connection.
    pub(super) fn dial(&self, bounds: &Bounds) -> Result<Wire> {
        self.dialer.dial(bounds).map(Wire::new)
    }

    /// Keeps a connection for others, and of those that are kept no more than are likely to be used.
    pub(super) fn keep(&self, mut wire: Wire, now: Instant) {
        wire.give_back_room();
        let mut idle = self.idle.lock();
        idle.push(Idle { wire, since: now });
        let young = |kept: &Idle| now.saturating_duration_since(kept.since) < IDLE_AGE;
        let aged = idle.iter().position(young).unwrap_or(idle.len());
        let superfluous = idle.len().saturating_sub(IDLE_CONNECTIONS);
        let dropped: Vec<_> = idle.drain(..aged.max(superfluous)).collect();
        drop(idle);
        drop(dropped);
    }
}
