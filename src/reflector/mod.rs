//! Mirroring the objects of a source into a queue or a store.

mod audit;
mod backoff;
mod batch;
mod listing;
mod next;
mod pace;
mod patience;
mod progress;
mod source;
mod streamed;
mod target;
mod watching;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use self::{
    audit::Audit,
    backoff::{Delays, Random},
    next::{Next, Report, Stage},
    patience::Patience,
    streamed::{LongLists, Suspicion},
};
pub use self::{
    audit::{ConsistencyError, Inconsistency, check_consistency},
    backoff::Backoff,
    progress::Doing,
    source::{ListWatch, ListerWatcher},
    target::{ListTarget, ReflectorStore},
};
pub(crate) use self::{
    progress::{Activity, Moved, Progress},
    source::Erased,
};
pub(crate) use crate::error::describe;
use crate::{
    cache::{Store, panic_text},
    client::{Crowd, Waited, Watch},
    error::{DecodeError, Error, Result},
    object::Object,
    stop::StopToken,
    sync::{Mutex, thread},
};

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// Watches are not opened again more often than this for want of events: a quiet one would never be anything else
/// than opened.
const LEAST_SILENCE: Duration = Duration::from_secs(1);

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
/// - Lists are not collected before they are handed on: their objects are queued as they arrive, also those of a list
///   that fails before its end. Nothing is deleted by such a list.
/// - A server that does not end a streamed list is given up on after a while, and asked plainly from
///   then on.
/// - A streamed list that turns out long is asked for again as a plain one, whole and of the newest state, from servers
///   that make it in half the time and as little memory: those from 1.33 on, for which they are asked for their version,
///   once for each client. If that fails, unless nobody was there or had time, lists are streamed from then on: servers
///   end what is not a watch after a minute.
/// - A watch that falls silent is opened again: a connection that is dead is noticed.
/// - A watch that cannot be opened because the server is out of order is tried again without listing.
/// - After a watch that failed, and another one on which nothing came, one object is listed, to see whether the
///   server has gone back to an older state.
/// - A watch is not opened again without a pause if it ended within a second and brought nothing new for
///   the third time in a row, nor after an internal error that is put up with.
/// - The reflectors of one client get along: four of them list at a time, streamed or not; while the
///   server cannot be reached they back off together, and an attempt of one counts for all; that a server
///   does not stream lists is found out once.
/// - A watch with a hundred events a second or more is read every 5 to 20 milliseconds, when about ten of
///   them are there: threads are woken for several events at a time.
/// - The resync timer is the controller's.
pub struct Reflector<K> {
    source: Box<dyn ListerWatcher<K>>,
    target: Box<dyn ReflectorStore<Object<K>>>,
    options: Options,
    delays: Delays,
    /// The reflectors of its client.
    crowd: Arc<Crowd>,
    audit: Option<Audit<K>>,
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
    /// The last resource version cannot be had any more, or the next list must be newer.
    version_lost: bool,
    /// The server pages lists from its cache: it has none, and the set is large.
    paginated: bool,
    /// The server does not stream these lists.
    no_streaming: bool,
    /// Or so it seems: the next plain list will show.
    suspicion: Option<Suspicion>,
    long_lists: LongLists,
    /// With internal errors of the server.
    patience: Patience,
    /// The last failure in the log, until something works.
    warned: Option<String>,
    random: Random,
}

/// Makes a [`Reflector`].
#[must_use]
#[doc(alias = "ReflectorOptions")]
pub struct ReflectorBuilder<K> {
    source: Box<dyn ListerWatcher<K>>,
    target: Box<dyn ReflectorStore<Object<K>>>,
    options: Options,
    audit: Option<Audit<K>>,
}

impl<K: 'static> ReflectorBuilder<K> {
    /// What it is called in logs. Defaults to the resource.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// How many objects a page of a list has, whatever the resource version; streams, if there are any, stay streams
    /// however long they are. Defaults to 500 where pages make sense, which is not where the server has a cache.
    #[doc(alias = "WatchListPageSize")]
    pub fn page_size(mut self, size: u32) -> Self {
        self.options.page_size = Some(size).filter(|&size| size > 0);
        self
    }

    /// Whether to ask for lists as streams, if the source can, at least until they turn out long. Defaults to yes.
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

    /// How long a watch may be silent before it is opened again. Defaults to 30 seconds; less than a second counts
    /// as a second.
    pub fn watch_silence(mut self, limit: Duration) -> Self {
        self.options.watch_silence = limit.max(LEAST_SILENCE);
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

    /// Compares `store`, where the objects end up, with a fresh list in this period, and tells the error
    /// handler of a [`ConsistencyError`] if anything differs and stays so. Defaults to never.
    ///
    /// For finding faults: it costs a list each time, and a thread. See [`check_consistency`].
    #[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
    pub fn check_consistency(mut self, period: Duration, store: Store<Object<K>>) -> Self {
        self.audit = (!period.is_zero()).then_some(Audit { period, store });
        self
    }

    /// Is told of every failure to list or to watch, and of objects that cannot be used. Must return
    /// soon; a panic is caught and logged. Defaults to a warning in the log, once for each reason in a row
    /// of failures.
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
            crowd: self.source.crowd().unwrap_or_default(),
            audit: self.audit,
            source: self.source,
            target: self.target,
            progress: Arc::new(Progress::new()),
            state: Mutex::new(State {
                version_lost: false,
                paginated: false,
                no_streaming: false,
                suspicion: None,
                long_lists: LongLists::Unknown,
                patience: Patience::new(self.options.internal_errors),
                warned: None,
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
        ReflectorBuilder { source, target, options, audit: None }
    }

    /// Mirrors until `stop` is stopped.
    ///
    /// # Blocking
    ///
    /// Until then; it returns within about a millisecond of the stop, whatever it is waiting for.
    pub fn run(&self, stop: &StopToken) {
        log::debug!("reflector {}: started", self.options.name);
        match &self.audit {
            None => self.mirror(stop),
            Some(audit) => self.mirror_and_check(audit, stop),
        }
        self.progress.doing(Doing::Stopped);
        log::debug!("reflector {}: stopped", self.options.name);
    }

    /// Where a watch would go on from; empty before the first list.
    #[must_use]
    pub fn last_sync_resource_version(&self) -> String {
        self.progress.resource_version()
    }

    /// # Errors
    ///
    /// If nothing can be asked for.
    pub(crate) fn check(&self) -> Result<()> {
        self.source.check()
    }

    fn mirror(&self, stop: &StopToken) {
        while !stop.is_stopped() {
            let ended = self.list_and_watch(stop).err();
            if ended.as_ref().is_some_and(Error::is_stopped) {
                break;
            }
            // Also after a watch that ended well: lists are never asked for without a pause.
            if self.pause(ended.as_ref(), stop).is_err() {
                break;
            }
        }
    }

    fn mirror_and_check(&self, audit: &Audit<K>, stop: &StopToken) {
        /// Ends the checks with the mirroring, also if that panics.
        struct End(StopToken);
        impl Drop for End {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        thread::scope(|scope| {
            let end = End(stop.child());
            let until = end.0.clone();
            let name = format!("c:{}", self.source.resource().plural());
            let checking =
                thread::spawn_scoped(&name, scope, move || self.check_now_and_then(audit, &until));
            if let Err(error) = checking {
                self.tell(&Error::other(error));
            }
            self.mirror(stop);
        });
    }

    /// Lists, then watches until a list is needed again. Errors have been reported.
    fn list_and_watch(&self, stop: &StopToken) -> Result<()> {
        let watch = match self.streamed_list(stop)? {
            Some(watch) => watch,
            None => {
                let listed = self.list(stop);
                self.judge_suspicion(&listed);
                listed?;
                Opened::Not
            }
        };
        log::debug!("reflector {}: has all objects", self.options.name);
        self.watch(watch, stop)
    }

    fn next(&self, stage: Stage, error: &Error) -> Next {
        let (next, report) = next::what_next(stage, error);
        match report {
            Report::Loud => self.report(error),
            Report::Silent => log::debug!("reflector {}: {error}", self.options.name),
        }
        next
    }

    /// Listing or watching failed.
    fn report(&self, error: &Error) {
        self.progress.failed(error);
        if !self.handle(error) {
            self.log_failure(describe(error));
        }
    }

    /// The same over and over is worth a word once.
    fn log_failure(&self, why: String) {
        let name = &self.options.name;
        // Not under the lock: loggers are not ours.
        let before = self.state.lock().warned.replace(why.clone());
        if before.as_ref() == Some(&why) {
            log::debug!("reflector {name}: again: {why}");
        } else {
            log::warn!("reflector {name}: {why}");
        }
    }

    /// One object cannot be used; the others can.
    fn pass_over(&self, error: &Error) {
        self.progress.passed_over(error);
        self.tell(error);
    }

    fn tell(&self, error: &Error) {
        if !self.handle(error) {
            log::warn!("reflector {}: {}", self.options.name, describe(error));
        }
    }

    /// Tells the error handler, if there is one.
    fn handle(&self, error: &Error) -> bool {
        let Some(handler) = &self.options.on_error else { return false };
        // It may take its time, which what came before must not wait for.
        self.target.more_follows(false);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(error))) {
            let text = panic_text(panic);
            log::error!("reflector {}: the error handler panicked: {text}", self.options.name);
        }
        true
    }

    /// What a request to the server came to: unless it could not be reached, others need not wait.
    fn heard<T>(&self, answer: Result<T>) -> Result<T> {
        match &answer {
            Err(Error::Stopped) => {}
            Err(Error::Transport(cause)) if cause.is_unreachable() => {}
            _ => self.crowd.reached(),
        }
        answer
    }

    /// Waits before another attempt, at least as long as the server asks for.
    fn pause(&self, after: Option<&Error>, stop: &StopToken) -> Result<()> {
        self.progress.doing(Doing::BackingOff);
        if let Some(Error::Transport(cause)) = after
            && cause.is_unreachable()
        {
            let delay = || self.delays.next(Instant::now());
            return match self.crowd.wait_for_server(delay, stop)? {
                Waited::Due => Ok(()),
                // Everybody has waited for this: not all at once.
                Waited::Regained => sleep(self.delays.spread(), stop),
            };
        }
        let asked_for = after.and_then(Error::retry_after).unwrap_or_default();
        sleep(self.delays.next(Instant::now()).max(asked_for), stop)
    }
}

fn sleep(delay: Duration, stop: &StopToken) -> Result<()> {
    if stop.wait_timeout(delay) { Err(Error::Stopped) } else { Ok(()) }
}

/// A watch that a streamed list has left open.
enum Opened<K> {
    Yes(Watch<K>),
    Not,
}

/// The error of one object of a watch. Not so what is no event at all: something may have been lost.
fn of_one_object(error: &Error) -> Option<&DecodeError> {
    match error {
        Error::Decode(error) if error.is_of_one() => Some(error),
        _ => None,
    }
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
