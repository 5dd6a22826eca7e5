//! Keeping a cache of objects up to date, and telling handlers of every change.
//!
//! # What an informer promises
//!
//! 1. The store follows the server: for a while it may be behind, never ahead, and each object goes
//!    through states that it had, in their order. Some may be skipped.
//! 2. Every read of the store is of one moment.
//! 3. A handler is called for one event at a time. Events of one object come in their order; of
//!    different objects in any.
//! 4. When a handler is told of a change, the store has it already, or something newer.
//! 5. A handler that is added late is told of every object in the store first, as added, and then of
//!    every change: none is missed, none is told twice.
//! 6. An object that vanishes is told as deleted exactly once, with its last known state, even if it
//!    vanished while the server could not be reached.
//! 7. A handler that takes its time delays nobody but itself: events wait for it, without limit.
//! 8. After an informer has stopped, no handler is called.

mod controller;
mod core;
mod handler;
mod listener;
mod plain;
mod processor;
mod registration;
mod role;
mod signal;
mod status;

use std::{
    fmt,
    marker::PhantomData,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;

pub use self::{
    controller::{Controller, ControllerBuilder, Running},
    handler::{Event, EventHandler, FilteringHandler, HandlerFuncs, HandlerOutput},
    plain::Informer,
    registration::{Registration, RegistrationGuard},
    status::{HandlerStatus, InformerState, InformerStatus},
};
use self::{
    core::{Core, Parts},
    role::Role,
};
use crate::{
    cache::{DeltaFifo, Indexer, Indexers, Lister, Store, object_store},
    error::{Error, Result},
    object::{ApiResource, Body, Decoded, DynamicObject, Object, Shape},
    reflector::{self, Backoff, ErrorHandler, ListerWatcher, Reflector},
    stop::StopToken,
    sync::{
        Mutex,
        thread::{self, JoinHandle},
    },
};

/// A cache of objects with any number of handlers, fed by one watch.
///
/// A handle: clones are the same informer, and so are its [`cast`](Self::cast)s to other types. An
/// informer stops when its last handle is dropped.
///
/// ```no_run
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListWatch, SharedInformer, labels};
///
/// let client = Client::try_default()?;
/// let pods = SharedInformer::builder(ListWatch::<Pod>::from_client(&client, None)).build()?;
/// pods.on_event(|event| println!("{event}"))?;
/// pods.start()?;
/// pods.wait_for_sync(Duration::from_secs(30))?;
/// println!("{} pods", pods.lister().list(&labels::everything()).len());
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Threads
///
/// While it runs: one that talks to the server, one that applies changes, one for each handler.
///
/// # Differences from client-go
///
/// - A handler that panics goes on with its next event, and counts as synced when it should.
/// - [`wait_for_sync`](Self::wait_for_sync) waits for the handlers too, and says why it gave up.
/// - Objects cannot be changed in the store, so there is no mutation detector.
#[doc(alias = "SharedIndexInformer")]
pub struct SharedInformer<K = DynamicObject> {
    owner: Arc<Owner>,
    kind: PhantomData<fn() -> K>,
}

/// Ends the informer with its last handle.
struct Owner {
    core: Arc<Core>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Makes a [`SharedInformer`].
#[must_use]
pub struct SharedInformerBuilder<K> {
    source: Box<dyn ListerWatcher<DynamicObject>>,
    name: Option<String>,
    resync: Option<Duration>,
    indexers: Indexers<Object>,
    shape: Shape,
    prune: Vec<String>,
    transform: Option<Transform>,
    backoff: Backoff,
    page_size: Option<u32>,
    streamed_lists: bool,
    silence: Option<Duration>,
    check_consistency: Duration,
    on_error: Option<ErrorHandler>,
    kind: PhantomData<fn() -> K>,
}

type Transform = Box<dyn Fn(Object) -> Result<Object> + Send + Sync>;

impl<K: 'static> SharedInformerBuilder<K> {
    /// What it is called in logs and errors. Defaults to the resource.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often handlers are told of every object again, unless they ask for something else. Defaults
    /// to never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// More indices than the one by namespace.
    pub fn indexers(mut self, indexers: Indexers<Object<K>>) -> Self {
        self.indexers = indexers.erase();
        self
    }

    /// What becomes of objects that somebody decoded. Defaults to [`Decoded::WhileHeld`].
    pub fn decoded(mut self, policy: Decoded) -> Self {
        self.shape.decoded = policy;
        self
    }

    /// Whether to keep `metadata.managedFields`, which is half of a typical object. Defaults to no.
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        if keep {
            self.shape.keep_managed_fields();
        }
        self
    }

    /// Leaves out parts of every object as it arrives, as `/status/conditions` or
    /// `/spec/containers/*/env`. Costs no more than the scan that is made anyway.
    pub fn prune(mut self, paths: &[&str]) -> Self {
        self.prune.extend(paths.iter().map(|&path| path.to_owned()));
        self
    }

    /// Changes every object as it arrives, before anybody sees it.
    ///
    /// Decodes, changes and encodes it again: some 200 us for a full pod. [`prune`](Self::prune) is
    /// cheaper where it will do. An object that it fails on, or whose name or namespace it changes, is
    /// left out and reported.
    #[doc(alias = "SetTransform")]
    pub fn transform(mut self, change: impl FnMut(&mut K) -> Result<()> + Send + 'static) -> Self
    where
        K: Body + Serialize,
    {
        let change = Mutex::new(change);
        self.transform = Some(Box::new(move |object: Object| {
            let mut body: K = object.cast::<K>().decode()?;
            (change.lock())(&mut body)?;
            object.with_body(&body)
        }));
        self
    }

    /// How pauses between failed attempts grow.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// How many objects a page of a list has. Defaults to 500 where pages make sense.
    pub fn page_size(mut self, size: u32) -> Self {
        self.page_size = Some(size);
        self
    }

    /// Whether to ask for lists as streams, if the source can. Defaults to yes.
    pub fn streamed_lists(mut self, wanted: bool) -> Self {
        self.streamed_lists = wanted;
        self
    }

    /// How long a watch may be silent before it is opened again, to see whether anybody is there.
    /// Defaults to 30 seconds.
    pub fn watch_silence(mut self, limit: Duration) -> Self {
        self.silence = Some(limit);
        self
    }

    /// Compares the store with a fresh list in this period, and tells the error handler of a
    /// [`ConsistencyError`](crate::ConsistencyError) if anything differs and stays so. Defaults to never.
    ///
    /// For finding faults: it costs a list each time, and a thread.
    #[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
    pub fn check_consistency(mut self, period: Duration) -> Self {
        self.check_consistency = period;
        self
    }

    /// Is told of every failure to list or to watch, and of objects that cannot be used. Must return
    /// soon. Defaults to a warning in the log.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn on_error(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(handler));
        self
    }

    /// Makes the informer. It does nothing until it is started.
    ///
    /// # Errors
    ///
    /// If a path to prune is not one.
    pub fn build(mut self) -> Result<SharedInformer<K>> {
        for path in &self.prune {
            self.shape.prune(path)?;
        }
        self.source.shape(&self.shape);
        let resource = self.source.resource().clone();
        let store = Arc::new(object_store(self.indexers));
        let mut fifo = DeltaFifo::builder(|object: &Object| object.key().clone())
            .known_objects(Indexer::over(store.clone()))
            .emit_replaced(true)
            .unchanged(|known: &Object, listed: &Object| {
                !listed.resource_version().is_empty()
                    && known.resource_version() == listed.resource_version()
                    && known.uid() == listed.uid()
            });
        if let Some(transform) = self.transform {
            fifo = fifo.transform(transform);
        }
        let fifo = Arc::new(fifo.build());
        let name = self.name.unwrap_or_else(|| resource.to_string());
        let mut reflector = Reflector::boxed(self.source, Box::new(fifo.clone()))
            .name(name.clone())
            .backoff(self.backoff)
            .streamed_lists(self.streamed_lists)
            .check_consistency(self.check_consistency, Indexer::over(store.clone()).store())
            .shared_on_error(self.on_error);
        if let Some(size) = self.page_size {
            reflector = reflector.page_size(size);
        }
        if let Some(limit) = self.silence {
            reflector = reflector.watch_silence(limit);
        }
        let core = Core::new(Parts { resource, name, fifo, store, reflector, resync: self.resync });
        let owner = Owner { core: Arc::new(core), thread: Mutex::new(None) };
        Ok(SharedInformer { owner: Arc::new(owner), kind: PhantomData })
    }
}

impl<K: 'static> SharedInformer<K> {
    /// An informer of the objects of `source`.
    pub fn builder(source: impl ListerWatcher<K>) -> SharedInformerBuilder<K> {
        SharedInformerBuilder {
            source: Box::new(reflector::Erased::new(source)),
            name: None,
            resync: None,
            indexers: Indexers::new(),
            shape: Shape::default(),
            prune: Vec::new(),
            transform: None,
            backoff: Backoff::default(),
            page_size: None,
            streamed_lists: true,
            silence: None,
            check_consistency: Duration::ZERO,
            on_error: None,
            kind: PhantomData,
        }
    }

    /// The same informer with its objects seen as another type.
    #[must_use]
    pub fn cast<J>(&self) -> SharedInformer<J> {
        SharedInformer { owner: self.owner.clone(), kind: PhantomData }
    }

    /// The resource of its objects.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.core().resource
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core().name
    }

    /// The objects. Read it, and leave writing to the informer.
    #[must_use]
    pub fn store(&self) -> Store<Object<K>> {
        self.indexer().store()
    }

    /// The objects with their indices.
    #[must_use]
    pub fn indexer(&self) -> Indexer<Object<K>> {
        self.core().indexer.cast()
    }

    /// Reads the objects by name, namespace and labels.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.indexer(), self.core().resource.clone())
    }

    /// Adds indices, before or after the start.
    ///
    /// # Errors
    ///
    /// If there is an index of one of the names, or the informer has stopped.
    pub fn add_indexers(&self, indexers: Indexers<Object<K>>) -> Result<()> {
        if self.is_stopped() {
            let text = format!("{} has stopped", self.name());
            return Err(Error::invalid("indexers", text));
        }
        self.core().store.add_indexers(indexers.erase())
    }

    /// Adds a closure as a handler.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    pub fn on_event<R: HandlerOutput>(
        &self,
        handle: impl FnMut(Event<K>) -> R + Send + 'static,
    ) -> Result<Registration> {
        self.add_event_handler(handle)
    }

    /// A handler of up to three closures, to be given to
    /// [`add_event_handler`](Self::add_event_handler).
    pub fn handlers(&self) -> HandlerFuncs<K> {
        HandlerFuncs::new()
    }

    /// Adds a handler. After the start, it is told of every object that is there first.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    pub fn add_event_handler(&self, handler: impl EventHandler<K>) -> Result<Registration> {
        self.add(handler, None)
    }

    /// Adds a handler that is told of every object again in this period; `None` is never. Periods under
    /// a second count as a second; after the start, none is shorter than the shortest before.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    #[doc(alias = "AddEventHandlerWithResyncPeriod")]
    pub fn add_event_handler_with_resync(
        &self,
        handler: impl EventHandler<K>,
        period: Option<Duration>,
    ) -> Result<Registration> {
        self.add(handler, Some(period))
    }

    fn add(
        &self,
        handler: impl EventHandler<K>,
        resync: Option<Option<Duration>>,
    ) -> Result<Registration> {
        let handler = Box::new(handler::Erased::new(handler));
        let core = &self.owner.core;
        let listener = core.processor.add(handler, resync, Instant::now())?;
        Ok(Registration::new(core.clone(), listener))
    }

    /// Starts the informer; does nothing if it runs.
    ///
    /// # Errors
    ///
    /// If it has stopped, or no thread can be started.
    pub fn start(&self) -> Result<()> {
        if !self.core().begin()? {
            return Ok(());
        }
        let core = self.owner.core.clone();
        let name = format!("p:{}", core.resource.plural());
        let thread = thread::spawn(&name, move || core.run()).map_err(|error| {
            let why = format!("no thread can be started: {error}");
            self.core().end(Some(why.clone()));
            Error::invalid("informer", why)
        })?;
        *self.owner.thread.lock() = Some(thread);
        Ok(())
    }

    /// Runs the informer on this thread until `stop` is stopped.
    ///
    /// # Errors
    ///
    /// If it runs already, or has stopped.
    ///
    /// # Blocking
    ///
    /// Until then, and until its handlers have returned.
    pub fn run(&self, stop: &StopToken) -> Result<()> {
        if !self.core().begin()? {
            return Err(Error::invalid("informer", format!("{} runs already", self.name())));
        }
        let linked = stop.link(&self.core().stop);
        self.core().run();
        drop(linked);
        self.stop();
        match self.core().state() {
            InformerState::Failed(why) => Err(Error::invalid("informer", why)),
            _ => Ok(()),
        }
    }

    /// Stops the informer, for all its handles and for good. What it last knew can still be read.
    ///
    /// Does nothing if it has stopped.
    ///
    /// # Blocking
    ///
    /// Until the calls of handlers that are under way have returned. Called by a handler, of any
    /// informer, it does not wait for handlers; called by a transform, an index function or an error
    /// handler, it waits for nothing.
    pub fn stop(&self) {
        // Without a limit it cannot fail.
        let _ = self.owner.stop(None);
    }

    /// The same, waiting for handlers only so long.
    ///
    /// # Errors
    ///
    /// If a handler has not returned by then: the error names it. It is not called again, and its thread
    /// ends when it returns.
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<()> {
        self.owner.stop(Instant::now().checked_add(limit))
    }

    /// Whether all objects from the start are in the store. Says nothing about handlers.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.core().processor.is_synced()
    }

    /// Whether the informer has stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.core().state().is_over()
    }

    /// Where a watch would go on from; empty before the first list.
    #[must_use]
    pub fn last_sync_resource_version(&self) -> String {
        self.status().last_sync_resource_version
    }

    /// How the informer is doing.
    #[must_use]
    pub fn status(&self) -> InformerStatus {
        self.core().status()
    }

    /// Blocks until the store and every handler have all objects from the start.
    ///
    /// # Errors
    ///
    /// If that has not happened after `limit`, or cannot happen any more: the error says why.
    #[doc(alias = "WaitForCacheSync")]
    pub fn wait_for_sync(&self, limit: Duration) -> Result<()> {
        let core = self.core();
        let settled = || {
            let status = core.status();
            status.state.is_over() || status.unsynced().is_none()
        };
        core.signal.wait_until(Instant::now().checked_add(limit), settled);
        match core.status().unsynced() {
            None => Ok(()),
            Some(why) => {
                Err(Error::invalid("wait", format!("{} has not synced: {why}", core.name)))
            }
        }
    }

    /// Blocks until the store has come to a resource version: that of an object that was just written,
    /// for example.
    ///
    /// # Errors
    ///
    /// If that has not happened after `limit`, or the informer has stopped.
    pub fn wait_for_resource_version(&self, version: &str, limit: Duration) -> Result<()> {
        let core = self.core();
        let deadline = Instant::now().checked_add(limit);
        let seen = || is_at_least(&core.seen_version(), version);
        core.signal.wait_until(deadline, || seen() || self.is_stopped());
        // What has been seen is queued now, in front of what comes later.
        let turn = core.turn_of_last();
        core.signal.wait_until(deadline, || core.has_applied(turn) || self.is_stopped());
        if seen() && core.has_applied(turn) {
            return Ok(());
        }
        let (name, at) = (&core.name, core.seen_version());
        Err(Error::invalid(
            "wait",
            format!("{name} is at resource version {at:?}, not {version:?}"),
        ))
    }

    fn core(&self) -> &Core {
        &self.owner.core
    }
}

/// Resource versions are opaque, but those of every API server are numbers that grow.
fn is_at_least(reached: &str, wanted: &str) -> bool {
    match (reached.parse::<u64>(), wanted.parse::<u64>()) {
        (Ok(reached), Ok(wanted)) => reached >= wanted,
        _ => reached == wanted,
    }
}

impl Owner {
    fn stop(&self, deadline: Option<Instant>) -> Result<()> {
        let core = &self.core;
        core.stop.stop();
        core.end_unstarted();
        let role = Role::current();
        if role == Role::Engine {
            return Ok(());
        }
        let ended = core.signal.wait_until(deadline, || core.state().is_over());
        let thread = self.thread.lock().take_if(|_| ended);
        if let Some(thread) = thread {
            // It has nothing left to do; a panic in it has been noted.
            let _ = thread.join();
        }
        let mut late = if ended { Vec::new() } else { vec!["applying a change".to_owned()] };
        for listener in core.processor.stop() {
            if role != Role::Handler && listener.join(deadline).is_err() {
                late.push(format!("in handler {}", listener.name));
            }
        }
        if late.is_empty() {
            return Ok(());
        }
        let text = format!("{} is still {}", core.name, late.join(", "));
        Err(Error::invalid("shutdown", text))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.stop(None);
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self { owner: self.owner.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("name", &self.owner.core.name)
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for SharedInformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
