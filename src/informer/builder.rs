//! What can be said about a shared informer.

use std::{
    fmt,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;

use super::{
    SharedInformer,
    core::{Core, Parts},
    feed::Feed,
    namespace_set::NamespaceSet,
    namespaces::NamespacesFeed,
};
use crate::{
    cache::{DeltaFifo, Indexer, Indexers, object_store, panic_text},
    error::{Error, Result},
    object::{Body, Decoded, DynamicObject, Object, Shape},
    reflector::{
        self, Backoff, ErrorHandler, ListerWatcher, Reflector, ReflectorBuilder, ReflectorStore,
    },
    stop::StopToken,
    sync::Mutex,
};

/// Makes a [`SharedInformer`].
///
/// ```no_run
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListWatch, Object, SharedInformer, cache::Indexers};
///
/// let source = ListWatch::<Pod>::from_client(&Client::try_default()?, Some("prod"));
/// let app = |pod: &Object<Pod>| pod.labels().get("app").map(Into::into).into_iter().collect();
/// let pods = SharedInformer::builder(source)
///     .name("pods of prod")
///     .resync(Duration::from_secs(600))
///     .indexers(Indexers::new().with("app", app))
///     .prune(&["/status/conditions", "/spec/containers/*/env"])
///     .on_error(|error| eprintln!("{error}"))
///     .build()?;
/// pods.start()?;
/// # Ok::<(), kinformer::Error>(())
/// ```
#[must_use]
#[doc(alias = "NewSharedIndexInformer")]
#[doc(alias = "SharedIndexInformerOptions")]
pub struct SharedInformerBuilder<K> {
    source: Box<dyn ListerWatcher<DynamicObject>>,
    /// In place of the source, one for each namespace.
    namespaces: Option<(NamespaceSet, SourceOf)>,
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
    stop: Option<StopToken>,
    kind: PhantomData<fn() -> K>,
}

/// Is told which informer an error is about, by its name.
pub(crate) type NamedErrorHandler = Arc<dyn Fn(&str, &Error) + Send + Sync>;

type SourceOf = Box<dyn Fn(&str) -> Box<dyn ListerWatcher<DynamicObject>> + Send + Sync>;
type Transform = Box<dyn Fn(Object) -> Result<Object> + Send + Sync>;

impl<K: 'static> SharedInformerBuilder<K> {
    pub(super) fn new(source: impl ListerWatcher<K>) -> Self {
        Self {
            source: Box::new(reflector::Erased::new(source)),
            namespaces: None,
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
            stop: None,
            kind: PhantomData,
        }
    }

    /// An informer of several namespaces, each with a source of its own; `all` says what they have in
    /// common.
    pub(crate) fn in_namespaces<S: ListerWatcher<K>>(
        all: impl ListerWatcher<K>,
        set: &NamespaceSet,
        source_of: impl Fn(&str) -> S + Send + Sync + 'static,
    ) -> Self {
        let source_of = move |namespace: &str| -> Box<dyn ListerWatcher<DynamicObject>> {
            Box::new(reflector::Erased::new(source_of(namespace)))
        };
        let mut builder = Self::new(all);
        builder.namespaces = Some((set.clone(), Box::new(source_of)));
        builder
    }

    /// What it is called in logs and errors. Defaults to the resource.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often handlers are told of every object again, unless they ask for something else. Zero is never,
    /// which is the default. Taken as it is, however short; what a handler asks for is a second at least, and
    /// what a factory says, too.
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
    #[doc(alias = "TransformStripManagedFields")]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        if keep {
            self.shape.keep_managed_fields();
        }
        self
    }

    /// Leaves out parts of every object as it arrives, as `/status/conditions` or
    /// `/spec/containers/*/env`.
    ///
    /// Finding a few of them costs less than half of the scan that is made anyway: ingest of pods is 1.25 times the
    /// work with three (`benches/object.rs`). What is left out is neither compared nor kept.
    pub fn prune(mut self, paths: &[&str]) -> Self {
        self.prune.extend(paths.iter().map(|&path| path.to_owned()));
        self
    }

    /// Changes every object as it arrives, before anybody sees it.
    ///
    /// Decodes, changes and encodes it again: some 200 us for a full pod. [`prune`](Self::prune) is
    /// cheaper where it will do. An object that it fails or panics on, or whose name or namespace it
    /// changes, is left out and reported.
    #[doc(alias = "SetTransform")]
    pub fn transform(self, change: impl FnMut(&mut K) -> Result<()> + Send + 'static) -> Self
    where
        K: Body + Serialize,
    {
        let change = Mutex::new(change);
        self.transform_object(move |object: Object| {
            let mut body: K = object.cast::<K>().decode()?;
            (change.lock())(&mut body)?;
            object.with_body(&body)
        })
    }

    /// The same for an object as it is, in place of any other.
    pub(crate) fn transform_object(
        mut self,
        change: impl Fn(Object) -> Result<Object> + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Box::new(move |object| {
            let key = object.key().clone();
            catch_unwind(AssertUnwindSafe(|| change(object))).unwrap_or_else(|panic| {
                let text = format!("it panicked on {key}: {}", panic_text(panic));
                Err(Error::invalid("transform", text))
            })
        }));
        self
    }

    /// How pauses between failed attempts grow.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// How many objects a page of a list has; streams, if there are any, stay streams however long they are. Defaults
    /// to 500 where pages make sense, which is not where the server has a cache.
    pub fn page_size(mut self, size: u32) -> Self {
        self.page_size = Some(size);
        self
    }

    /// Whether to ask for lists as streams, if the source can. Defaults to yes.
    ///
    /// A streamed list is never older than what the server knows when it is asked. Without streams the first list may
    /// be a little behind, as the server's cache is, and the watch after it catches up.
    ///
    /// A stream is one request where list and watch are two, but as JSON it is dear if it is long: for 20,000 pods
    /// kube-apiserver 1.36 took 4 to 5 s of its CPU, because it encodes every object twice, and 2.1 s for a plain list;
    /// its memory grew alike. So a list that soon has brought 100 objects and not ended is asked for again as a plain one, no
    /// older than a stream would have been, unless the server is older than 1.33 or does not say (`GET /version`): such a
    /// one makes all of it in memory before it sends any. If the plain one fails, lists are streamed from then on.
    pub fn streamed_lists(mut self, wanted: bool) -> Self {
        self.streamed_lists = wanted;
        self
    }

    /// How long a watch may be silent before it is opened again, to see whether anybody is there.
    /// Defaults to 30 seconds; less than a second counts as a second.
    pub fn watch_silence(mut self, limit: Duration) -> Self {
        self.silence = Some(limit);
        self
    }

    /// Compares the store with a fresh list in this period, and tells the error handler of a
    /// [`ConsistencyError`](crate::ConsistencyError) if anything differs and stays so. Defaults to never.
    ///
    /// For finding faults: it costs a list each time, and a thread. Informers of several namespaces are
    /// not checked.
    #[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
    pub fn check_consistency(mut self, period: Duration) -> Self {
        self.check_consistency = period;
        self
    }

    /// Is told of every failure to list or to watch, and of objects that cannot be used. Must return
    /// soon; a panic is caught and logged. Defaults to a warning in the log, once for each reason in a row
    /// of failures.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn on_error(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(handler));
        self
    }

    /// The same for a factory, which is told who it is about; what was said here before counts.
    pub(crate) fn or_on_error(self, handler: NamedErrorHandler) -> Self {
        if self.on_error.is_some() {
            return self;
        }
        let name = self.called();
        self.on_error(move |error| handler(&name, error))
    }

    /// Stops the informer when this token is stopped, besides that of its client
    /// ([`Client::with_stop`](crate::Client::with_stop)): its threads end, its waits too, and nobody has to
    /// call [`stop`](SharedInformer::stop), which is the way to wait for the handlers. Before the start, it
    /// cannot be started any more.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kinformer::{Client, ListWatch, SharedInformer};
    /// use kinformer::StopToken;
    ///
    /// # let source = ListWatch::<Pod>::from_client(&Client::try_default()?, None);
    /// let stop = StopToken::new();
    /// let pods = SharedInformer::builder(source).stop(&stop).build()?;
    /// pods.start()?;
    /// stop.stop(); // from any thread: as good as pods.stop(), without waiting
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[doc(alias = "stopCh")]
    #[doc(alias = "RunWithContext")]
    pub fn stop(mut self, token: &StopToken) -> Self {
        self.stop = Some(token.clone());
        self
    }

    /// Makes the informer. It does nothing until it is started.
    ///
    /// # Errors
    ///
    /// If a path to prune is not one, or the source is of a namespace with a name that none can have.
    pub fn build(mut self) -> Result<SharedInformer<K>> {
        self.check()?;
        Ok(self.assemble(None))
    }

    /// The same for a factory, whose informers can always be had: what cannot be used is an error of their start.
    pub(crate) fn build_unchecked(mut self) -> SharedInformer<K> {
        let refusal = self.check().err();
        self.assemble(refusal)
    }

    fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.source.resource().to_string())
    }

    fn check(&mut self) -> Result<()> {
        self.prune.iter().try_for_each(|path| self.shape.prune(path))?;
        self.source.check()
    }

    fn assemble(mut self, refusal: Option<Error>) -> SharedInformer<K> {
        let name = self.called();
        self.source.shape(&self.shape);
        let resource = self.source.resource().clone();
        let stop = self.source.stop_token().map_or_else(StopToken::new, |stop| stop.child());
        if let Some(token) = &self.stop {
            stop.follow(token);
        }
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
        let reflecting = Reflecting {
            name: name.clone(),
            backoff: self.backoff,
            page_size: self.page_size,
            streamed_lists: self.streamed_lists,
            silence: self.silence,
            on_error: self.on_error,
        };
        let feed: Box<dyn Feed> = match self.namespaces {
            None => {
                let reflector = reflecting.reflector(self.source, Box::new(fifo.clone()));
                let known = Indexer::over(store.clone()).store();
                Box::new(reflector.check_consistency(self.check_consistency, known).build())
            }
            Some((set, source_of)) => {
                let shape = self.shape;
                let reflector_of = move |namespace: &str, target| {
                    let mut source = source_of(namespace);
                    source.shape(&shape);
                    let reflector = reflecting.reflector(source, target);
                    reflector.name(format!("{} ({namespace})", reflecting.name)).build()
                };
                Box::new(NamespacesFeed::new(set, fifo.clone(), Box::new(reflector_of)))
            }
        };
        let resync = self.resync;
        let core = Core::new(Parts { resource, name, fifo, store, feed, resync, stop, refusal });
        SharedInformer::new(core)
    }
}

/// What is said about the reflectors of an informer.
struct Reflecting {
    name: String,
    backoff: Backoff,
    page_size: Option<u32>,
    streamed_lists: bool,
    silence: Option<Duration>,
    on_error: Option<ErrorHandler>,
}

impl Reflecting {
    fn reflector(
        &self,
        source: Box<dyn ListerWatcher<DynamicObject>>,
        target: Box<dyn ReflectorStore<Object>>,
    ) -> ReflectorBuilder<DynamicObject> {
        let mut reflector = Reflector::boxed(source, target)
            .name(self.name.clone())
            .backoff(self.backoff)
            .streamed_lists(self.streamed_lists)
            .shared_on_error(self.on_error.clone());
        if let Some(size) = self.page_size {
            reflector = reflector.page_size(size);
        }
        if let Some(limit) = self.silence {
            reflector = reflector.watch_silence(limit);
        }
        reflector
    }
}

impl<K> fmt::Debug for SharedInformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
