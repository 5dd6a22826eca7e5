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
    error::{Error, Result},
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

/// What a factory shares with its weak handles.
struct Shared {
    client: Client,
    options: Options,
    discovery: Discovery,
    registry: Mutex<Registry>,
    /// Stopped by the shutdown.
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
    /// resyncs; what the factory says about transforms goes before what the constructor says.
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
        let made = shared.options.transforming(&resource, builder).build()?;
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
    /// If the factory has been shut down, or no thread can be started.
    pub fn lease<K: Resource>(&self) -> Result<Lease<K>> {
        self.lease_of(&K::api_resource(), &Selection::default())
    }

    /// The same for some of the objects of a resource.
    ///
    /// # Errors
    ///
    /// If the factory has been shut down, or no thread can be started.
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
    /// let (send, receive) = crossbeam_channel::unbounded();
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
    /// If the factory has been shut down, a namespace has a name that no namespace can have, or no
    /// thread can be started.
    pub fn start(&self) -> Result<()> {
        self.shared.start()
    }

    /// Blocks until every informer and every handler has all objects from the start.
    ///
    /// # Errors
    ///
    /// If that has not happened after `limit`, or cannot happen: the error names each informer that
    /// is not ready, and the reason. An informer that has not been started is not waited for; it is
    /// an error at once.
    ///
    /// # Differences from client-go
    ///
    /// There, informers that have not been started are passed over.
    pub fn wait_for_cache_sync(&self, limit: Duration) -> Result<()> {
        self.shared.wait_for_cache_sync(Instant::now().checked_add(limit))
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
    /// May be called more than once and from several threads; each call returns when all have stopped.
    ///
    /// # Errors
    ///
    /// If an informer had failed because of a fault in this library.
    ///
    /// # Blocking
    ///
    /// Until the calls of handlers that are under way have returned. Called by a handler, it does not
    /// wait for handlers.
    pub fn shutdown(&self) -> Result<()> {
        self.shared.shutdown(None)
    }

    /// The same, waiting for handlers only so long.
    ///
    /// # Errors
    ///
    /// If handlers have not returned by then: the error names them.
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<()> {
        self.shared.shutdown(Instant::now().checked_add(limit))
    }
}

impl Shared {
    fn new(client: Client, options: Options) -> Self {
        let stop = StopToken::new();
        let discovery = client.with_stop(&stop).discovery();
        Self { client, options, discovery, registry: Mutex::default(), stop }
    }

    fn informer(
        &self,
        resource: &ApiResource,
        selection: &Selection,
        held: Held,
    ) -> SharedInformer {
        let key = self.options.key(resource, selection);
        if let Some(known) = self.registry.lock().hold(&key, held) {
            return known;
        }
        let made = self.options.make(&self.client, resource, key.selection());
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
            informer.stop_and_clear();
        }
        known
    }

    /// Keeps an informer that was made without the lock, unless somebody else was faster.
    fn keep(&self, key: Key, made: SharedInformer, held: Held) -> SharedInformer {
        let mut replaced = None;
        let kept = self.registry.lock().keep(key, made.clone(), held, &mut replaced);
        drop(replaced);
        kept.unwrap_or_else(|| {
            made.stop();
            made
        })
    }

    fn start(&self) -> Result<()> {
        let registry = self.registry.lock();
        registry.check()?;
        let informers = registry.open()?;
        drop(registry);
        for informer in informers {
            if informer.state() != InformerState::NotStarted {
                continue;
            }
            if let Err(error) = informer.start() {
                // Somebody who shuts down at the same time wins.
                self.registry.lock().open()?;
                return Err(error);
            }
        }
        Ok(())
    }

    fn wait_for_cache_sync(&self, deadline: Option<Instant>) -> Result<()> {
        let informers = self.registry.lock().all();
        let hopeless = |informer: &SharedInformer| match informer.state() {
            InformerState::Running => false,
            InformerState::NotStarted => true,
            _ => !informer.has_synced(),
        };
        for informer in &informers {
            if !informers.iter().any(hopeless) {
                informer.wait_until_settled(deadline);
            }
        }
        let waiting: Vec<_> = informers
            .iter()
            .filter_map(|informer| Some((informer.name(), informer.status().unsynced()?)))
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let (count, all) = (waiting.len(), informers.len());
        let text = format!("{count} of {all} informers have not synced: {}", waiting.join("; "));
        Err(Error::invalid("wait", text))
    }

    fn shutdown(&self, deadline: Option<Instant>) -> Result<()> {
        let informers = self.registry.lock().close();
        self.stop.stop();
        // All are told before any is waited for.
        for informer in &informers {
            informer.begin_stop();
        }
        let ended = informers.iter().map(|informer| informer.end_by(deadline));
        let mut problems: Vec<_> = ended.filter_map(Result::err).map(|e| e.to_string()).collect();
        for informer in &informers {
            if let InformerState::Failed(why) = informer.state() {
                problems.push(format!("{} had failed: {why}", informer.name()));
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::invalid("shutdown", problems.join("; ")))
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
