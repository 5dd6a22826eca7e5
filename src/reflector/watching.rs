//! Watches, one after the other.

use std::time::{Duration, Instant};

use super::{
    Doing, Opened, Reflector,
    batch::Batch,
    next::{self, Circling, Next, Report, Session, Stage},
    of_one_object,
    pace::Pace,
    streamed::is_silence_in,
};
use crate::{
    client::{ListOptions, ResourceVersionMatch, Watch, WatchEvent},
    error::{Error, Phase, Result},
    stop::StopToken,
};

/// How long a watch is asked for: a random time from the first to the second, so that the watches of
/// many clients do not end together.
const WATCH: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(600));

/// A watch on which nothing happened is asked for again for this long: shorter than a watch may be
/// silent, so that the bookmark arrives which servers send shortly before the end.
const QUIET_WATCH: Duration = Duration::from_secs(25);

impl<K: 'static> Reflector<K> {
    /// Watches, again and again, until a list is needed.
    pub(super) fn watch(&self, mut opened: Opened<K>, stop: &StopToken) -> Result<()> {
        let mut quiet = false;
        let mut circling = Circling::default();
        let mut doubt = Doubt::default();
        loop {
            stop.check()?;
            let started = Instant::now();
            let mut asked_for = WATCH.1;
            let (watch, trusted) = match std::mem::replace(&mut opened, Opened::Not) {
                Opened::Yes(watch) => (watch, true),
                Opened::Not => {
                    let version = self.progress.resource_version();
                    self.progress.doing(Doing::Connecting);
                    let options = self.watch_options(&version, quiet);
                    asked_for = Duration::from_secs(options.timeout_seconds.unwrap_or(0).into());
                    match self.heard(self.source.watch(&options, stop)) {
                        // Without a version to start from, objects come in any order at first.
                        Ok(watch) => (watch, !matches!(&*version, "" | "0")),
                        Err(error) => {
                            doubt.grows();
                            // Something on the way may pass on the head with what follows, which the end of a
                            // short watch does.
                            quiet |= is_silence_in(Phase::Response, &error);
                            match self.next(Stage::OpenWatch, &error) {
                                Next::RewatchLater => self.pause(Some(&error), stop)?,
                                _ => return Err(error),
                            }
                            continue;
                        }
                    }
                }
            };
            self.progress.watching(Instant::now());
            self.state.lock().warned = None;
            let age = Age { started, most: asked_for.saturating_add(self.options.watch_silence) };
            let ended = self.read(watch, trusted, age, stop)?;
            if doubt.is_due(&ended) && self.is_ahead_of_the_server(stop)? {
                log::warn!(
                    "reflector {}: the server went back to an older state",
                    self.options.name
                );
                self.state.lock().version_lost = true;
                return Ok(());
            }
            let circles = circling.goes_on(ended.session);
            match ended.next {
                Next::Rewatch if circles => self.pause(ended.error.as_ref(), stop)?,
                Next::Rewatch => quiet = quiet && ended.session.events == 0,
                Next::RewatchQuiet => quiet = true,
                Next::RewatchLater => self.pause(ended.error.as_ref(), stop)?,
                _ => return ended.error.map_or(Ok(()), Err),
            }
        }
    }

    /// Whether the server has not come to the version that is watched from, as after a restore from a
    /// backup: it says nothing on such a watch until it gets there.
    fn is_ahead_of_the_server(&self, stop: &StopToken) -> Result<bool> {
        let options = ListOptions {
            resource_version: Some(self.progress.resource_version()),
            resource_version_match: Some(ResourceVersionMatch::NotOlderThan),
            limit: Some(1),
            ..ListOptions::new()
        };
        let _turn = self.crowd.list_turn(stop)?;
        match self.heard(self.source.list(&options, stop, &mut |_| ())) {
            Err(Error::Stopped) => Err(Error::Stopped),
            // Other failures show when the watch is opened again.
            answer => Ok(answer.is_err_and(|error| error.is_too_large_resource_version())),
        }
    }

    /// Reads a watch to its end; says what to do then.
    fn read(
        &self,
        mut watch: Watch<K>,
        mut trusted: bool,
        age: Age,
        stop: &StopToken,
    ) -> Result<Ended> {
        let mut batch = Batch::new(&*self.target);
        let mut pace = Pace::new(age.started);
        let mut events = 0;
        let from = self.progress.resource_version();
        let session = |events| Session {
            lasted: age.started.elapsed(),
            events,
            stood_still: self.progress.resource_version() == from,
        };
        while let Some(event) = watch.next() {
            // A stop goes before what is left to be read.
            stop.check()?;
            batch.before_event(&mut watch);
            let now = Instant::now();
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    if let Some(unusable) = of_one_object(&error) {
                        // What comes after it can be had without it.
                        self.seen(now, unusable.resource_version().filter(|_| trusted));
                        self.pass_over(&error);
                        events += 1;
                        continue;
                    }
                    let session = session(events);
                    let next = self.next(Stage::Watch(session), &error);
                    return Ok(Ended { next, session, error: Some(error) });
                }
            };
            if let WatchEvent::Error(status) = &event {
                let (next, report) = next::after_error_event(status, self.retries_internal(status));
                let error = Error::Api(status.clone());
                match report {
                    Report::Loud => self.report(&error),
                    Report::Silent => {
                        log::debug!("reflector {}: watch ended: {error}", self.options.name);
                    }
                }
                return Ok(Ended { next, session: session(events), error: Some(error) });
            }
            trusted |= !matches!(event, WatchEvent::Added(_));
            self.apply(event, trusted, now);
            events += 1;
            if now.duration_since(age.started) > age.most {
                log::debug!("reflector {}: the server does not end the watch", self.options.name);
                break;
            }
            watch.set_gather(pace.gather(now));
        }
        let session = session(events);
        Ok(Ended { next: next::after_close(session), session, error: None })
    }

    fn apply(&self, event: WatchEvent<K>, trusted: bool, now: Instant) {
        let (object, applied) = match event {
            WatchEvent::Added(object) => (object.clone(), self.target.add(object)),
            WatchEvent::Modified(object) => (object.clone(), self.target.update(object)),
            WatchEvent::Deleted(object) => (object.clone(), self.target.delete(object)),
            WatchEvent::Bookmark(bookmark) => {
                self.target.bookmark(&bookmark.resource_version);
                return self.seen(now, Some(&*bookmark.resource_version).filter(|_| trusted));
            }
            WatchEvent::Error(_) => return,
        };
        if let Err(error) = applied {
            self.pass_over(&error);
        }
        // A watch from no version misses what was deleted meanwhile.
        self.seen(now, Some(object.resource_version()).filter(|_| trusted));
    }

    /// Something arrived, after which a watch would go on from this version.
    fn seen(&self, now: Instant, version: Option<&str>) {
        self.progress.event(now, version.filter(|version| !version.is_empty()));
    }

    pub(super) fn watch_options(&self, version: &str, quiet: bool) -> ListOptions {
        let seconds = if quiet {
            QUIET_WATCH.min(self.options.watch_silence.mul_f64(0.8)).as_secs().max(1)
        } else {
            let (least, most) = WATCH;
            let extra = (most - least).mul_f64(self.state.lock().random.fraction());
            (least + extra).as_secs()
        };
        ListOptions {
            resource_version: Some(version.to_owned()),
            timeout_seconds: u32::try_from(seconds).ok(),
            silence: Some(self.options.watch_silence),
            ..ListOptions::new()
        }
    }

    fn retries_internal(&self, status: &crate::Status) -> bool {
        status.is(crate::Reason::InternalError) && self.state.lock().patience.lasts(Instant::now())
    }
}

/// How old a watch is, and may become. Servers end watches when they were asked to; one that does not may
/// be something else that keeps the connection alive.
#[derive(Clone, Copy)]
struct Age {
    started: Instant,
    most: Duration,
}

/// Whether the server was away, and has said nothing new since: it may have come back as it was before.
#[derive(Default)]
struct Doubt(bool);

impl Doubt {
    fn grows(&mut self) {
        self.0 = true;
    }

    /// Whether to ask about it now: a watch since then has ended in peace, and brought nothing new.
    fn is_due(&mut self, ended: &Ended) -> bool {
        let failed = ended.error.is_some();
        std::mem::replace(&mut self.0, failed) && !failed && ended.session.stood_still
    }
}

/// How a watch ended.
struct Ended {
    next: Next,
    session: Session,
    error: Option<Error>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stood_still: bool, failed: bool) -> Ended {
        // A bookmark at the version that was asked for is no news.
        let session = Session { lasted: Duration::from_secs(9), events: 1, stood_still };
        let error = failed.then(|| Error::other("cut off"));
        Ended { next: Next::Rewatch, session, error }
    }

    #[test]
    fn a_server_that_was_away_is_doubted_until_it_says_something_new() {
        let mut doubt = Doubt::default();
        assert!(!doubt.is_due(&ended(true, false)), "it was never away");
        doubt.grows();
        assert!(doubt.is_due(&ended(true, false)));
        assert!(!doubt.is_due(&ended(true, false)), "once is enough");
        assert!(!doubt.is_due(&ended(true, true)), "it failed just now");
        assert!(doubt.is_due(&ended(true, false)));
        doubt.grows();
        assert!(!doubt.is_due(&ended(false, false)), "it has said something new");
        assert!(!doubt.is_due(&ended(true, false)));
    }
}
