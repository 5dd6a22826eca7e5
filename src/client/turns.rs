//! Doing only so many things at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    error::Result,
    stop::{Interrupt, StopToken},
    sync::{Condvar, Mutex},
};

/// Who has been kept from its work for so long does not count any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// A number of turns to be taken and given back.
///
/// Who has one may be held up by code that is not ours. Others do not wait for that: after a second of
/// it, all in all, the turn counts as given back.
#[derive(Debug)]
pub(super) struct Turns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    count: usize,
    epoch: Instant,
    holders: Mutex<Vec<Arc<Holder>>>,
    turn_or_stop: Condvar,
}

/// For how long the holder of a turn has been held up, in nanoseconds.
#[derive(Debug, Default)]
struct Holder {
    before: AtomicU64,
    /// Since when it is now, after the epoch; 0 if it is not.
    since: AtomicU64,
}

/// A turn, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    shared: Arc<Shared>,
    holder: Arc<Holder>,
}

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Shared {
            count,
            epoch: Instant::now(),
            holders: Mutex::default(),
            turn_or_stop: Condvar::new(),
        }))
    }

    /// Blocks until it is one's turn, or fails when `stop` is stopped.
    pub(super) fn take(&self, stop: &StopToken) -> Result<Turn> {
        let shared = &self.0;
        let _interruptible = stop.on_stop(shared.clone())?;
        let mut holders = shared.holders.lock();
        loop {
            if let Err(stopped) = stop.check() {
                // The word that one is free may have been for this one.
                shared.turn_or_stop.notify_one();
                return Err(stopped);
            }
            let now = Instant::now();
            let at_work = holders.iter().filter(|holder| !holder.is_held_up(shared.nanos(now)));
            if at_work.count() < shared.count {
                break;
            }
            // Nobody says that he is held up.
            shared.turn_or_stop.wait_until(&mut holders, now + PATIENCE / 4);
        }
        let holder = Arc::<Holder>::default();
        holders.push(holder.clone());
        Ok(Turn { shared: shared.clone(), holder })
    }
}

impl Turn {
    /// Runs code that is not ours, and may take its time.
    pub(crate) fn held_up_by<R>(&self, run: impl FnOnce() -> R) -> R {
        let Self { shared, holder } = self;
        let start = shared.nanos(Instant::now());
        holder.since.store(start, Ordering::Relaxed);
        let result = run();
        let took = shared.nanos(Instant::now()).saturating_sub(start);
        holder.before.fetch_add(took, Ordering::Relaxed);
        holder.since.store(0, Ordering::Relaxed);
        result
    }
}

impl Shared {
    /// Never 0.
    fn nanos(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX).max(1)
    }
}

impl Holder {
    fn is_held_up(&self, now: u64) -> bool {
        let current = match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => now.saturating_sub(since),
        };
        let all = self.before.load(Ordering::Relaxed).saturating_add(current);
        Duration::from_nanos(all) >= PATIENCE
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Self { shared, holder } = self;
        shared.holders.lock().retain(|other| !Arc::ptr_eq(other, holder));
        shared.turn_or_stop.notify_one();
    }
}

impl Interrupt for Shared {
    fn interrupt(&self) {
        // Under the lock, so that whoever is about to wait has seen the stop or is woken.
        drop(self.holders.lock());
        self.turn_or_stop.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    #[test]
    fn a_turn_is_waited_for_and_given_back() {
        let turns = Turns::new(1);
        let stop = StopToken::new();
        let first = turns.take(&stop).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| turns.take(&stop).is_ok());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(turns.0.holders.lock().is_empty());
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let turns = Turns::new(1);
        let _held = turns.take(&StopToken::new()).unwrap();
        let stop = StopToken::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take(&stop).is_err());
            let _ = stop.wait_timeout(Duration::from_millis(5));
            stop.stop();
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn who_is_held_up_for_too_long_is_not_waited_for() {
        let turns = Turns::new(1);
        let stop = StopToken::new();
        let first = turns.take(&stop).unwrap();
        thread::scope(|scope| {
            let (holding, held) = mpsc::channel();
            let (release, released) = mpsc::channel::<()>();
            let blocked = scope.spawn(move || {
                first.held_up_by(|| {
                    holding.send(()).unwrap();
                    released.recv()
                })
            });
            held.recv().unwrap();
            let second = turns.take(&stop).unwrap();
            drop(release);
            assert!(blocked.join().unwrap().is_err());
            assert_eq!(turns.0.holders.lock().len(), 1);
            drop(second);
        });
    }

    #[test]
    fn being_held_up_adds_up_and_work_does_not_count() {
        let holder = Holder::default();
        let second = PATIENCE.as_nanos() as u64;
        assert!(!holder.is_held_up(10 * second));
        holder.before.store(second / 2, Ordering::Relaxed);
        assert!(!holder.is_held_up(10 * second));
        holder.since.store(10 * second, Ordering::Relaxed);
        assert!(!holder.is_held_up(10 * second + second / 3));
        assert!(holder.is_held_up(10 * second + second / 2));
    }
}
