//! Doing only so many things at a time.

use std::sync::Arc;

use crate::{
    error::Result,
    stop::{Interrupt, StopToken},
    sync::{Condvar, Mutex},
};

/// A number of turns to be taken and given back.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Mutex<usize>,
    turn_or_stop: Condvar,
}

/// A turn, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Shared>);

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Shared { free: Mutex::new(count), turn_or_stop: Condvar::new() }))
    }

    /// Blocks until it is one's turn, or fails when `stop` is stopped.
    pub(super) fn take(&self, stop: &StopToken) -> Result<Turn> {
        let interruptible = stop.on_stop(self.0.clone())?;
        let mut free = self.0.free.lock();
        while *free == 0 {
            stop.check()?;
            self.0.turn_or_stop.wait(&mut free);
        }
        *free -= 1;
        drop(free);
        drop(interruptible);
        Ok(Turn(self.0.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.turn_or_stop.notify_one();
    }
}

impl Interrupt for Shared {
    fn interrupt(&self) {
        // Under the lock, so that whoever is about to wait has seen the stop or is woken.
        drop(self.free.lock());
        self.turn_or_stop.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

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
        assert_eq!(*turns.0.free.lock(), 1);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let turns = Turns::new(0);
        let stop = StopToken::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take(&stop).is_err());
            let _ = stop.wait_timeout(Duration::from_millis(5));
            stop.stop();
            assert!(waiting.join().unwrap());
        });
    }
}
