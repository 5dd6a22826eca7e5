//! How fast events come.

use std::time::{Duration, Instant};

/// Events are counted for so long at a time: servers tell of changes in bursts, with pauses between.
const WINDOW: Duration = Duration::from_millis(200);

/// With so many of them, a watch is busy: a hundred a second.
const MANY: u32 = 20;

/// So many events are worth being woken for. To wake three threads and more for one costs several times what the event
/// does, and where there are hundreds of them nobody waits for this one.
const TOGETHER: u32 = 10;

/// How long the events of a busy watch are left to gather: the fewer there are, the longer, within these limits.
const GATHER: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(20));

/// Tells a busy watch from one on which something happens now and then, and is to be told at once.
#[derive(Debug)]
pub(super) struct Pace {
    window: Instant,
    events: u32,
    gather: Duration,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { window: now, events: 0, gather: Duration::ZERO }
    }

    /// An event came; says for how long those that follow are to gather. Not at all, unless the watch is busy.
    pub(super) fn gather(&mut self, now: Instant) -> Duration {
        let passed = now.duration_since(self.window);
        if passed >= WINDOW {
            let busy = self.events >= MANY && passed < 2 * WINDOW;
            self.gather = if busy {
                (passed * TOGETHER / self.events).clamp(GATHER.0, GATHER.1)
            } else {
                Duration::ZERO
            };
            (self.window, self.events) = (now, 0);
        }
        self.events += 1;
        self.gather
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of these milliseconds the watch is busy.
    fn busy(events: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut gather = |at: u64| pace.gather(start + Duration::from_millis(at));
        events.into_iter().filter(|&at| !gather(at).is_zero()).collect()
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

    #[test]
    fn ten_events_are_waited_for_but_not_for_long() {
        let gather = |each: Duration| {
            let start = Instant::now();
            let mut pace = Pace::new(start);
            let last = (0..10_000).map(|n| pace.gather(start + each * n)).last().unwrap();
            (last + Duration::from_micros(50)).as_millis()
        };
        assert_eq!(gather(Duration::from_micros(100)), 5, "10,000 a second");
        assert_eq!(gather(Duration::from_micros(800)), 8);
        assert_eq!(gather(Duration::from_millis(2)), 20);
        assert_eq!(gather(Duration::from_millis(9)), 20);
        assert_eq!(gather(Duration::from_millis(11)), 0);
    }
}
