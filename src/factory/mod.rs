//! Informers of many resources under one roof: made once, started, waited for and stopped together.

mod builder;
mod everything;
mod handle;
pub mod kinds;
mod lease;
mod registry;
mod selection;
mod status;
mod untyped;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use self::{
    builder::Options,
    registry::{Held, Key, Registry},
};
pub use self::{
    builder::SharedInformerFactoryBuilder,
    everything::{Everything, EverythingBuilder},
    handle::{FactoryHandle, UpgradedFactory},
    lease::Lease,
    selection::Selection,
    status::FactoryStatus,
    untyped::{DynamicSharedInformerFactory, MetadataSharedInformerFactory, UntypedFactory},
};
use crate::{
    client::{Client, Discovery},
    error::{Error, Goal, Result, WaitError},
    informer::{InformerState, SharedInformer, SharedInformerBuilder},
    object::{ApiResource, Body, GroupVersionResource, Resource},
    stop::StopToken,
    sync::Mutex,
};

/// Informers of one cluster: each resource is watched once, however many ask for it.
///
/// The factory holds its informers: they live until [`shutdown`](Self::shutdown), whether or not
/// anybody keeps a handle. It cannot be cloned; for use in handlers there is a weak [`handle`](Self::handle).
/// Dropping it shuts it down.
///
/// It also stops with its client, and with a token of its own: everything ends when the token of
/// [`Client::with_stop`] or of the [builder](SharedInformerFactoryBuilder::stop) is stopped, waits included. That does not wait for handlers; [`shutdown`](Self::shutdown) does.
///
/// ```no_run
/// use std::time::Duration;
/// use k8s_openapi::api::apps::v1::StatefulSet;
/// use kinformer::{Client, SharedInformerFactory, labels};
///
/// let factory = SharedInformerFactory::builder(Client::try_default()?).build();
/// let sets = factory.informer::<StatefulSet>();
/// sets.on_event(|event| println!("{event}"))?;
/// factory.start()?;
/// factory.wait_for_cache_sync(Duration::from_secs(30))?;
/// for set in sets.lister().namespace("default").list(&labels::everything()) {
///     println!("{} {}", set.api_version(), set.name());
/// }
/// factory.shutdown()
/// # ;Ok::<(), kinformer::Error>(())
/// ```
///
/// # Differences from client-go
///
/// - Informers are told apart by resource, namespace and selectors, not by Go type: typed, lean and
///   dynamic handles of one resource share one watch and one cache.
/// - [`shutdown`](Self::shutdown) stops the informers, rather than waiting until somebody has.
/// - [`wait_for_cache_sync`](Self::wait_for_cache_sync) waits for handlers too, takes a limit, and its
///   error says who is missing and why.
pub struct SharedInformerFactory {
    shared: Arc<Shared>,
    /// Whether this is the factory itself, not what a weak handle gave.
    owns: bool,
}

/// For how long connections are kept at most that are of no use any more.
const CLOSED_AFTER: Duration = Duration::from_secs(1);

/// How often those who wait for one informer look at the others.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a factory shares with its weak handles.
struct Shared {
    client: Client,
    options: Options,
    discovery: Discovery,
    registry: Mutex<Registry>,
    /// Stopped by the shutdown, and with the tokens of the client and of the builder.
    stop: StopToken,
}

impl SharedInformerFactory {
    /// Makes a factory with more to say about it.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    #[doc(alias = "NewFilteredSharedInformerFactory")]
    pub fn builder(client: Client) -> SharedInformerFactoryBuilder {
        SharedInformerFactoryBuilder::new(client)
    }

    /// A factory of informers that watch all namespaces and never resync.
    #[doc(alias = "NewSharedInformerFactory")]
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// The informer of the objects that `K` stands for.
    ///
    /// The same one for every call, from any thread. It does nothing until it is
    /// [started](Self::start). One that was stopped by itself is replaced by a new one; after
    /// [`shutdown`](Self::shutdown) what is given has stopped.
    #[doc(alias = "InformerFor")]
    #[must_use]
    pub fn informer<K: Resource>(&self) -> SharedInformer<K> {
        self.informer_for(&K::api_resource())
    }

    /// The informer of a resource that is known only at run time.
    #[must_use]
    pub fn informer_for<K: Body>(&self, resource: &ApiResource) -> SharedInformer<K> {
        self.informer_of(resource, &Selection::default())
    }

    /// The informer of some of the objects of a resource.
    ///
    /// Each selection has a watch and a cache of its own.
    ///
    /// ```no_run
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kinformer::{ApiResource, Client, Selection, SharedInformer, SharedInformerFactory, labels};
    ///
    /// let factory = SharedInformerFactory::new(Client::try_default()?);
    /// let web = Selection::new().namespace("prod").labels(labels::parse("app=web")?);
    /// let pods: SharedInformer<Pod> = factory.informer_of(&ApiResource::of::<Pod>(), &web);
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn informer_of<K: Body>(
        &self,
        resource: &ApiResource,
        selection: &Selection,
    ) -> SharedInformer<K> {
        self.shared.informer(resource, selection, Held::ByFactory).cast()
    }

    /// The informer of the objects that `K` stands for, made by `constructor` if there is none yet.
    ///
    /// For sources and settings of your own. The constructor is given the client and the period of
    /// resyncs. What the factory says about transforms goes before what the constructor says, what it prunes is
    /// pruned too, and its error handler is told if the constructor names none. What it says about namespaces and
    /// list options does not count: whoever asks for this resource gets what was made here.
    ///
    /// # Errors
    ///
    /// If what is made cannot be built.
    pub fn informer_with<K: Resource>(
        &self,
        constructor: impl FnOnce(&Client, Option<Duration>) -> SharedInformerBuilder<K>,
    ) -> Result<SharedInformer<K>> {
        let shared = &self.shared;
        let resource = K::api_resource();
        let key = shared.options.key(&resource, &Selection::default());
        if let Some(known) = shared.registry.lock().hold(&key, Held::ByFactory) {
            return Ok(known.cast());
        }
        let builder = constructor(&shared.client, shared.options.resync_of(&resource));
        let made = shared.options.apply_to(&resource, builder).build()?;
        Ok(shared.keep(key, made.cast(), Held::ByFactory).cast())
    }

    /// The informer of a resource by its place in the API.
    ///
    /// Shared with whoever asks for the same resource by type. Built-in [`kinds`] are known; another
    /// resource that no informer of this factory is about yet is looked up in the server's catalogue, by
    /// plural, singular or short name.
    ///
    /// ```no_run
    /// use kinformer::{Client, GroupVersionResource, SharedInformerFactory};
    ///
    /// let factory = SharedInformerFactory::new(Client::try_default()?);
    /// let widgets = factory.for_resource(&GroupVersionResource::new("example.com", "v1", "widgets"))?;
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such resource: the error names it and what is near it. If it cannot be watched, or
    /// the server cannot be asked.
    ///
    /// # Blocking
    ///
    /// While the server is asked.
    #[doc(alias = "GenericInformer")]
    #[doc(alias = "ForResource")]
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<SharedInformer> {
        Ok(self.informer_for(&self.shared.find_resource(resource)?))
    }

    /// The informer of the objects that `K` stands for, for as long as somebody has a lease on it.
    ///
    /// It is started at once. When its last lease is dropped and nobody asked for it in another way, it
    /// is stopped and forgotten as by [`stop_informer`](Self::stop_informer).
    ///
    /// ```no_run
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kinformer::{Client, SharedInformerFactory};
    ///
    /// let factory = SharedInformerFactory::new(Client::try_default()?);
    /// let secrets = factory.lease::<Secret>()?;
    /// secrets.wait_for_sync(std::time::Duration::from_secs(10))?;
    /// println!("{} secrets", secrets.store().len());
    /// drop(secrets); // their memory is free
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the factory has been shut down, the namespace has a name that no namespace can have, or no thread
    /// can be started.
    pub fn lease<K: Resource>(&self) -> Result<Lease<K>> {
        self.lease_of(&K::api_resource(), &Selection::default())
    }

    /// The same for some of the objects of a resource.
    ///
    /// # Errors
    ///
    /// If the factory has been shut down, the namespace has a name that no namespace can have, or no thread
    /// can be started.
    pub fn lease_of<K: Body>(
        &self,
        resource: &ApiResource,
        selection: &Selection,
    ) -> Result<Lease<K>> {
        Lease::new(&self.shared, resource, selection)
    }

    /// Informers for every resource that the server has and that can be watched, in the version that it
    /// prefers; kept up to date as custom resources and aggregated servers come and go.
    ///
    /// ```no_run
    /// use kinformer::{Client, SharedInformerFactory};
    ///
    /// let factory = SharedInformerFactory::new(Client::try_default()?);
    /// let (send, receive) = std::sync::mpsc::channel();
    /// let all = factory.everything().filter(|found| found.resource.plural() != "events").watch(send)?;
    /// println!("{} resources", all.resources().len());
    /// for event in receive {
    ///     println!("{} {event}", event.cluster());
    /// }
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    pub fn everything(&self) -> EverythingBuilder {
        EverythingBuilder::new(&self.shared)
    }

    /// Stops one informer for everybody and frees what it knew; says whether it is one of this factory.
    ///
    /// Its watch ends and its threads are joined. Handles on it that are left report that it has
    /// stopped, and their listers are empty. Asking for the resource again makes a new informer.
    ///
    /// # Blocking
    ///
    /// As [`SharedInformer::stop`].
    pub fn stop_informer<K: 'static>(&self, informer: &SharedInformer<K>) -> bool {
        self.shared.stop_informer(&informer.cast())
    }

    /// A weak handle, which does not keep the factory alive: for handlers.
    #[must_use]
    pub fn handle(&self) -> FactoryHandle {
        FactoryHandle::new(&self.shared)
    }

    /// Starts every informer that has not been started; those that run are left alone.
    ///
    /// Call it again after asking for more.
    ///
    /// # Errors
    ///
    /// If the factory has been shut down, a namespace has a name that no namespace can have, a path to
    /// [prune](SharedInformerFactoryBuilder::prune) is none, or no thread can be started. The other informers are started all the same;
    /// [`stop_informer`](Self::stop_informer) lets go of one that never can be.
    pub fn start(&self) -> Result<()> {
        self.shared.start()
    }

    /// Blocks until every informer and every handler has all objects from the start.
    ///
    /// # Errors
    ///
    /// [`Error::Wait`] if that has not happened after `limit`, or cannot happen: it
    /// [names](crate::WaitError::informers) each informer that is not ready, with the reason and what the
    /// server said. An informer that has not been started, or has stopped, is not waited for; it is an
    /// error at once.
    ///
    /// # Blocking
    ///
    /// Until then. The shutdown of the factory ends it.
    ///
    /// # Differences from client-go
    ///
    /// There, informers that have not been started are passed over.
    #[doc(alias = "WaitForNamedCacheSync")]
    pub fn wait_for_cache_sync(&self, limit: Duration) -> Result<()> {
        self.shared.wait_for_cache_sync(limit)
    }

    /// How the informers are doing.
    ///
    /// ```no_run
    /// # let factory = kinformer::SharedInformerFactory::new(kinformer::Client::try_default()?);
    /// print!("{}", factory.status()); // a small table
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> FactoryStatus {
        let informers = self.shared.registry.lock().all();
        FactoryStatus { informers: informers.iter().map(SharedInformer::status).collect() }
    }

    /// Stops every informer, for good. What they last knew can still be read.
    ///
    /// Also waits for those that somebody is stopping by [`stop_informer`](Self::stop_informer) or by
    /// dropping a [lease](Self::lease). May be called more than once and from several threads; each call returns when all have stopped.
    ///
    /// # Errors
    ///
    /// [`Error::Wait`] if an informer had failed because of a fault in this library.
    ///
    /// # Blocking
    ///
    /// Until the calls of handlers that are under way have returned. Called by a handler, it does not
    /// wait for handlers.
    pub fn shutdown(&self) -> Result<()> {
        self.shared.shutdown(Duration::MAX)
    }

    /// The same, waiting for handlers only so long.
    ///
    /// # Errors
    ///
    /// [`Error::Wait`] if handlers have not returned by then: it [names](crate::Missing::Return) them.
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<()> {
        self.shared.shutdown(limit)
    }
}

#[cfg(feature = "capi")]
impl SharedInformerFactory {
    /// What the server has; asking ends with the factory.
    pub(crate) fn catalogue(&self) -> &Discovery {
        &self.shared.discovery
    }
}

impl Shared {
    fn new(client: Client, options: Options) -> Self {
        // With it, everything that is made from the client stops.
        let stop = client.stop_token().child();
        if let Some(token) = &options.stop {
            stop.follow(token);
        }
        let client = client.with_stop(&stop);
        let discovery = client.discovery();
        Self { client, options, discovery, registry: Mutex::default(), stop }
    }

    fn informer(
        &self,
        resource: &ApiResource,
        selection: &Selection,
        held: Held,
    ) -> SharedInformer {
        let key = self.options.key(resource, selection);
        let mut registry = self.registry.lock();
        if let Some(known) = registry.hold(&key, held) {
            return known;
        }
        let name = registry.free_name(self.options.name_of(resource, key.selection()), &key);
        drop(registry);
        let made = self.options.make(&self.client, resource, key.selection(), name);
        self.keep(key, made, held)
    }

    /// Group, version, kind, plural and scope of what is served there.
    fn find_resource(&self, wanted: &GroupVersionResource) -> Result<ApiResource> {
        if let Some(known) = self.registry.lock().resource(wanted) {
            return Ok(known);
        }
        if let Some(kind) = kinds::find_resource(wanted).filter(|kind| kind.is_watchable()) {
            return Ok(kind.resource());
        }
        let found = self.discovery.find_resource(&wanted.to_string())?;
        if !found.supports(&["list", "watch"]) {
            let text = format!("{wanted} cannot be watched: it has {}", found.verbs.join(", "));
            return Err(Error::invalid("resource", text));
        }
        Ok(found.resource)
    }

    fn stop_informer(&self, informer: &SharedInformer) -> bool {
        let known = self.registry.lock().forget(informer);
        if known {
            self.end(informer);
        }
        known
    }

    /// Stops an informer that the registry has forgotten, and frees what it knew.
    fn end(&self, informer: &SharedInformer) {
        informer.stop_and_clear();
        self.sweep();
    }

    /// Lets go of those that have ended. A handler that stops its own informer is not waited for, so
    /// that may be later than the stop.
    fn sweep(&self) {
        let ending = self.registry.lock().ending();
        for informer in ending {
            if informer.has_ended() {
                let ended = self.registry.lock().take_ended(&informer);
                drop(ended);
            }
        }
    }

    /// Keeps an informer that was made without the lock, unless somebody else was faster.
    fn keep(&self, key: Key, made: SharedInformer, held: Held) -> SharedInformer {
        let kept = self.registry.lock().keep(key, made.clone(), held);
        self.sweep();
        kept.unwrap_or_else(|| {
            made.stop();
            made
        })
    }

    /// # Errors
    ///
    /// If the factory has been shut down, or a token that it stops with was stopped.
    fn check_open(&self) -> Result<()> {
        let mut registry = self.registry.lock();
        if self.stop.is_stopped() {
            registry.close();
        }
        registry.check_open()
    }

    fn start(&self) -> Result<()> {
        self.check_open()?;
        let informers = self.registry.lock().unstarted();
        let mut first = Ok(());
        for informer in informers {
            // One that cannot be started does not keep the others from it.
            if let Err(error) = informer.start() {
                // Somebody who shuts down at the same time wins, and so does somebody who stops it.
                self.check_open()?;
                if informer.state() != InformerState::Stopped {
                    first = first.and(Err(error));
                }
            }
        }
        first
    }

    fn wait_for_cache_sync(&self, limit: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(limit);
        let informers = self.registry.lock().all();
        let hopeless = |informer: &SharedInformer| informer.state() != InformerState::Running;
        loop {
            let (behind, waiting): (Vec<_>, Vec<_>) = informers
                .iter()
                .filter_map(|informer| Some((informer, informer.status().not_ready()?)))
                .unzip();
            let Some(first) = behind.first() else { return Ok(()) };
            let now = Instant::now();
            let is_hopeless = informers.iter().any(hopeless);
            let is_late = deadline.is_some_and(|deadline| now >= deadline);
            if is_hopeless || is_late {
                let after = (!is_hopeless).then_some(limit);
                return Err(Error::Wait(WaitError::new(
                    Goal::Sync,
                    informers.len(),
                    waiting,
                    after,
                )));
            }
            // Looks up now and then: one that another one is waited for may end.
            let look_up = now + LOOK_UP;
            first.wait_until_settled(Some(
                deadline.map_or(look_up, |deadline| deadline.min(look_up)),
            ));
        }
    }

    fn shutdown(&self, limit: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(limit);
        let informers = self.registry.lock().close();
        let interrupted = self.stop.stop_and_keep();
        // All are told before any is waited for.
        for informer in &informers {
            informer.begin_stop();
        }
        // Nobody reads any more, however long handlers take; but transforms may take long, too.
        let all_read = Instant::now() + CLOSED_AFTER;
        for informer in &informers {
            informer.wait_until_over(deadline.map_or(all_read, |deadline| deadline.min(all_read)));
        }
        drop(interrupted);
        let mut problems = Vec::new();
        let mut after = None;
        for informer in &informers {
            let late = informer.end_by(deadline);
            after = after.or((!late.is_empty()).then_some(limit));
            problems.extend(late);
            problems.extend(informer.failure());
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::Wait(WaitError::new(Goal::End, informers.len(), problems, after)))
    }
}

impl Drop for SharedInformerFactory {
    fn drop(&mut self) {
        if !self.owns {
            return;
        }
        if let Err(error) = self.shutdown() {
            log::error!("{error}");
        }
    }
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("client", &self.shared.client)
            .field("informers", &self.shared.registry.lock().all())
            .finish_non_exhaustive()
    }
}
