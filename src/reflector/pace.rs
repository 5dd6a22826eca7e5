//! How fast events come.

use std::time::{Duration, Instant};

/// Events that are no further apart than this belong together.
const CLOSE: Duration = Duration::from_millis(20);

/// After so many of them, a watch is busy.
const MANY: u32 = 16;

/// What a busy watch brings is left to gather for so long. Waking three threads and more costs several times what
/// an event does, and nobody is told of one event much sooner if there are hundreds in a second.
pub(super) const GATHER: Duration = Duration::from_millis(5);

/// Tells a busy watch from one on which something happens now and then, and is to be told at once.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    in_a_row: u32,
}

impl Pace {
    /// An event came; says whether the watch is busy.
    pub(super) fn is_busy(&mut self, now: Instant) -> bool {
        let close = self.last.replace(now).is_some_and(|last| now.duration_since(last) <= CLOSE);
        self.in_a_row = if close { self.in_a_row.saturating_add(1) } else { 0 };
        self.in_a_row >= MANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of these milliseconds the watch is busy.
    fn busy(events: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut pace = Pace::default();
        events.into_iter().filter(|&at| pace.is_busy(start + Duration::from_millis(at))).collect()
    }

    #[test]
    fn a_few_events_in_a_row_are_no_reason_to_wait_for_more() {
        assert!(busy(0..16).is_empty());
        assert!(busy((0..16).chain(1000..1016)).is_empty(), "nor are a few more, later");
    }

    #[test]
    fn a_watch_is_busy_while_many_events_come_close_upon_each_other() {
        let (first, second) = (0..100, 121..200);
        assert_eq!(
            busy(first.clone().chain(second)),
            (16..100).chain(137..200).collect::<Vec<_>>()
        );
        assert_eq!(busy(first.chain([119, 120])).last(), Some(&120), "up to 20 ms apart");
    }

    #[test]
    fn events_that_are_far_apart_never_make_a_watch_busy() {
        assert!(busy((0..1000).map(|n| n * 21)).is_empty());
    }
}
