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

mod attention;
mod builder;
mod controller;
mod core;
mod dropping;
mod feed;
mod handler;
mod listener;
mod metrics;
mod named;
mod namespace_set;
mod namespaces;
mod plain;
mod processor;
mod registration;
mod role;
mod signal;
mod status;
mod table;
mod weak;

use std::{
    borrow::Cow,
    cell::Cell,
    fmt,
    marker::PhantomData,
    sync::Arc,
    time::{Duration, Instant},
};

use self::core::Core;
pub(crate) use self::{
    builder::NamedErrorHandler, metrics::visit_all, role::Role, status::table_of,
};
pub use self::{
    builder::SharedInformerBuilder,
    controller::{Controller, ControllerBuilder, Running},
    handler::{Event, EventHandler, FilteringHandler, HandlerFuncs, HandlerOutput},
    metrics::{Metric, MetricKind},
    named::NamedHandler,
    namespace_set::NamespaceSet,
    plain::Informer,
    registration::{Registration, RegistrationGuard},
    status::{HandlerStatus, InformerState, InformerStatus},
    weak::WeakInformer,
};
use crate::{
    cache::{Indexer, Indexers, Lister, Store},
    error::{Error, Goal, Missing, NotReady, Result, WaitError},
    object::{ApiResource, DynamicObject, Object},
    reflector::ListerWatcher,
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

impl<K: 'static> SharedInformer<K> {
    /// An informer of the objects of `source`.
    #[doc(alias = "NewSharedInformer")]
    pub fn builder(source: impl ListerWatcher<K>) -> SharedInformerBuilder<K> {
        SharedInformerBuilder::new(source)
    }

    fn new(core: Core) -> Self {
        let owner = Owner { core: Arc::new(core), thread: Mutex::new(None) };
        Self { owner: Arc::new(owner), kind: PhantomData }
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
    #[doc(alias = "GetStore")]
    #[must_use]
    pub fn store(&self) -> Store<Object<K>> {
        self.indexer().store()
    }

    /// The objects with their indices.
    #[doc(alias = "GetIndexer")]
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

    /// Adds a closure as a handler that is called by this name in the status, in logs and in errors.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kinformer::{Client, SharedInformerFactory};
    /// # let factory = SharedInformerFactory::new(Client::try_default()?);
    /// let pods = factory.informer::<Pod>();
    /// pods.on_event_named("audit", |event| println!("{event}"))?;
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    pub fn on_event_named<R: HandlerOutput>(
        &self,
        name: impl Into<Cow<'static, str>>,
        handle: impl FnMut(Event<K>) -> R + Send + 'static,
    ) -> Result<Registration> {
        self.add_event_handler(NamedHandler::new(name, handle))
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
    #[doc(alias = "AddEventHandlerWithOptions")]
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
        Ok(Registration::new(core, listener))
    }

    /// Starts the informer; does nothing if it runs.
    ///
    /// # Errors
    ///
    /// If it has stopped, what was said about it cannot be used, or no thread can be started.
    pub fn start(&self) -> Result<()> {
        if !self.core().begin()? {
            return Ok(());
        }
        let core = self.owner.core.clone();
        let name = format!("p:{}", core.resource.plural());
        // Locked from before there is a thread: whoever stops it joins it.
        let mut slot = self.owner.thread.lock();
        let thread = thread::spawn(&name, move || core.run()).map_err(|error| {
            let why = format!("no thread can be started: {error}");
            self.core().end(Some(why.clone()));
            Error::invalid("informer", why)
        })?;
        *slot = Some(thread);
        Ok(())
    }

    /// Runs the informer on this thread until `stop` is stopped.
    ///
    /// # Errors
    ///
    /// If it runs already, has stopped, or what was said about it cannot be used.
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
        // Without a limit nothing is late.
        self.owner.stop(None);
    }

    /// The same, waiting for handlers only so long.
    ///
    /// # Errors
    ///
    /// [`Error::Wait`] if a handler has not returned by then: it [names](Missing::Return) the handler, which
    /// is not called again, and whose thread ends when it returns.
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<()> {
        let late = self.end_by(Instant::now().checked_add(limit));
        if late.is_empty() {
            return Ok(());
        }
        Err(Error::Wait(WaitError::new(Goal::End, 1, late, Some(limit))))
    }

    /// Stops the informer, and gives what has not ended by `deadline`.
    pub(crate) fn end_by(&self, deadline: Option<Instant>) -> Vec<NotReady> {
        let late = self.owner.stop(deadline).into_iter();
        let informer = || self.name().to_owned();
        late.map(|missing| NotReady { informer: informer(), missing, error: None, told: None })
            .collect()
    }

    /// Tells the informer to stop, without waiting for it.
    pub(crate) fn begin_stop(&self) {
        self.core().stop.stop();
        self.core().end_unstarted();
    }

    /// Blocks until what feeds it has ended, whether or not handlers have. Does not wait on a thread of an engine.
    pub(crate) fn wait_until_over(&self, deadline: Instant) {
        if Role::current() != Role::Engine {
            self.owner.wait_until_over(Some(deadline));
        }
    }

    /// Frees what a stopped informer last knew; says whether it has stopped.
    ///
    /// Does nothing while it runs, or has not been started.
    pub fn clear(&self) -> bool {
        let stopped = self.is_stopped();
        if stopped {
            self.core().clear();
        }
        stopped
    }

    /// Stops the informer and frees what it knew, also if that can happen only after this call.
    pub(crate) fn stop_and_clear(&self) {
        self.core().clear_at_end();
        self.stop();
        self.clear();
    }

    /// A handle that does not keep the informer alive: for its own handlers.
    ///
    /// A handler that holds a [`SharedInformer`] keeps it from stopping with its last handle.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kinformer::{Client, ListWatch, SharedInformer};
    /// # let client = Client::try_default()?;
    /// let pods = SharedInformer::builder(ListWatch::<Pod>::from_client(&client, None)).build()?;
    /// let own = pods.downgrade();
    /// pods.on_event(move |event| {
    ///     let count = own.upgrade().map_or(0, |pods| pods.store().len());
    ///     println!("{event}, of {count}");
    /// })?;
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakInformer<K> {
        WeakInformer::new(Arc::downgrade(&self.owner))
    }

    /// Whether two handles are of one and the same informer.
    #[must_use]
    pub fn is_same<J>(&self, other: &SharedInformer<J>) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }

    /// The fault in this library that ended it, if one did.
    pub(crate) fn failure(&self) -> Option<NotReady> {
        let InformerState::Failed(why) = self.state() else { return None };
        let (informer, missing) = (self.name().to_owned(), Missing::Failed(why));
        Some(NotReady { informer, missing, error: None, told: None })
    }

    pub(crate) fn state(&self) -> InformerState {
        self.core().state()
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

    /// Whether it has stopped and all its threads have ended, also those that nobody waited for.
    pub(crate) fn has_ended(&self) -> bool {
        self.owner.has_ended()
    }

    /// Whether it has been told to stop, whether or not it has done so.
    pub(crate) fn is_ending(&self) -> bool {
        self.core().stop.is_stopped() || self.is_stopped()
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
    /// [`Error::Wait`] if that has not happened after `limit`, or cannot happen any more: it
    /// [says why](WaitError::informers). One that has not been started may yet be, so it is waited for, unless
    /// it cannot be; one that has stopped is not, whatever it last knew.
    ///
    /// # Blocking
    ///
    /// Until then. [`stop`](Self::stop) on any thread ends it.
    #[doc(alias = "WaitForCacheSync")]
    pub fn wait_for_sync(&self, limit: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(limit);
        loop {
            let settled = self.wait_until_settled(deadline);
            let Some(why) = self.status().not_ready() else { return Ok(()) };
            // Otherwise a handler has joined since.
            if !settled || self.core().is_hopeless() {
                let after = (!settled).then_some(limit);
                return Err(Error::Wait(WaitError::new(Goal::Sync, 1, vec![why], after)));
            }
        }
    }

    /// Blocks until it has synced, or cannot any more; says whether one of that held.
    pub(crate) fn wait_until_settled(&self, deadline: Option<Instant>) -> bool {
        let core = self.core();
        core.signal.wait_until(deadline, || core.is_hopeless() || core.has_synced())
    }

    /// Blocks until the store has come to a resource version: that of an object that was just written,
    /// for example.
    ///
    /// A watch of one namespace or with a selector is not told of what others do, so it comes to a version
    /// of theirs only with the next bookmark, about once a minute. One of several namespaces has come to a
    /// version when all of them have.
    ///
    /// # Errors
    ///
    /// [`Error::Wait`] if that has not happened after `limit`, or the informer has stopped or cannot be started: it
    /// [says](Missing::ResourceVersion) how far it has come.
    ///
    /// # Blocking
    ///
    /// Until then. [`stop`](Self::stop) on any thread ends it.
    pub fn wait_for_resource_version(&self, version: &str, limit: Duration) -> Result<()> {
        let core = self.core();
        let deadline = Instant::now().checked_add(limit);
        // That it held once is what counts: it need not hold any more when somebody looks again, since what
        // comes later is queued, too.
        let wait_until = |holds: &dyn Fn() -> bool| {
            let held = Cell::new(false);
            core.signal.follow_until(deadline, || {
                held.set(holds());
                held.get() || core.is_hopeless()
            });
            held.get()
        };
        if wait_until(&|| is_at_least(&core.seen_version(), version)) {
            // What has been seen is queued now, in front of what comes later.
            let turn = core.turn_of_last();
            if wait_until(&|| core.has_applied(turn)) {
                return Ok(());
            }
        }
        let status = self.status();
        let missing = match core.state() {
            InformerState::NotStarted if core.is_hopeless() => Missing::Start,
            InformerState::NotStarted | InformerState::Running => {
                Missing::ResourceVersion { reached: core.seen_version() }
            }
            InformerState::Stopped => Missing::Stopped,
            InformerState::Failed(why) => Missing::Failed(why),
        };
        let (error, told) = (status.cause, status.last_error);
        let after = matches!(missing, Missing::ResourceVersion { .. }).then_some(limit);
        let informers = vec![NotReady { informer: status.name, missing, error, told }];
        let goal = Goal::ResourceVersion(version.to_owned());
        Err(Error::Wait(WaitError::new(goal, 1, informers, after)))
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
    /// Stops, and gives what has not ended by `deadline`.
    fn stop(&self, deadline: Option<Instant>) -> Vec<Missing> {
        let core = &self.core;
        core.stop.stop();
        core.end_unstarted();
        let role = Role::current();
        if role == Role::Engine {
            return Vec::new();
        }
        let ended = self.wait_until_over(deadline);
        let thread = self.thread.lock().take_if(|_| ended);
        if let Some(thread) = thread {
            // It has nothing left to do; a panic in it has been noted.
            let _ = thread.join();
        }
        let mut late = Vec::from_iter((!ended).then_some(Missing::Engine));
        for listener in core.processor.stop() {
            if role != Role::Handler && listener.join(deadline).is_err() {
                late.push(Missing::Return { handler: listener.name.clone() });
            }
        }
        late
    }

    fn wait_until_over(&self, deadline: Option<Instant>) -> bool {
        self.core.signal.wait_until(deadline, || self.core.state().is_over())
    }

    fn has_ended(&self) -> bool {
        if !self.core.state().is_over() {
            return false;
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // As above.
            let _ = thread.join();
        }
        self.core.processor.stop().iter().all(|listener| listener.has_left())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.stop(None);
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
