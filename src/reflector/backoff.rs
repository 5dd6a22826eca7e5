//! How long to wait before trying again.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use crate::sync::Mutex;

/// How the pauses between failed attempts grow.
///
/// Each pause is a random time between the current delay and twice as much, so that clients that
/// failed together do not come back together. Delays start over now and then, so that an outage that is
/// over is noticed soon. Numbers that make no sense count as nothing: a factor that is not above 0 leaves
/// delays as they are, a jitter that is not adds nothing.
///
/// ```
/// use std::time::Duration;
/// use kinformer::Backoff;
///
/// let mut patient = Backoff::default();
/// patient.cap = Duration::from_secs(300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[doc(alias = "BackoffManager")]
pub struct Backoff {
    /// The first delay. Defaults to 800 milliseconds.
    pub initial: Duration,
    /// By how much each delay is longer than the one before. Defaults to 2.
    pub factor: f64,
    /// The longest delay. Defaults to 30 seconds.
    pub cap: Duration,
    /// How much is added at random, as a part of the delay. Defaults to 1.
    pub jitter: f64,
    /// After this time the delays start over. Defaults to 2 minutes.
    pub reset: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            cap: Duration::from_secs(30),
            jitter: 1.0,
            reset: Duration::from_secs(120),
        }
    }
}

/// The delays of one reflector.
#[derive(Debug)]
pub(super) struct Delays {
    backoff: Backoff,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next: Duration,
    last_reset: Instant,
    random: Random,
}

impl Delays {
    pub(super) fn new(backoff: Backoff, now: Instant) -> Self {
        let next = backoff.initial;
        Self { backoff, state: Mutex::new(State { next, last_reset: now, random: Random::new() }) }
    }

    /// The next pause.
    pub(super) fn next(&self, now: Instant) -> Duration {
        let mut state = self.state.lock();
        // Since the last reset, not since the last failure: client-go does the same.
        if now.saturating_duration_since(state.last_reset) > self.backoff.reset {
            state.next = self.backoff.initial;
            state.last_reset = now;
        }
        let delay = state.next;
        if self.backoff.factor > 0.0 {
            state.next = times(delay, self.backoff.factor).min(self.backoff.cap);
        }
        let extra = self.backoff.jitter * state.random.fraction();
        delay.saturating_add(times(delay, extra))
    }

    /// A random time, for those who would otherwise do something at the same moment: at most the first
    /// delay, and never longer than the longest.
    pub(super) fn spread(&self) -> Duration {
        let fraction = self.state.lock().random.fraction();
        let most = self.backoff.initial.min(self.backoff.cap);
        times(most, self.backoff.jitter.min(1.0) * fraction)
    }
}

/// So much of a delay, whatever was asked for: nothing for less than nothing and for what is no number.
fn times(delay: Duration, factor: f64) -> Duration {
    let seconds = delay.as_secs_f64() * factor;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    } else {
        Duration::ZERO
    }
}

/// Random numbers that nobody's safety depends on.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0_u8) | 1)
    }

    /// From 0 up to, and without, 1.
    pub(super) fn fraction(&mut self) -> f64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases(backoff: Backoff, count: usize) -> Vec<u64> {
        let now = Instant::now();
        let delays = Delays::new(Backoff { jitter: 0.0, ..backoff }, now);
        (0..count).map(|_| delays.next(now).as_millis() as u64).collect()
    }

    #[test]
    fn delays_double_up_to_the_cap() {
        assert_eq!(
            bases(Backoff::default(), 8),
            [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]
        );
        let custom = Backoff {
            initial: Duration::from_millis(10),
            cap: Duration::from_millis(100),
            ..Backoff::default()
        };
        assert_eq!(bases(custom, 6), [10, 20, 40, 80, 100, 100]);
        assert_eq!(bases(Backoff { factor: 0.0, ..custom }, 3), [10, 10, 10]);
    }

    #[test]
    fn no_numbers_are_too_odd() {
        let odd =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, f64::MAX, f64::MIN_POSITIVE];
        let times = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
        let now = Instant::now();
        for (initial, cap, reset) in times.iter().flat_map(|&initial| {
            times.iter().flat_map(move |&cap| times.map(move |reset| (initial, cap, reset)))
        }) {
            for (factor, jitter) in odd.iter().flat_map(|&one| odd.map(|other| (one, other))) {
                let delays = Delays::new(Backoff { initial, factor, cap, jitter, reset }, now);
                for _ in 0..4 {
                    let _any = delays.next(now);
                    assert!(delays.spread() <= initial.min(cap));
                }
            }
        }
    }

    #[test]
    fn jitter_adds_up_to_the_same_again_and_does_not_accumulate() {
        let now = Instant::now();
        let delays = Delays::new(Backoff::default(), now);
        for base in [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] {
            let (low, delay) = (Duration::from_millis(base), delays.next(now));
            assert!(delay >= low && delay < 2 * low, "{delay:?} for {low:?}");
        }
    }

    #[test]
    fn delays_start_over_some_time_after_they_last_did() {
        let start = Instant::now();
        let delays = Delays::new(Backoff { jitter: 0.0, ..Backoff::default() }, start);
        let next = |seconds| delays.next(start + Duration::from_secs(seconds)).as_millis();
        assert_eq!([next(0), next(60), next(120)], [800, 1600, 3200]);
        assert_eq!([next(121), next(122), next(241)], [800, 1600, 3200]);
        assert_eq!(next(242), 800);
    }
}
