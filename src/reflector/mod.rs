//! Mirroring the objects of a source into a queue or a store.

mod audit;
mod backoff;
mod next;
mod patience;
mod progress;
mod source;
mod streamed;
mod target;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

pub use self::{
    audit::{Inconsistency, check_consistency},
    backoff::Backoff,
    progress::Doing,
    source::{ListWatch, ListerWatcher},
    target::{ListTarget, ReflectorStore},
};
use self::{
    backoff::{Delays, Random},
    next::{Next, Report, Session, Stage},
    patience::Patience,
};
pub(crate) use self::{
    progress::{Activity, Progress, describe},
    source::Erased,
};
use crate::{
    client::{ListMeta, ListOptions, Watch, WatchEvent},
    error::{Error, Result},
    object::Object,
    stop::StopToken,
    sync::Mutex,
};

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// How long a watch is asked for: a random time from the first to the second, so that the watches of
/// many clients do not end together.
const WATCH: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(600));

/// A watch on which nothing happened is asked for again for this long: shorter than a watch may be
/// silent, so that the bookmark arrives which servers send shortly before the end.
const QUIET_WATCH: Duration = Duration::from_secs(25);

/// A function that is told of errors.
pub(crate) type ErrorHandler = Arc<dyn Fn(&Error) + Send + Sync>;

/// Keeps a queue or a store up to date with the objects of a source: lists, then watches, and lists
/// again when a watch cannot go on.
///
/// This is the lowest floor of an informer, for those who want to build their own.
///
/// ```no_run
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListWatch, Object, Reflector, StopToken, cache::DeltaFifo};
///
/// let client = Client::try_default()?;
/// let fifo = Arc::new(DeltaFifo::new(|pod: &Object<Pod>| pod.key().clone()));
/// let reflector = Reflector::new(ListWatch::<Pod>::from_client(&client, None), fifo.clone());
/// let stop = StopToken::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| reflector.run(&stop));
///     while let Some(popped) = fifo.pop() {
///         println!("{} {:?}", popped.key, popped.deltas);
///     }
/// });
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Differences from client-go
///
/// - Lists are not collected before they are handed on: their objects are queued as they arrive.
/// - A server that does not end a streamed list is given up on after a while, and asked plainly from
///   then on.
/// - A watch that falls silent is opened again: a connection that is dead is noticed.
/// - A watch that cannot be opened because the server is out of order is tried again without listing.
/// - The resync timer is the controller's.
pub struct Reflector<K> {
    source: Box<dyn ListerWatcher<K>>,
    target: Box<dyn ReflectorStore<Object<K>>>,
    options: Options,
    delays: Delays,
    pub(crate) progress: Arc<Progress>,
    state: Mutex<State>,
}

struct Options {
    name: String,
    page_size: Option<u32>,
    streamed_lists: bool,
    /// How long a streamed list may be silent before it is given up on.
    stream_silence: Duration,
    watch_silence: Duration,
    on_error: Option<ErrorHandler>,
    backoff: Backoff,
    internal_errors: Duration,
}

#[derive(Debug)]
struct State {
    /// The last resource version cannot be had any more.
    version_lost: bool,
    /// The server pages lists from its cache: it has none, and the set is large.
    paginated: bool,
    /// The server does not stream lists.
    no_streaming: bool,
    /// With internal errors of the server.
    patience: Patience,
    random: Random,
}

/// Makes a [`Reflector`].
#[must_use]
pub struct ReflectorBuilder<K> {
    source: Box<dyn ListerWatcher<K>>,
    target: Box<dyn ReflectorStore<Object<K>>>,
    options: Options,
}

impl<K: 'static> ReflectorBuilder<K> {
    /// What it is called in logs. Defaults to the resource.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// How many objects a page of a list has, whatever the resource version. Defaults to 500 where
    /// pages make sense.
    #[doc(alias = "WatchListPageSize")]
    pub fn page_size(mut self, size: u32) -> Self {
        self.options.page_size = Some(size).filter(|&size| size > 0);
        self
    }

    /// Whether to ask for lists as streams, if the source can. Defaults to yes.
    #[doc(alias = "WatchListClient")]
    pub fn streamed_lists(mut self, wanted: bool) -> Self {
        self.options.streamed_lists = wanted;
        self
    }

    /// How long a streamed list may be silent before a plain one is asked for. Defaults to 10 seconds.
    pub fn stream_silence(mut self, limit: Duration) -> Self {
        self.options.stream_silence = limit;
        self
    }

    /// How long a watch may be silent before it is opened again. Defaults to 30 seconds.
    pub fn watch_silence(mut self, limit: Duration) -> Self {
        self.options.watch_silence = limit;
        self
    }

    /// How pauses between failed attempts grow.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.backoff = backoff;
        self
    }

    /// For how long internal errors of a watch are answered by watching again, rather than by listing.
    /// Defaults to not at all.
    #[doc(alias = "MaxInternalErrorRetryDuration")]
    pub fn retry_internal_errors(mut self, limit: Duration) -> Self {
        self.options.internal_errors = limit;
        self
    }

    /// Is told of every failure to list or to watch, and of objects that cannot be used. Must return
    /// soon. Defaults to a warning in the log.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn on_error(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.options.on_error = Some(Arc::new(handler));
        self
    }

    pub(crate) fn resource(&self) -> &str {
        self.source.resource().plural()
    }

    pub(crate) fn shared_on_error(mut self, handler: Option<ErrorHandler>) -> Self {
        self.options.on_error = handler;
        self
    }

    /// Makes the reflector.
    pub fn build(self) -> Reflector<K> {
        let now = Instant::now();
        Reflector {
            delays: Delays::new(self.options.backoff, now),
            source: self.source,
            target: self.target,
            progress: Arc::new(Progress::new()),
            state: Mutex::new(State {
                version_lost: false,
                paginated: false,
                no_streaming: false,
                patience: Patience::new(self.options.internal_errors),
                random: Random::new(),
            }),
            options: self.options,
        }
    }
}

impl<K: 'static> Reflector<K> {
    /// Mirrors `source` into `target`.
    #[doc(alias = "NewReflector")]
    pub fn new(source: impl ListerWatcher<K>, target: impl ReflectorStore<Object<K>>) -> Self {
        Self::builder(source, target).build()
    }

    /// Mirrors `source` into `target`, with more to say about it.
    pub fn builder(
        source: impl ListerWatcher<K>,
        target: impl ReflectorStore<Object<K>>,
    ) -> ReflectorBuilder<K> {
        Self::boxed(Box::new(source), Box::new(target))
    }

    pub(crate) fn boxed(
        source: Box<dyn ListerWatcher<K>>,
        target: Box<dyn ReflectorStore<Object<K>>>,
    ) -> ReflectorBuilder<K> {
        let options = Options {
            name: source.resource().to_string(),
            page_size: None,
            streamed_lists: true,
            stream_silence: Duration::from_secs(10),
            watch_silence: Duration::from_secs(30),
            on_error: None,
            backoff: Backoff::default(),
            internal_errors: Duration::ZERO,
        };
        ReflectorBuilder { source, target, options }
    }

    /// Mirrors until `stop` is stopped.
    ///
    /// # Blocking
    ///
    /// Until then; it returns within about a millisecond of the stop, whatever it is waiting for.
    pub fn run(&self, stop: &StopToken) {
        log::debug!("reflector {}: started", self.options.name);
        while !stop.is_stopped() {
            let ended = self.list_and_watch(stop);
            let mut at_least = None;
            if let Err(error) = &ended {
                if error.is_stopped() {
                    break;
                }
                at_least = error.retry_after();
            }
            // Also after a watch that ended well: lists are never asked for without a pause.
            if self.pause(at_least, stop).is_err() {
                break;
            }
        }
        self.progress.doing(Doing::Stopped);
        log::debug!("reflector {}: stopped", self.options.name);
    }

    /// Where a watch would go on from; empty before the first list.
    #[must_use]
    pub fn last_sync_resource_version(&self) -> String {
        self.progress.resource_version()
    }

    /// Lists, then watches until a list is needed again. Errors have been reported.
    fn list_and_watch(&self, stop: &StopToken) -> Result<()> {
        let watch = match self.streamed_list(stop)? {
            Some(watch) => watch,
            None => {
                self.list(stop)?;
                Opened::Not
            }
        };
        log::debug!("reflector {}: has all objects", self.options.name);
        self.watch(watch, stop)
    }

    fn list(&self, stop: &StopToken) -> Result<()> {
        self.progress.listing();
        let version = self.list_version();
        let limit = self.page_limit(&version);
        let Err(error) = self.list_from(&version, limit, stop) else { return Ok(()) };
        if self.next(Stage::List, &error) != Next::WithoutVersion {
            return Err(error);
        }
        self.state.lock().version_lost = true;
        self.list_from("", limit, stop).inspect_err(|error| {
            if !error.is_stopped() {
                self.report(error);
            }
        })
    }

    /// Lists all pages into the target.
    fn list_from(&self, version: &str, limit: Option<u32>, stop: &StopToken) -> Result<()> {
        let first = ListOptions {
            resource_version: Some(version.to_owned()).filter(|version| !version.is_empty()),
            limit,
            ..ListOptions::new()
        };
        let mut options = first.clone();
        let mut target = self.target.begin_list();
        let mut first_version = None;
        let mut pages = 0;
        loop {
            let page = self.list_page(&options, &mut *target, stop);
            let ListMeta { resource_version, continue_token, remaining_item_count } = match page {
                // The rest of the list is not to be had any more: take all of it at once.
                Err(error) if pages > 0 && error.is_expired() && options.limit.is_some() => {
                    log::debug!("reflector {}: list expired: {error}", self.options.name);
                    options = ListOptions { limit: None, ..first.clone() };
                    target = self.target.begin_list();
                    first_version = None;
                    self.progress.listing();
                    continue;
                }
                page => page?,
            };
            let first_version = first_version.get_or_insert(resource_version);
            if continue_token.is_empty() {
                if pages > 0 && version == "0" {
                    self.state.lock().paginated = true;
                }
                self.complete(target, first_version);
                return Ok(());
            }
            pages += 1;
            self.progress.remaining(remaining_item_count);
            // A token has its state in it, and servers refuse to be told twice.
            options.resource_version = None;
            options.continue_token = Some(continue_token);
        }
    }

    fn list_page(
        &self,
        options: &ListOptions,
        target: &mut (dyn ListTarget<Object<K>> + '_),
        stop: &StopToken,
    ) -> Result<ListMeta> {
        self.source.list(options, stop, &mut |object| {
            self.progress.received();
            if let Err(error) = object.and_then(|object| target.item(object)) {
                self.report(&error);
            }
        })
    }

    /// The whole list is there: only now does it count.
    fn complete(&self, target: Box<dyn ListTarget<Object<K>> + '_>, resource_version: &str) {
        target.finish(resource_version);
        self.progress.listed(resource_version);
        self.state.lock().version_lost = false;
    }

    /// Watches, again and again, until a list is needed.
    fn watch(&self, mut opened: Opened<K>, stop: &StopToken) -> Result<()> {
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
                    match self.source.watch(&options, stop) {
                        // Without a version to start from, objects come in any order at first.
                        Ok(watch) => (watch, !matches!(&*version, "" | "0")),
                        Err(error) => {
                            match self.next(Stage::OpenWatch, &error) {
                                Next::RewatchLater => self.pause(error.retry_after(), stop)?,
                                _ => return Err(error),
                            }
                            continue;
                        }
                    }
                }
            };
            self.progress.watching(Instant::now());
            let age = Age { started, most: asked_for + self.options.watch_silence };
            let ended = self.read(watch, trusted, age, stop)?;
            match ended.next {
                Next::Rewatch => quiet = quiet && ended.session.events == 0,
                Next::RewatchQuiet => quiet = true,
                Next::RewatchLater => {
                    self.pause(ended.error.and_then(|error| error.retry_after()), stop)?;
                }
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
                Err(error @ Error::Decode(_)) if is_of_one_object(&error) => {
                    self.report(&error);
                    events += 1;
                    continue;
                }
                Err(error) => {
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
        let now = Instant::now();
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
            self.report(&error);
        }
        // A watch from no version misses what was deleted meanwhile.
        let known = trusted && !version.is_empty();
        self.progress.event(now, known.then_some(&*version));
    }

    fn watch_options(&self, version: &str, quiet: bool) -> ListOptions {
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

    fn list_version(&self) -> String {
        if self.state.lock().version_lost {
            return String::new();
        }
        match self.progress.resource_version() {
            version if version.is_empty() => "0".to_owned(),
            version => version,
        }
    }

    /// With a limit, a list from a version means that very version; without, that one or a newer.
    fn page_limit(&self, version: &str) -> Option<u32> {
        let paginated = self.state.lock().paginated;
        match self.options.page_size {
            Some(size) => Some(size),
            None if paginated || matches!(version, "" | "0") => Some(PAGE),
            None => None,
        }
    }

    fn retries_internal(&self, status: &crate::Status) -> bool {
        status.is(crate::Reason::InternalError) && self.state.lock().patience.lasts(Instant::now())
    }

    fn next(&self, stage: Stage, error: &Error) -> Next {
        let (next, report) = next::what_next(stage, error);
        match report {
            Report::Loud => self.report(error),
            Report::Silent => log::debug!("reflector {}: {error}", self.options.name),
        }
        next
    }

    fn report(&self, error: &Error) {
        self.progress.failed(error);
        match &self.options.on_error {
            Some(handler) => handler(error),
            None => log::warn!("reflector {}: {}", self.options.name, describe(error)),
        }
    }

    /// Waits before another attempt, at least as long as the server asks for.
    fn pause(&self, at_least: Option<Duration>, stop: &StopToken) -> Result<()> {
        self.progress.doing(Doing::BackingOff);
        let delay = self.delays.next(Instant::now()).max(at_least.unwrap_or_default());
        if stop.wait_timeout(delay) { Err(Error::Stopped) } else { Ok(()) }
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

/// A watch that a streamed list has left open.
enum Opened<K> {
    Yes(Watch<K>),
    Not,
}

/// Whether an error is about one object of a watch. Not so what is no event at all: something may have
/// been lost.
fn is_of_one_object(error: &Error) -> bool {
    matches!(error, Error::Decode(error) if !error.what().starts_with("a watch "))
}

impl<K> fmt::Debug for Reflector<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector").field("name", &self.options.name).finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for ReflectorBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorBuilder").field("name", &self.options.name).finish_non_exhaustive()
    }
}
