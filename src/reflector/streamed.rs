//! Lists that arrive as the beginning of a watch.

use std::time::{Duration, Instant};

use super::{
    Opened, Reflector,
    batch::Batch,
    next::{Next, Stage, after_error_event, is_busy, refuses_streaming},
    of_one_object,
};
use crate::{
    client::{GATHER, LONG, ListOptions, ResourceVersionMatch, Turn, Watch, WatchEvent},
    error::{Error, Phase, Result},
    stop::StopToken,
};

/// Streams that end before the list does: after this many, a plain list is asked for.
const ENDED_EARLY: u32 = 2;

/// A list whose beginning takes longer than this would not be there in the minute that servers have for a plain one,
/// be it for the way that it comes or for what is done with it.
const SOON: Duration = Duration::from_secs(1);

/// A plain list that fails after this has failed because it took so long.
const TOO_LONG: Duration = Duration::from_secs(30);

/// How a streamed list went.
enum Streamed<K> {
    /// All objects are there, and the watch goes on.
    Complete(Watch<K>),
    Ended,
    /// What comes are changes, but not the end of the list.
    Endless,
    /// It is long, and had better be plain.
    Long,
}

impl<K: 'static> Reflector<K> {
    /// Asks for a list as a stream; `None` if a plain one is needed.
    pub(super) fn streamed_list(&self, stop: &StopToken) -> Result<Option<Opened<K>>> {
        let wanted = self.options.streamed_lists && self.source.streams_lists();
        let mut ended = 0;
        loop {
            stop.check()?;
            if !wanted || self.had_better_not_stream() || !self.crowd.may_stream() {
                return Ok(None);
            }
            // Held up to the end of the list, after which it is a watch like others, or until it is clear
            // what its failure means for those who wait.
            let turn = self.crowd.list_turn(stop)?;
            if !self.crowd.may_stream() {
                continue;
            }
            let error = match self.stream_once(&turn, stop) {
                Ok(Streamed::Complete(mut watch)) => {
                    watch.set_silence(self.options.watch_silence);
                    watch.end_list();
                    self.crowd.streams();
                    return Ok(Some(Opened::Yes(watch)));
                }
                Ok(Streamed::Endless) => return Ok(self.blame_silence()),
                Ok(Streamed::Long) => {
                    let mut state = self.state.lock();
                    state.long_lists = LongLists::Plain;
                    // Or it might be older than what has just been told.
                    state.version_lost = true;
                    return Ok(None);
                }
                Ok(Streamed::Ended) => {
                    ended += 1;
                    if ended == ENDED_EARLY {
                        self.give_up("the server ended it before its end, twice");
                        return Ok(None);
                    }
                    continue;
                }
                Err(error) => error,
            };
            match turn.held_up_by(|| self.next(Stage::StreamedList, &error)) {
                // Silence where objects should be: the server does not know what was asked of it.
                Next::RewatchLater if is_silence_in(Phase::Body, &error) => {
                    return Ok(self.blame_silence());
                }
                // Not even the head of an answer: something on the way may wait for what comes after it.
                Next::RewatchLater if is_silence_in(Phase::Response, &error) => {
                    self.suspect(Suspicion::Silent);
                    return Ok(None);
                }
                Next::RewatchLater => {
                    let fails = error.status().is_some_and(|status| status.code >= 500);
                    ended += u32::from(fails || is_disconnect(&error));
                    if ended == ENDED_EARLY {
                        return Ok(None);
                    }
                    drop(turn);
                    self.pause(Some(&error), stop)?;
                }
                Next::WithoutVersion => {
                    let mut state = self.state.lock();
                    // Twice means that it is not the version.
                    if std::mem::replace(&mut state.version_lost, true) {
                        return Ok(None);
                    }
                }
                Next::NoStreaming => {
                    self.give_up("the server does not do it");
                    // A resource that cannot be watched says nothing about others.
                    if !error.is_method_not_allowed() {
                        self.suspect(Suspicion::Refuses);
                    }
                    return Ok(None);
                }
                Next::Stop => return Err(error),
                _ => return Ok(None),
            }
        }
    }

    fn had_better_not_stream(&self) -> bool {
        let state = self.state.lock();
        state.no_streaming || state.long_lists == LongLists::Plain
    }

    /// Whether a list that is long had better be plain.
    fn had_better_be_plain(&self, stop: &StopToken) -> bool {
        let unknown = self.state.lock().long_lists == LongLists::Unknown;
        unknown && self.options.page_size.is_none() && self.source.plain_if_long(stop)
    }

    /// A plain list has failed after so long. It may do so again and again: servers end after a minute what is not a
    /// watch, and what is between may not pass on so much. But not if nobody was there or had time.
    pub(super) fn judge_long_list(&self, error: &Error, lasted: Duration) {
        let nobody = matches!(error, Error::Transport(cause) if cause.is_unreachable());
        let mut state = self.state.lock();
        if state.long_lists != LongLists::Plain || nobody || is_busy(error) || error.is_stopped() {
            return;
        }
        state.long_lists = LongLists::Streamed;
        drop(state);
        if lasted >= TOO_LONG {
            self.crowd.plain_takes_too_long();
        }
    }

    fn give_up(&self, why: &str) {
        log::debug!("reflector {}: no more streamed lists: {why}", self.options.name);
        self.state.lock().no_streaming = true;
    }

    fn blame_silence(&self) -> Option<Opened<K>> {
        self.give_up("the server never came to its end");
        self.suspect(Suspicion::Silent);
        None
    }

    /// The server may not stream lists, but then it may be something else.
    fn suspect(&self, suspicion: Suspicion) {
        self.state.lock().suspicion = Some(suspicion);
        self.crowd.does_not_stream();
    }

    /// The plain list after a stream that failed shows what it was.
    pub(super) fn judge_suspicion(&self, listed: &Result<()>) {
        let mut state = self.state.lock();
        let Some(suspicion) = state.suspicion.take() else { return };
        if suspicion.is_refuted_by(listed) {
            state.no_streaming = false;
            drop(state);
            self.crowd.may_stream_after_all();
        }
    }

    fn stream_once(&self, turn: &Turn, stop: &StopToken) -> Result<Streamed<K>> {
        self.progress.listing();
        let version = if self.state.lock().version_lost {
            String::new()
        } else {
            self.progress.resource_version()
        };
        let options = ListOptions {
            send_initial_events: Some(true),
            resource_version_match: Some(ResourceVersionMatch::NotOlderThan),
            resource_version: Some(version.clone()).filter(|version| !version.is_empty()),
            ..self.watch_options(&version, false)
        };
        let started = Instant::now();
        let mut watch = self.heard(self.source.watch(&options, stop))?;
        let mut target = self.target.begin_list();
        let mut batch = Batch::new(&*self.target);
        let mut events = 0;
        let mut first = None;
        let mut wait = Wait::new(self.options.stream_silence);
        while wait.limit_silence(&mut watch) {
            let asked = Instant::now();
            let Some(event) = watch.next() else {
                let lasted = started.elapsed();
                log::debug!("streamed list ended before its end: {events} events in {lasted:?}");
                return Ok(Streamed::Ended);
            };
            stop.check()?;
            batch.before_event(&mut watch);
            let now = Instant::now();
            wait.saw(&event, now.duration_since(asked));
            self.progress.received(now);
            // Transforms and error handlers are not ours.
            let passed_over = |applied: Result<()>| {
                if let Err(error) = applied {
                    self.pass_over(&error);
                }
            };
            match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    turn.held_up_by(|| passed_over(target.item(object)));
                }
                Ok(WatchEvent::Deleted(object)) => {
                    turn.held_up_by(|| passed_over(target.remove(object)));
                }
                Ok(WatchEvent::Bookmark(bookmark)) if bookmark.initial_events_end => {
                    turn.held_up_by(|| self.complete(target, &bookmark.resource_version));
                    return Ok(Streamed::Complete(watch));
                }
                Ok(WatchEvent::Bookmark(_)) => {}
                Ok(WatchEvent::Error(status)) => {
                    let (next, _) = after_error_event(&status, false);
                    log::debug!("streamed list ended: {status} ({next:?})");
                    return Err(Error::Api(status));
                }
                Err(error) if of_one_object(&error).is_some() => {
                    turn.held_up_by(|| passed_over(Err(error)));
                }
                Err(error) => return Err(error),
            }
            events += 1;
            let came_at_once = *first.get_or_insert(now) + SOON > now;
            if events == LONG {
                batch.end();
                if came_at_once && turn.held_up_by(|| self.had_better_be_plain(stop)) {
                    return Ok(Streamed::Long);
                }
                watch.set_gather(GATHER);
            }
        }
        Ok(Streamed::Endless)
    }
}

/// How lists are asked for after one of them was long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LongLists {
    /// There was none yet.
    Unknown,
    Plain,
    /// As others are: a plain one has failed.
    Streamed,
}

/// Why a server may not stream lists.
#[derive(Clone, Copy, Debug)]
pub(super) enum Suspicion {
    /// One that does not know what it was asked for is silent, and so is one that is not there.
    Silent,
    /// It refuses what it does not know, and what is wrong with the rest of the request.
    Refuses,
}

impl Suspicion {
    fn is_refuted_by(self, listed: &Result<()>) -> bool {
        match (self, listed) {
            (_, Ok(())) => false,
            (Self::Silent, Err(_)) => true,
            (Self::Refuses, Err(error)) => refuses_streaming(error),
        }
    }
}

/// How long is waited for the next object of a list. Changes are no objects of it: a server that does
/// not know what it was asked for sends them for ever. Nor is it the server's time that transforms take.
struct Wait {
    limit: Duration,
    waited: Duration,
    limited_to: Duration,
}

impl Wait {
    fn new(limit: Duration) -> Self {
        Self { limit, waited: Duration::ZERO, limited_to: Duration::ZERO }
    }

    /// An event for which so long was waited.
    fn saw<K>(&mut self, event: &Result<WatchEvent<K>>, waited: Duration) {
        let is_object = matches!(event, Ok(WatchEvent::Added(_)));
        self.waited = if is_object { Duration::ZERO } else { self.waited + waited };
    }

    /// Lets the watch be silent for what is left of the time; false if nothing is.
    fn limit_silence<K>(&mut self, watch: &mut Watch<K>) -> bool {
        // Most events are objects of the list, and change nothing here.
        let is_new = self.waited < self.limit / 2;
        let left = if is_new { self.limit } else { self.limit.saturating_sub(self.waited) };
        if left != self.limited_to && !left.is_zero() {
            self.limited_to = left;
            watch.set_silence(left);
        }
        !left.is_zero()
    }
}

fn is_disconnect(error: &Error) -> bool {
    matches!(error, Error::Transport(cause) if cause.is_disconnect())
}

pub(super) fn is_silence_in(phase: Phase, error: &Error) -> bool {
    matches!(error, Error::Transport(cause) if cause.is_timeout() && cause.phase() == phase)
}
