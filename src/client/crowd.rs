//! What the reflectors of one client have in common, so that many of them do not overrun a server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::turns::{Turn, Turns};
use crate::{
    error::Result,
    stop::{Interrupt, StopToken},
    sync::{Condvar, Mutex},
};

/// How many lists of reflectors one client has under way.
const LISTS_AT_A_TIME: usize = 4;

/// The reflectors of one client.
///
/// Only so many of them list at a time. While the server cannot be reached, one of them tries again and
/// the others wait for what comes of it. What one of them has learnt about streamed lists counts for all.
#[derive(Debug)]
pub struct Crowd {
    list_turns: Turns,
    state: Mutex<State>,
    reach_or_stop: Condvar,
}

#[derive(Debug)]
struct State {
    members: u64,
    reach: Reach,
    /// Whether the server streams lists, as far as that is known.
    streams: Option<bool>,
}

#[derive(Debug)]
enum Reach {
    Fine,
    /// The server cannot be reached; one goes ahead and tries.
    Lost {
        scout: Option<u64>,
    },
}

/// One reflector among those of its client.
#[derive(Debug)]
pub(crate) struct Member {
    crowd: Arc<Crowd>,
    id: u64,
}

/// Keeps a member from being waited for when it is gone.
pub(crate) struct Present<'a>(&'a Member);

/// How a wait for a server out of reach ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Waited {
    /// It is this one's turn to try.
    Scout,
    /// Another one has reached the server.
    Regained,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            list_turns: Turns::new(LISTS_AT_A_TIME),
            state: Mutex::new(State { members: 0, reach: Reach::Fine, streams: None }),
            reach_or_stop: Condvar::new(),
        }
    }
}

impl Crowd {
    pub(crate) fn join(self: Arc<Self>) -> Member {
        let id = {
            let mut state = self.state.lock();
            state.members += 1;
            state.members
        };
        Member { crowd: self, id }
    }

    /// Blocks until it is one's turn to list.
    pub(crate) fn list_turn(&self, stop: &StopToken) -> Result<Turn> {
        self.list_turns.take(stop)
    }
}

impl Member {
    /// To be kept while the reflector runs.
    pub(crate) fn present(&self) -> Present<'_> {
        Present(self)
    }

    /// Blocks until it is one's turn to list.
    pub(crate) fn list_turn(&self, stop: &StopToken) -> Result<Turn> {
        self.crowd.list_turn(stop)
    }

    /// The server has answered, whatever it said.
    pub(crate) fn reached(&self) {
        let mut state = self.crowd.state.lock();
        if matches!(state.reach, Reach::Lost { .. }) {
            state.reach = Reach::Fine;
            self.crowd.reach_or_stop.notify_all();
        }
    }

    /// Waits after the server could not be reached: for `delay` if nobody else is about to try, else
    /// until somebody has reached it.
    pub(crate) fn wait_for_server(&self, delay: Duration, stop: &StopToken) -> Result<Waited> {
        let crowd = &self.crowd;
        let _interruptible = stop.on_stop(crowd.clone())?;
        // None is later than anybody will wait.
        let mut tries_at = Instant::now().checked_add(delay);
        let mut state = crowd.state.lock();
        if matches!(state.reach, Reach::Fine) {
            state.reach = Reach::Lost { scout: Some(self.id) };
        }
        loop {
            stop.check()?;
            match &mut state.reach {
                Reach::Fine => return Ok(Waited::Regained),
                Reach::Lost { scout } if scout.is_none() => {
                    *scout = Some(self.id);
                    tries_at = Instant::now().checked_add(delay);
                }
                Reach::Lost { scout } if *scout == Some(self.id) => match tries_at {
                    Some(at) if Instant::now() >= at => return Ok(Waited::Scout),
                    Some(at) => {
                        crowd.reach_or_stop.wait_until(&mut state, at);
                    }
                    None => crowd.reach_or_stop.wait(&mut state),
                },
                Reach::Lost { .. } => crowd.reach_or_stop.wait(&mut state),
            }
        }
    }

    /// Whether to ask for streamed lists: yes, as long as it is not known that the server has none.
    pub(crate) fn may_stream(&self) -> bool {
        self.crowd.state.lock().streams != Some(false)
    }

    /// The server has streamed a list.
    pub(crate) fn streams(&self) {
        self.crowd.state.lock().streams = Some(true);
    }

    /// The server does not stream lists, unless it has done so before: then it was about one resource,
    /// of a server behind the server.
    pub(crate) fn does_not_stream(&self) {
        self.crowd.state.lock().streams.get_or_insert(false);
    }

    /// It may have been something else.
    pub(crate) fn may_stream_after_all(&self) {
        let mut state = self.crowd.state.lock();
        state.streams = state.streams.filter(|&streams| streams);
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let Member { crowd, id } = self.0;
        let mut state = crowd.state.lock();
        if let Reach::Lost { scout } = &mut state.reach
            && *scout == Some(*id)
        {
            *scout = None;
            crowd.reach_or_stop.notify_all();
        }
    }
}

impl Interrupt for Crowd {
    fn interrupt(&self) {
        // Under the lock, so that whoever is about to wait has seen the stop or is woken.
        drop(self.state.lock());
        self.reach_or_stop.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn members() -> (Member, Member) {
        let crowd = Arc::new(Crowd::default());
        (crowd.clone().join(), crowd.join())
    }

    #[test]
    fn one_tries_again_and_the_others_wait_for_it() {
        let (scout, other) = members();
        let stop = StopToken::new();
        let waited = scout.wait_for_server(Duration::ZERO, &stop).unwrap();
        assert_eq!(waited, Waited::Scout);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| other.wait_for_server(LONG, &stop));
            for _ in 0..3 {
                assert_eq!(scout.wait_for_server(Duration::ZERO, &stop).unwrap(), Waited::Scout);
            }
            // Again, if the other one had not begun to wait.
            while !waiting.is_finished() {
                scout.reached();
                thread::yield_now();
            }
            assert_eq!(waiting.join().unwrap().unwrap(), Waited::Regained);
        });
    }

    #[test]
    fn whoever_reaches_the_server_ends_the_wait_of_all() {
        let (scout, other) = members();
        let stop = StopToken::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| scout.wait_for_server(LONG, &stop));
            while matches!(other.crowd.state.lock().reach, Reach::Fine) {
                thread::yield_now();
            }
            other.reached();
            assert_eq!(waiting.join().unwrap().unwrap(), Waited::Regained);
        });
    }

    #[test]
    fn another_one_goes_ahead_when_the_first_is_gone() {
        let (scout, other) = members();
        let stop = StopToken::new();
        {
            let _present = scout.present();
            scout.wait_for_server(Duration::ZERO, &stop).unwrap();
        }
        let waited = other.wait_for_server(Duration::ZERO, &stop).unwrap();
        assert_eq!(waited, Waited::Scout);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let (scout, other) = members();
        let stop = StopToken::new();
        scout.wait_for_server(Duration::ZERO, &stop).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| other.wait_for_server(LONG, &stop).is_err());
            stop.stop();
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn what_is_known_of_streamed_lists_counts_for_all_and_a_success_counts_most() {
        let (one, other) = members();
        assert!(one.may_stream());
        one.does_not_stream();
        assert!(!other.may_stream());
        other.may_stream_after_all();
        assert!(one.may_stream());
        other.streams();
        one.does_not_stream();
        one.may_stream_after_all();
        assert!(other.may_stream());
    }
}
