//! What the reflectors of one client have in common, so that many of them do not overrun a server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::turns::{Turn, Turns};
use crate::{
    error::Result,
    stop::{Interrupt, StopToken},
    sync::{Condvar, Mutex, MutexGuard},
};

/// How many lists of reflectors one client has under way.
const LISTS_AT_A_TIME: usize = 4;

/// The reflectors of one client.
///
/// Only so many of them list at a time. While the server cannot be reached they back off together: each
/// attempt counts for all who wait, and whoever is due first makes the next. Nobody waits for a
/// particular one, which may be busy with something else. What one of them has learnt about streamed
/// lists counts for all.
#[derive(Debug)]
pub struct Crowd {
    list_turns: Turns,
    state: Mutex<State>,
    attempt_or_reach_or_stop: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many wait for the server.
    waiting: usize,
    /// How often one of those has tried again.
    attempts: u64,
    /// How often the server was reached while somebody waited for that.
    regained: u64,
    /// Whether the server streams lists, as far as that is known.
    streams: Option<bool>,
    /// Whether long lists had better be plain, as far as that is known.
    plain_if_long: Option<bool>,
}

/// How a wait for a server out of reach ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Waited {
    /// It is this one's turn to try.
    Due,
    /// Another one has reached the server.
    Regained,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            list_turns: Turns::new(LISTS_AT_A_TIME),
            state: Mutex::default(),
            attempt_or_reach_or_stop: Condvar::new(),
        }
    }
}

impl Crowd {
    /// Blocks until it is one's turn to list.
    pub(crate) fn list_turn(&self, stop: &StopToken) -> Result<Turn> {
        self.list_turns.take(stop)
    }

    /// The server has answered, whatever it said.
    pub(crate) fn reached(&self) {
        let mut state = self.state.lock();
        if state.waiting > 0 {
            state.regained += 1;
            self.attempt_or_reach_or_stop.notify_all();
        }
    }

    /// Waits after the server could not be reached, until somebody has reached it or it is time for
    /// another attempt. `delay` gives the pause after each attempt, one's own or another's; it is called
    /// under the lock.
    pub(crate) fn wait_for_server(
        self: &Arc<Self>,
        delay: impl FnMut() -> Duration,
        stop: &StopToken,
    ) -> Result<Waited> {
        let _interruptible = stop.on_stop(self.clone())?;
        let mut state = self.state.lock();
        state.waiting += 1;
        let waited = self.wait(&mut state, delay, stop);
        state.waiting -= 1;
        waited
    }

    fn wait(
        &self,
        state: &mut MutexGuard<'_, State>,
        mut delay: impl FnMut() -> Duration,
        stop: &StopToken,
    ) -> Result<Waited> {
        // None is later than anybody will wait.
        let mut next_due = || Instant::now().checked_add(delay());
        let (mut attempts, regained) = (state.attempts, state.regained);
        let mut due = next_due();
        loop {
            stop.check()?;
            if state.regained != regained {
                return Ok(Waited::Regained);
            }
            if state.attempts != attempts {
                attempts = state.attempts;
                due = next_due();
            }
            match due {
                Some(at) if Instant::now() >= at => {
                    state.attempts += 1;
                    self.attempt_or_reach_or_stop.notify_all();
                    return Ok(Waited::Due);
                }
                Some(at) => {
                    self.attempt_or_reach_or_stop.wait_until(state, at);
                }
                None => self.attempt_or_reach_or_stop.wait(state),
            }
        }
    }

    /// Whether to ask for streamed lists: yes, as long as it is not known that the server has none.
    pub(crate) fn may_stream(&self) -> bool {
        self.state.lock().streams != Some(false)
    }

    /// The server has streamed a list.
    pub(crate) fn streams(&self) {
        self.state.lock().streams = Some(true);
    }

    /// The server does not stream lists, unless it has done so before: then it was about one resource,
    /// of a server behind the server.
    pub(crate) fn does_not_stream(&self) {
        self.state.lock().streams.get_or_insert(false);
    }

    /// It may have been something else.
    pub(crate) fn may_stream_after_all(&self) {
        let mut state = self.state.lock();
        state.streams = state.streams.filter(|&streams| streams);
    }

    /// Whether long lists had better be plain. As long as that is not known, `ask` is called, without a lock and by several
    /// at a time perhaps; without an answer it is not so for now.
    pub(crate) fn plain_if_long(&self, ask: impl FnOnce() -> Option<bool>) -> bool {
        let known = self.state.lock().plain_if_long;
        let answer = known.or_else(ask);
        if known.is_none() && answer.is_some() {
            self.state.lock().plain_if_long = answer;
        }
        answer.unwrap_or(false)
    }

    /// Plain lists take longer than the server has patience.
    pub(crate) fn plain_takes_too_long(&self) {
        self.state.lock().plain_if_long = Some(false);
    }
}

impl Interrupt for Crowd {
    fn interrupt(&self) {
        // Under the lock, so that whoever is about to wait has seen the stop or is woken.
        drop(self.state.lock());
        self.attempt_or_reach_or_stop.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// Ends when the other one waits.
    fn until_waiting(crowd: &Crowd, count: usize) {
        while crowd.state.lock().waiting < count {
            thread::yield_now();
        }
    }

    #[test]
    fn whoever_reaches_the_server_ends_the_wait_of_all() {
        let crowd = Arc::<Crowd>::default();
        let stop = StopToken::new();
        thread::scope(|scope| {
            let wait = || crowd.wait_for_server(|| LONG, &stop);
            let waiting = [scope.spawn(wait), scope.spawn(wait)];
            until_waiting(&crowd, 2);
            crowd.reached();
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap().unwrap(), Waited::Regained);
            }
        });
        assert_eq!(crowd.state.lock().waiting, 0);
    }

    #[test]
    fn an_attempt_counts_for_all_who_wait() {
        let crowd = Arc::<Crowd>::default();
        let stop = StopToken::new();
        let (asked, delays) = mpsc::channel();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let delay = || {
                    asked.send(()).unwrap();
                    LONG
                };
                crowd.wait_for_server(delay, &stop)
            });
            delays.recv().unwrap();
            for _ in 0..3 {
                let waited = crowd.wait_for_server(|| Duration::ZERO, &stop).unwrap();
                assert_eq!(waited, Waited::Due);
                delays.recv().expect("the other one has counted it");
            }
            assert!(delays.try_recv().is_err());
            crowd.reached();
            assert_eq!(waiting.join().unwrap().unwrap(), Waited::Regained);
        });
    }

    /// Its back-off may be long, or its error handler may never return.
    #[test]
    fn nobody_waits_for_one_that_has_tried_or_will_try_later() {
        let crowd = Arc::<Crowd>::default();
        let stop = StopToken::new();
        assert_eq!(crowd.wait_for_server(|| Duration::ZERO, &stop).unwrap(), Waited::Due);
        thread::scope(|scope| {
            let patient = scope.spawn(|| crowd.wait_for_server(|| LONG, &stop));
            until_waiting(&crowd, 1);
            for _ in 0..3 {
                let soon = || Duration::from_millis(1);
                assert_eq!(crowd.wait_for_server(soon, &stop).unwrap(), Waited::Due);
            }
            assert!(!patient.is_finished());
            crowd.reached();
            assert_eq!(patient.join().unwrap().unwrap(), Waited::Regained);
        });
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let crowd = Arc::<Crowd>::default();
        let stop = StopToken::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| crowd.wait_for_server(|| Duration::MAX, &stop).is_err());
            until_waiting(&crowd, 1);
            stop.stop();
            assert!(waiting.join().unwrap());
        });
        assert_eq!(crowd.state.lock().waiting, 0);
    }

    #[test]
    fn what_was_answered_about_long_lists_is_not_asked_again() {
        let crowd = Crowd::default();
        assert!(!crowd.plain_if_long(|| None));
        assert!(crowd.plain_if_long(|| Some(true)));
        assert!(crowd.plain_if_long(|| unreachable!()));
        crowd.plain_takes_too_long();
        assert!(!crowd.plain_if_long(|| unreachable!()));
    }

    #[test]
    fn what_is_known_of_streamed_lists_counts_for_all_and_a_success_counts_most() {
        let crowd = Crowd::default();
        assert!(crowd.may_stream());
        crowd.does_not_stream();
        assert!(!crowd.may_stream());
        crowd.may_stream_after_all();
        assert!(crowd.may_stream());
        crowd.streams();
        crowd.does_not_stream();
        crowd.may_stream_after_all();
        assert!(crowd.may_stream());
    }
}
