//! The engine of an informer: a reflector that fills a queue, and a loop that empties it.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{feed::Feed, role::Role};
use crate::{
    cache::{DeltaFifo, Pop, Popped},
    error::{Error, Result},
    object::Object,
    reflector::{Activity, Backoff, ListerWatcher, Reflector, ReflectorBuilder, describe},
    stop::{Interrupt, StopToken},
    sync::{
        Mutex,
        thread::{self, JoinHandle},
    },
};

/// How many are processed before those hear of it who wait, although there is more to process: waking a
/// thread costs more than what it is woken for.
const BATCH: usize = 32;

/// How long the first of them may wait for the others: what is done with each may be the user's, and slow.
const LATE: Duration = Duration::from_millis(1);

/// How long to let the objects of a list gather, whose handlers had all that came before: nobody waits for
/// one of them, but for the last.
const GATHER: Duration = Duration::from_millis(2);

type Process<K> = Box<dyn FnMut(Popped<Object<K>>) -> Result<()> + Send>;

/// Lists and watches a source into a queue, and applies what is in the queue.
///
/// The parts of an informer, put together by yourself. [`SharedInformer`](super::SharedInformer) and
/// [`Informer`](super::Informer) are made of it.
///
/// ```no_run
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, Controller, ListWatch, Object, StopToken, cache::DeltaFifo};
///
/// let client = Client::try_default()?;
/// let queue = Arc::new(DeltaFifo::new(|pod: &Object<Pod>| pod.key().clone()));
/// let source = ListWatch::<Pod>::from_client(&client, None);
/// let controller = Controller::builder(source, queue, |popped| {
///     println!("{}: {} changes", popped.key, popped.deltas.len());
///     Ok(())
/// });
/// controller.build().run(&StopToken::new())?;
/// # Ok::<(), kinformer::Error>(())
/// ```
pub struct Controller<K> {
    name: String,
    queue: Arc<DeltaFifo<Object<K>>>,
    feed: Box<dyn Feed>,
    process: Mutex<Process<K>>,
    runs: AtomicBool,
    schedule: Schedule,
    /// Called after what was popped has been processed, once for several if there is more to pop.
    after: Box<dyn Fn() + Send + Sync>,
}

/// When everything that is known is queued again.
pub(super) struct Schedule {
    /// How often to ask.
    pub(super) period: Box<dyn Fn() -> Option<Duration> + Send + Sync>,
    /// What is asked.
    pub(super) is_due: Box<dyn Fn(Instant) -> bool + Send + Sync>,
}

impl Schedule {
    /// When to ask next; `None` for never, and for a time beyond what a clock can tell.
    fn next(&self, now: Instant) -> Option<Instant> {
        (self.period)().and_then(|period| now.checked_add(period))
    }
}

/// Makes a [`Controller`].
#[must_use]
#[doc(alias = "ProcessFunc")]
pub struct ControllerBuilder<K> {
    reflector: ReflectorBuilder<K>,
    name: String,
    queue: Arc<DeltaFifo<Object<K>>>,
    process: Process<K>,
    schedule: Schedule,
}

impl<K: 'static> ControllerBuilder<K> {
    /// What it is called in logs. Defaults to the resource.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.reflector = self.reflector.name(self.name.clone());
        self
    }

    /// How often everything that is known is queued again. Defaults to never.
    #[doc(alias = "FullResyncPeriod")]
    pub fn resync(mut self, period: Duration) -> Self {
        let period = Some(period).filter(|period| !period.is_zero());
        self.schedule.period = Box::new(move || period);
        self
    }

    /// Is asked in each period whether to queue everything again. Defaults to yes.
    pub fn should_resync(mut self, should: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.schedule.is_due = Box::new(move |_| should());
        self
    }

    /// How many objects a page of a list has: see [`ReflectorBuilder::page_size`].
    pub fn page_size(mut self, size: u32) -> Self {
        self.reflector = self.reflector.page_size(size);
        self
    }

    /// How pauses between failed attempts grow.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.reflector = self.reflector.backoff(backoff);
        self
    }

    /// Is told of failures: see [`ReflectorBuilder::on_error`].
    pub fn on_error(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.reflector = self.reflector.on_error(handler);
        self
    }

    /// Makes the controller.
    pub fn build(self) -> Controller<K> {
        Controller {
            name: self.name,
            queue: self.queue,
            feed: Box::new(self.reflector.build()),
            process: Mutex::new(self.process),
            runs: AtomicBool::new(false),
            schedule: self.schedule,
            after: Box::new(|| ()),
        }
    }
}

impl<K: 'static> Controller<K> {
    /// A controller that fills `queue` from `source` and gives what is popped to `process`.
    ///
    /// What `process` fails on is reported and not queued again.
    pub fn builder(
        source: impl ListerWatcher<K>,
        queue: Arc<DeltaFifo<Object<K>>>,
        process: impl FnMut(Popped<Object<K>>) -> Result<()> + Send + 'static,
    ) -> ControllerBuilder<K> {
        let reflector = Reflector::builder(source, queue.clone());
        ControllerBuilder {
            name: reflector.resource().to_owned(),
            reflector,
            queue,
            process: Box::new(process),
            schedule: Schedule { period: Box::new(|| None), is_due: Box::new(|_| true) },
        }
    }

    /// A controller of a shared informer; `after` is called after what was popped has been processed,
    /// once for several if there is more to pop.
    pub(super) fn fed_by(
        feed: Box<dyn Feed>,
        name: String,
        queue: Arc<DeltaFifo<Object<K>>>,
        process: impl FnMut(Popped<Object<K>>) -> Result<()> + Send + 'static,
        schedule: Schedule,
        after: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (process, after) = (Mutex::new(Box::new(process) as Process<K>), Box::new(after));
        Self { name, queue, feed, process, runs: AtomicBool::new(false), schedule, after }
    }

    /// Runs until `stop` is stopped: the reflector on a thread of its own, the rest on this one.
    ///
    /// # Errors
    ///
    /// If it runs already, or has run before: its queue is closed then. If the source is one that cannot be,
    /// as of a namespace with a name that none can have. If no thread can be started for the reflector.
    ///
    /// # Panics
    ///
    /// If the reflector or `process` does.
    ///
    /// # Blocking
    ///
    /// Until `stop` is stopped and `process` has returned. What is queued then is not processed.
    pub fn run(&self, stop: &StopToken) -> Result<()> {
        let no_thread = |error: io::Error| {
            Error::invalid("controller", format!("no thread can be started: {error}"))
        };
        self.feed.check()?;
        if self.runs.swap(true, Ordering::AcqRel) {
            let text = format!("{} runs already, or has stopped", self.name);
            return Err(Error::invalid("controller", text));
        }
        let own = stop.child();
        let _acting = Role::Engine.begin();
        thread::scope(|scope| {
            let name = format!("r:{}", self.name);
            let reflect = || {
                let _acting = Role::Engine.begin();
                // Before the stop it ends only by a panic, and then there is nothing to wait for.
                let _stopping = StopAtEnd(&own);
                self.feed.run(&own);
            };
            let reflector = thread::spawn_scoped(&name, scope, reflect).map_err(no_thread)?;
            // Also when `process` panics: the scope waits for the reflector.
            let _stopping = StopAtEnd(&own);
            // Closing the queue wakes this thread; registering fails if the stop is past.
            let closing = own.on_stop(Arc::new(Close(self.queue.clone())));
            if closing.is_err() {
                self.queue.close();
            }
            self.process_queue(&own);
            own.stop();
            drop(closing);
            reflector.join().map_err(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn process_queue(&self, stop: &StopToken) {
        let mut process = self.process.lock();
        let mut next_resync = self.schedule.next(Instant::now());
        let (mut batch, mut first) = (0, Instant::now());
        while !stop.is_stopped() {
            let timed = |popped| {
                if batch == 0 {
                    first = Instant::now();
                }
                process(popped)
            };
            match self.queue.pop_with_until(next_resync, timed) {
                Pop::Processed(Ok(())) | Pop::Synced | Pop::TimedOut => {}
                Pop::Processed(Err(error)) => {
                    log::warn!("controller {}: {}", self.name, describe(&error));
                }
                Pop::Closed => return,
            }
            batch += 1;
            let idle = self.queue.is_empty();
            // Models have no clock.
            let late = !cfg!(shuttle) && first.elapsed() > LATE;
            if idle || late || batch == BATCH {
                batch = 0;
                (self.after)();
            }
            if idle && !cfg!(shuttle) && self.feed.is_listing() && stop.wait_timeout(GATHER) {
                return;
            }
            if let Some(next) = next_resync
                && let now = Instant::now()
                && now >= next
            {
                next_resync = self.schedule.next(now);
                if (self.schedule.is_due)(now) {
                    self.queue.resync();
                }
            }
        }
    }

    /// Runs on a thread of its own, until what is returned is dropped.
    ///
    /// # Errors
    ///
    /// If the source is one that cannot be, as of a namespace with a name that none can have, or no thread can
    /// be started.
    pub fn spawn(self) -> Result<Running> {
        self.feed.check()?;
        let stop = StopToken::new();
        let (own, name) = (stop.clone(), format!("p:{}", self.name));
        let thread = thread::spawn(&name, move || self.run(&own)).map_err(|error| {
            Error::invalid("controller", format!("no thread can be started: {error}"))
        })?;
        Ok(Running { stop, thread: Some(thread) })
    }

    /// Whether everything of the first list has been processed.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.queue.has_synced()
    }

    /// Where a watch would go on from; empty before the first list.
    #[must_use]
    pub fn last_sync_resource_version(&self) -> String {
        self.feed.resource_version()
    }

    pub(super) fn activity(&self) -> Activity {
        self.feed.activity()
    }
}

struct StopAtEnd<'a>(&'a StopToken);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Closes the queue at the stop.
struct Close<T>(Arc<DeltaFifo<T>>);

impl<T: Clone + Send + Sync + 'static> Interrupt for Close<T> {
    fn interrupt(&self) {
        self.0.close();
    }
}

/// A controller that runs on a thread of its own; it is stopped and waited for when this is dropped.
#[derive(Debug)]
#[must_use = "the controller stops when this is dropped"]
pub struct Running {
    stop: StopToken,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Running {
    /// Stops the controller, and waits for it; called by something that a controller calls, it does not
    /// wait.
    ///
    /// # Errors
    ///
    /// If it failed or panicked.
    pub fn stop(mut self) -> Result<()> {
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        self.stop.stop();
        match self.thread.take() {
            // Dropped by its own callback, it ends when that returns.
            Some(_) if Role::current() == Role::Engine => Ok(()),
            Some(thread) => {
                thread.join().unwrap_or_else(|_| Err(Error::invalid("controller", "it panicked")))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.join() {
            log::error!("{error}");
        }
    }
}

impl<K> fmt::Debug for Controller<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for ControllerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
