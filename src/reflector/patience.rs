//! For how long a kind of failure is put up with.

use std::time::{Duration, Instant};

/// After this time without a failure, a series of them is over.
const OVER: Duration = Duration::from_secs(60);

/// Puts up with a series of failures for a while after its first.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    series: Option<Series>,
}

#[derive(Clone, Copy, Debug)]
struct Series {
    first: Instant,
    last: Instant,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, series: None }
    }

    /// Another failure: whether to put up with it, too.
    #[doc(alias = "RetryWithDeadline")]
    pub(super) fn lasts(&mut self, now: Instant) -> bool {
        if self.limit.is_zero() {
            return false;
        }
        let series = self.series.filter(|series| now.duration_since(series.last) < OVER);
        let first = series.map_or(now, |series| series.first);
        self.series = Some(Series { first, last: now });
        let lasts = now.duration_since(first) <= self.limit;
        if !lasts {
            self.series = None;
        }
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retries(limit: u64, failures: impl IntoIterator<Item = u64>) -> usize {
        let start = Instant::now();
        let mut patience = Patience::new(Duration::from_secs(limit));
        let lasts = |&second: &u64| patience.lasts(start + Duration::from_secs(second));
        failures.into_iter().take_while(lasts).count()
    }

    #[test]
    fn without_a_limit_there_is_none() {
        assert_eq!(retries(0, 0..10), 0);
    }

    #[test]
    fn it_lasts_up_to_the_limit_after_the_first_of_a_series() {
        assert_eq!(retries(30, 0..100), 31);
    }

    #[test]
    fn a_minute_without_a_failure_ends_a_series() {
        let gap = (0..20).chain(80..200);
        assert_eq!(retries(30, gap), 20 + 31);
        let short_gap = (0..20).chain(78..200);
        assert_eq!(retries(30, short_gap), 20);
    }

    #[test]
    fn after_it_has_run_out_it_starts_over() {
        let start = Instant::now();
        let mut patience = Patience::new(Duration::from_secs(1));
        let mut lasts = |second| patience.lasts(start + Duration::from_secs(second));
        assert!(lasts(0) && !lasts(2) && lasts(3));
    }
}
