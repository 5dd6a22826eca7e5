//! What bounds a blocking call: the latest moment it may last to, and who may end it sooner.

use std::{
    io,
    time::{Duration, Instant},
};

use crate::stop::StopToken;

/// The limits of one call, from its first byte out to its last byte in.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) stop: StopToken,
    /// When the call as a whole must have ended; `None` for streams, which last as long as they last.
    pub(crate) deadline: Option<Instant>,
    /// How long the other side may be silent while it is its turn: not at all, and nobody waits for it.
    pub(crate) silence: Option<Duration>,
}

impl Bounds {
    /// The same call, with a phase of it limited to `limit` from `now`.
    pub(crate) fn phase(&self, limit: Duration, now: Instant) -> Self {
        let ends = now.checked_add(limit);
        let deadline = match (self.deadline, ends) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { stop: self.stop.clone(), deadline, silence: None }
    }

    /// How long the next wait may take; `None` is for ever.
    pub(crate) fn timeout(&self, now: Instant) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(self.silence) };
        let left = deadline.saturating_duration_since(now);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Some(self.silence.map_or(left, |silence| left.min(silence))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_limit_counts() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut bounds =
            Bounds { stop: StopToken::new(), deadline: Some(now + 9 * second), silence: None };
        assert_eq!(bounds.timeout(now).unwrap(), Some(9 * second));
        bounds.silence = Some(2 * second);
        assert_eq!(bounds.timeout(now).unwrap(), Some(2 * second));
        assert_eq!(bounds.timeout(now + 8 * second).unwrap(), Some(second));
        let past = bounds.timeout(now + 9 * second).unwrap_err();
        assert_eq!(past.kind(), io::ErrorKind::TimedOut);
        assert_eq!(bounds.phase(second, now).timeout(now).unwrap(), Some(second));
        assert_eq!(bounds.phase(Duration::MAX, now).timeout(now).unwrap(), Some(9 * second));
        bounds.deadline = None;
        assert_eq!(bounds.timeout(now + 99 * second).unwrap(), Some(2 * second));
    }
}
