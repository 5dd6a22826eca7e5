//! Watches, one after the other.

use std::time::{Duration, Instant};

use super::{
    Doing, Opened, Reflector,
    next::{self, Next, Report, Session, Stage},
    of_one_object,
};
use crate::{
    client::{ListOptions, Watch, WatchEvent},
    error::{Error, Result},
    object::Object,
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
            let age = Age { started, most: asked_for.saturating_add(self.options.watch_silence) };
            let ended = self.read(watch, trusted, age, stop)?;
            match ended.next {
                Next::Rewatch => quiet = quiet && ended.session.events == 0,
                Next::RewatchQuiet => quiet = true,
                Next::RewatchLater => self.pause(ended.error.as_ref(), stop)?,
                _ => return ended.error.map_or(Ok(()), Err),
            }
        }
    }

    /// Reads a watch to its end; says what to do then.
    fn read(&self, watch: Watch<K>, trusted: bool, age: Age, stop: &StopToken) -> Result<Ended> {
        let mut trusted = trusted;
        let mut events = 0;
        let session = |events| Session { lasted: age.started.elapsed(), events };
        for event in watch {
            // A stop goes before what is left to be read.
            stop.check()?;
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    if let Some(unusable) = of_one_object(&error) {
                        // What comes after it can be had without it.
                        self.seen(unusable.resource_version().filter(|_| trusted));
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
            self.apply(event, trusted);
            events += 1;
            if age.started.elapsed() > age.most {
                log::debug!("reflector {}: the server does not end the watch", self.options.name);
                break;
            }
        }
        let session = session(events);
        Ok(Ended { next: next::after_close(session), session, error: None })
    }

    fn apply(&self, event: WatchEvent<K>, trusted: bool) {
        let version = |object: &Object<K>| object.resource_version().to_owned();
        let (version, applied) = match event {
            WatchEvent::Added(object) => (version(&object), self.target.add(object)),
            WatchEvent::Modified(object) => (version(&object), self.target.update(object)),
            WatchEvent::Deleted(object) => (version(&object), self.target.delete(object)),
            WatchEvent::Bookmark(bookmark) => {
                self.target.bookmark(&bookmark.resource_version);
                (bookmark.resource_version, Ok(()))
            }
            WatchEvent::Error(_) => return,
        };
        if let Err(error) = applied {
            self.pass_over(&error);
        }
        // A watch from no version misses what was deleted meanwhile.
        self.seen(Some(&*version).filter(|_| trusted));
    }

    /// Something arrived, after which a watch would go on from this version.
    fn seen(&self, version: Option<&str>) {
        self.progress.event(Instant::now(), version.filter(|version| !version.is_empty()));
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

/// How a watch ended.
struct Ended {
    next: Next,
    session: Session,
    error: Option<Error>,
}
