//! How fast events come.

use std::time::{Duration, Instant};

/// Events are counted for so long at a time: servers tell of changes in bursts, with pauses between.
const WINDOW: Duration = Duration::from_millis(200);

/// With so many of them, a watch is busy: a hundred a second.
const MANY: u32 = 20;

/// What a busy watch brings is left to gather for so long. To wake three threads and more for an event costs several
/// times what the event does, and where there are hundreds of them nobody waits for this one.
pub(super) const GATHER: Duration = Duration::from_millis(5);

/// Tells a busy watch from one on which something happens now and then, and is to be told at once.
#[derive(Debug)]
pub(super) struct Pace {
    window: Instant,
    events: u32,
    busy: bool,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { window: now, events: 0, busy: false }
    }

    /// An event came; says whether the watch is busy.
    pub(super) fn is_busy(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.window);
        if passed >= WINDOW {
            self.busy = self.events >= MANY && passed < 2 * WINDOW;
            (self.window, self.events) = (now, 0);
        }
        self.events += 1;
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of these milliseconds the watch is busy.
    fn busy(events: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        events.into_iter().filter(|&at| pace.is_busy(start + Duration::from_millis(at))).collect()
    }

    #[test]
    fn a_burst_after_which_nothing_comes_is_told_at_once_and_so_is_what_comes_later() {
        assert!(busy((0..100).chain([1000]).chain(2000..2100)).is_empty());
    }

    #[test]
    fn events_that_come_now_and_then_never_make_a_watch_busy() {
        assert!(busy((0..1000).map(|n| n * 11)).is_empty());
    }

    #[test]
    fn a_watch_is_busy_as_long_as_there_are_a_hundred_events_a_second() {
        let even = (0..200).map(|n| n * 10);
        assert_eq!(busy(even).first(), Some(&200));
        let bursts = (0..100).flat_map(|burst| (0..8).map(move |n| burst * 40 + n));
        assert_eq!(busy(bursts.clone()).len(), 800 - 5 * 8, "all but those of the first window");
        let later = [4000, 4200, 4400];
        let busy = busy(bursts.chain(later));
        assert_eq!(busy.last(), Some(&4000), "and no longer");
    }
}
