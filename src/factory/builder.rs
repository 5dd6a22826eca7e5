//! What a factory says about all its informers.

use std::{fmt, mem, sync::Arc, time::Duration};

use serde::Serialize;

use super::{
    DynamicSharedInformerFactory, Key, MetadataSharedInformerFactory, Selection, Shared,
    SharedInformerFactory, UntypedFactory, selection::Namespaces,
};
use crate::{
    client::{Api, Client, ListOptions},
    error::{Error, Result},
    informer::{NamedErrorHandler, NamespaceSet, SharedInformer, SharedInformerBuilder},
    object::{ApiResource, Body, Decoded, DynamicObject, GroupVersionResource, Object, Resource},
    reflector::{Backoff, ListWatch},
    stop::StopToken,
};

/// Handlers are not told again of everything more often than this.
const LEAST_RESYNC: Duration = Duration::from_secs(1);

type Tweak = Arc<dyn Fn(&mut ListOptions) + Send + Sync>;
type Transform = Arc<dyn Fn(Object) -> Result<Object> + Send + Sync>;

/// Makes a [`SharedInformerFactory`].
///
/// ```no_run
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Node;
/// use kinformer::{Client, SharedInformerFactory, labels};
///
/// let production = labels::parse("tier=production")?;
/// let factory = SharedInformerFactory::builder(Client::try_default()?)
///     .resync(Duration::from_secs(600))
///     .custom_resync::<Node>(Duration::from_secs(60))
///     .namespace("shop")
///     .tweak_list_options(move |options| options.labels = production.clone())
///     .build();
/// # Ok::<(), kinformer::Error>(())
/// ```
#[must_use]
#[doc(alias = "SharedInformerOption")]
pub struct SharedInformerFactoryBuilder {
    client: Client,
    options: Options,
}

/// What a factory says about all its informers.
#[derive(Default)]
pub(super) struct Options {
    name: Option<String>,
    namespaces: Namespaces,
    resync: Option<Duration>,
    custom_resync: Vec<(GroupVersionResource, Option<Duration>)>,
    tweak: Option<Tweak>,
    transforms: Vec<(GroupVersionResource, Transform)>,
    transform_all: Option<Transform>,
    decoded: Decoded,
    keep_managed_fields: bool,
    prune: Vec<String>,
    on_error: Option<NamedErrorHandler>,
    backoff: Option<Backoff>,
    watch_silence: Option<Duration>,
    streamed_lists: Option<bool>,
    pub(super) stop: Option<StopToken>,
    /// The server is asked for metadata alone.
    metadata_only: bool,
}

impl SharedInformerFactoryBuilder {
    pub(super) fn new(client: Client) -> Self {
        Self { client, options: Options::default() }
    }

    /// What the factory is called in the names of its informers. Defaults to nothing.
    #[doc(alias = "WithInformerName")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// Only objects of this namespace; empty for all, which is the default. Resources that do not live
    /// in namespaces are not affected.
    ///
    /// A name that no namespace can have is an error of
    /// [`start`](SharedInformerFactory::start); a namespace that does not exist is empty.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.options.namespaces = Namespaces::one(namespace);
        self
    }

    /// Only objects of these namespaces, which can change: one watch for each of them and for each
    /// resource that lives in namespaces.
    pub fn namespaces(mut self, set: &NamespaceSet) -> Self {
        self.options.namespaces = Namespaces::Several(set.clone());
        self
    }

    /// How often handlers are told of every object again, from the cache, unless they ask for something
    /// else. Zero is never, which is the default; less than a second counts as a second.
    #[doc(alias = "defaultResync")]
    pub fn resync(mut self, period: Duration) -> Self {
        self.options.resync = raised(period);
        self
    }

    /// The same for the objects that `K` stands for.
    #[doc(alias = "WithCustomResyncConfig")]
    pub fn custom_resync<K: Resource>(mut self, period: Duration) -> Self {
        self.options.custom_resync.push((K::api_resource().gvr(), raised(period)));
        self
    }

    /// Changes the options of every list and watch before it is asked for. Called by the threads of the
    /// informers.
    ///
    /// An informer of a [`Selection`] is about objects that match both: the selectors that are set here and
    /// its own.
    #[doc(alias = "WithTweakListOptions")]
    pub fn tweak_list_options(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.options.tweak = Some(Arc::new(tweak));
        self
    }

    /// Changes every object that `K` stands for as it arrives: see
    /// [`SharedInformerBuilder::transform`]. Goes before [`transform_all`](Self::transform_all).
    #[doc(alias = "WithTransform")]
    pub fn transform<K: Resource + Serialize>(
        mut self,
        change: impl Fn(&mut K) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.options.transforms.push((K::api_resource().gvr(), transform(change)));
        self
    }

    /// Changes every object as it arrives, of whatever kind.
    pub fn transform_all(
        mut self,
        change: impl Fn(&mut DynamicObject) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.options.transform_all = Some(transform(change));
        self
    }

    /// What becomes of objects that somebody decoded. Defaults to [`Decoded::WhileHeld`].
    pub fn decoded(mut self, policy: Decoded) -> Self {
        self.options.decoded = policy;
        self
    }

    /// Whether to keep `metadata.managedFields`, which is half of a typical object. Defaults to no.
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.options.keep_managed_fields = keep;
        self
    }

    /// Leaves out parts of every object as it arrives, of whatever kind, as `/status/conditions` or
    /// `/metadata/annotations`: see [`SharedInformerBuilder::prune`]. What an object does not have is not missed.
    ///
    /// A path that is none is an error of [`start`](SharedInformerFactory::start).
    pub fn prune(mut self, paths: &[&str]) -> Self {
        self.options.prune.extend(paths.iter().map(|&path| path.to_owned()));
        self
    }

    /// Is told of every failure to list or to watch, and of objects that cannot be used, with the
    /// [name](SharedInformer::name) of the informer: see [`SharedInformerBuilder::on_error`].
    ///
    /// ```no_run
    /// # let client = kinformer::Client::try_default()?;
    /// let factory = kinformer::SharedInformerFactory::builder(client)
    ///     .on_error(|informer, error| eprintln!("{informer}: {error}"))
    ///     .build();
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn on_error(mut self, handler: impl Fn(&str, &Error) + Send + Sync + 'static) -> Self {
        self.options.on_error = Some(Arc::new(handler));
        self
    }

    /// How pauses between failed attempts grow.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.backoff = Some(backoff);
        self
    }

    /// How long a watch may be silent before it is opened again: see
    /// [`SharedInformerBuilder::watch_silence`](crate::SharedInformerBuilder::watch_silence).
    pub fn watch_silence(mut self, limit: Duration) -> Self {
        self.options.watch_silence = Some(limit);
        self
    }

    /// Whether to ask for lists as streams: see
    /// [`SharedInformerBuilder::streamed_lists`](crate::SharedInformerBuilder::streamed_lists).
    pub fn streamed_lists(mut self, wanted: bool) -> Self {
        self.options.streamed_lists = Some(wanted);
        self
    }

    /// Stops every informer when this token is stopped, those that are asked for later included, and besides that
    /// of the client ([`Client::with_stop`]). Ends every wait, and does not wait for handlers;
    /// [`shutdown`](SharedInformerFactory::shutdown) does.
    ///
    /// ```no_run
    /// # use kinformer::{Client, SharedInformerFactory};
    /// use kinformer::StopToken;
    ///
    /// let stop = StopToken::new();
    /// let factory = SharedInformerFactory::builder(Client::try_default()?).stop(&stop).build();
    /// factory.start()?;
    /// stop.stop(); // from any thread, as a signal handler's
    /// factory.shutdown()
    /// # ;Ok::<(), kinformer::Error>(())
    /// ```
    #[doc(alias = "stopCh")]
    #[doc(alias = "StartWithContext")]
    pub fn stop(mut self, token: &StopToken) -> Self {
        self.options.stop = Some(token.clone());
        self
    }

    /// Makes the factory.
    #[must_use]
    pub fn build(self) -> SharedInformerFactory {
        let shared = Shared::new(self.client, self.options);
        SharedInformerFactory { shared: Arc::new(shared), owns: true }
    }

    /// Makes a factory of informers that are asked for by resource.
    #[doc(alias = "NewDynamicSharedInformerFactory")]
    #[doc(alias = "NewFilteredDynamicSharedInformerFactory")]
    #[must_use]
    pub fn dynamic(self) -> DynamicSharedInformerFactory {
        UntypedFactory::new(self.build())
    }

    /// Makes a factory of informers of metadata alone.
    #[doc(alias = "NewSharedInformerFactory")]
    #[must_use]
    pub fn metadata(mut self) -> MetadataSharedInformerFactory {
        self.options.metadata_only = true;
        UntypedFactory::new(self.build())
    }
}

fn raised(period: Duration) -> Option<Duration> {
    (!period.is_zero()).then(|| period.max(LEAST_RESYNC))
}

fn transform<K: Body + Serialize>(
    change: impl Fn(&mut K) -> Result<()> + Send + Sync + 'static,
) -> Transform {
    Arc::new(move |object: Object| {
        let mut body: K = object.cast::<K>().decode()?;
        change(&mut body)?;
        object.with_body(&body)
    })
}

impl Options {
    /// What the informer of a selection is known by.
    pub(super) fn key(&self, resource: &ApiResource, selection: &Selection) -> Key {
        let mut selection = selection.clone();
        if !resource.is_namespaced() {
            selection.namespaces = Namespaces::Any;
        } else if selection.namespaces == Namespaces::Any {
            selection.namespaces = self.namespaces.clone();
        }
        Key::new(resource.gvr(), selection)
    }

    /// Makes the informer of a selection whose namespace has been settled.
    pub(super) fn make(
        &self,
        client: &Client,
        resource: &ApiResource,
        selection: &Selection,
        name: String,
    ) -> SharedInformer {
        let api: Api<DynamicObject> = if self.metadata_only {
            client.metadata_for(resource).cast()
        } else {
            client.dynamic(resource)
        };
        let (labels, fields) = (selection.labels.clone(), selection.fields.clone());
        let tweak = self.tweak.clone();
        let source = move |api: Api<DynamicObject>| {
            let (labels, fields, tweak) = (labels.clone(), fields.clone(), tweak.clone());
            ListWatch::from_api(api).tweak(move |options| {
                if let Some(tweak) = &tweak {
                    tweak(options);
                }
                options.labels = mem::take(&mut options.labels).and(labels.clone());
                options.fields = mem::take(&mut options.fields).and(fields.clone());
            })
        };
        let builder = match &selection.namespaces {
            Namespaces::Any => SharedInformer::builder(source(api)),
            Namespaces::One(namespace) => SharedInformer::builder(source(api.namespace(namespace))),
            Namespaces::Several(set) => {
                let all = source(api.clone());
                SharedInformerBuilder::in_namespaces(all, set, move |namespace| {
                    source(api.namespace(namespace))
                })
            }
        };
        let mut builder = builder
            .name(name)
            .resync(self.resync_of(resource).unwrap_or_default())
            .decoded(self.decoded)
            .keep_managed_fields(self.keep_managed_fields);
        if let Some(backoff) = self.backoff {
            builder = builder.backoff(backoff);
        }
        if let Some(limit) = self.watch_silence {
            builder = builder.watch_silence(limit);
        }
        if let Some(wanted) = self.streamed_lists {
            builder = builder.streamed_lists(wanted);
        }
        self.apply_to(resource, builder).build_unchecked()
    }

    pub(super) fn name_of(&self, resource: &ApiResource, selection: &Selection) -> String {
        let name = format!("{resource}{selection}");
        self.name.as_ref().map_or_else(|| name.clone(), |factory| format!("{factory}: {name}"))
    }

    pub(super) fn resync_of(&self, resource: &ApiResource) -> Option<Duration> {
        let resource = resource.gvr();
        let custom = self.custom_resync.iter().rfind(|(custom, _)| *custom == resource);
        custom.map_or(self.resync, |(_, period)| *period)
    }

    /// With what counts for every informer of the resource, whoever makes it: transform, prune, error handler.
    pub(super) fn apply_to<K: 'static>(
        &self,
        resource: &ApiResource,
        mut builder: SharedInformerBuilder<K>,
    ) -> SharedInformerBuilder<K> {
        let resource = resource.gvr();
        builder = builder.prune(&self.prune.iter().map(String::as_str).collect::<Vec<_>>());
        if let Some(handler) = &self.on_error {
            builder = builder.or_on_error(handler.clone());
        }
        let own = self.transforms.iter().rfind(|(own, _)| *own == resource);
        match own.map(|(_, transform)| transform).or(self.transform_all.as_ref()) {
            Some(transform) => {
                let transform = transform.clone();
                builder.transform_object(move |object| transform(object))
            }
            None => builder,
        }
    }
}

impl fmt::Debug for SharedInformerFactoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactoryBuilder")
            .field("client", &self.client)
            .field("namespaces", &self.options.namespaces)
            .finish_non_exhaustive()
    }
}
