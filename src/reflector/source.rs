//! Where objects come from.

use std::{iter, sync::Arc};

use crate::{
    client::{Api, Bookmark, Client, Crowd, ListMeta, ListOptions, Watch, WatchEvent},
    error::Result,
    object::{ApiResource, Body, DynamicObject, Object, Resource, Shape},
    stop::StopToken,
};

/// A source of objects that can be listed and watched.
///
/// [`ListWatch`] is one on top of a [`Client`]. Bring your own to feed informers from something else.
///
/// # What it must do
///
/// A list gives every object, or fails: objects that it leaves out count as deleted. A watch from the
/// resource version of a list gives every change after it. Both return [`Error::Stopped`] soon after
/// `stop` is stopped.
///
/// # What errors mean
///
/// An [`Error::Api`] is understood as if a server had sent it: 410 leads to a list without a version,
/// 429 to a pause, and so on. After [`Error::transport`] a watch goes on where it was. Anything else,
/// [`Error::other`] for example, is reported and listed again after a pause.
///
/// [`Error::Api`]: crate::Error::Api
/// [`Error::Stopped`]: crate::Error::Stopped
/// [`Error::other`]: crate::Error::other
/// [`Error::transport`]: crate::Error::transport
pub trait ListerWatcher<K>: Send + Sync + 'static {
    /// The resource that the objects belong to.
    fn resource(&self) -> &ApiResource;

    /// Gives one page of objects to `item`, as they arrive; an object that cannot be used as an error.
    ///
    /// # Errors
    ///
    /// If the list is not complete.
    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object<K>>),
    ) -> Result<ListMeta>;

    /// Opens a watch.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<K>>;

    /// Whether a watch can begin with a list, marked by a bookmark at its end. Defaults to no.
    #[doc(alias = "IsWatchListSemanticsUnSupported")]
    fn streams_lists(&self) -> bool {
        false
    }

    /// Whether a list that turns out long had better be plain than streamed; asks the server. Defaults to no.
    #[doc(hidden)]
    fn plain_if_long(&self, _stop: &StopToken) -> bool {
        false
    }

    /// Whether anything can be asked for at all. Defaults to yes.
    ///
    /// # Errors
    ///
    /// What every list would say before anything is sent.
    #[doc(hidden)]
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The other sources of the same client. Defaults to none.
    #[doc(hidden)]
    fn crowd(&self) -> Option<Arc<Crowd>> {
        None
    }

    /// What stops the client of this source, and so an informer of it. Defaults to nothing.
    #[doc(hidden)]
    fn stop_token(&self) -> Option<StopToken> {
        None
    }

    /// Makes objects as an informer wants them, as far as the source can. Defaults to doing nothing.
    #[doc(hidden)]
    fn shape(&mut self, _shape: &Shape) {}
}

type Tweak = Arc<dyn Fn(&mut ListOptions) + Send + Sync>;

/// The objects of one resource on a server, in all namespaces or in one.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListWatch, fields};
///
/// let client = Client::try_default()?;
/// let pods = ListWatch::<Pod>::from_client(&client, Some("kube-system"));
/// let here = pods.tweak(|options| options.fields = fields::Selector::equals("spec.nodeName", "n1"));
/// # Ok::<(), kinformer::Error>(())
/// ```
#[doc(alias = "NewListWatchFromClient")]
pub struct ListWatch<K> {
    api: Api<K>,
    tweak: Option<Tweak>,
}

impl<K: Resource> ListWatch<K> {
    /// The objects that `K` stands for, in one namespace or in all: `None` and empty are all.
    ///
    /// A name that no namespace can have is an [`Error::Invalid`](crate::Error::Invalid) of whatever is made
    /// of this: of building an informer, of running a controller, of every list and watch. Nothing is sent.
    #[doc(alias = "NewListWatchFromClient")]
    #[must_use]
    pub fn from_client(client: &Client, namespace: Option<&str>) -> Self {
        Self::of_resource(client, &K::api_resource(), namespace)
    }
}

impl<K: Body> ListWatch<K> {
    /// The objects of a resource that is known only at run time, in one namespace or in all, as
    /// [`from_client`](Self::from_client) has it.
    #[must_use]
    pub fn of_resource(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Self {
        let api = client.api_for(resource);
        match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => Self::from_api(api.namespace(namespace)),
            None => Self::from_api(api),
        }
    }

    /// The objects that `api` is about: metadata alone, for example, of
    /// [`Client::metadata`](crate::Client::metadata).
    #[must_use]
    pub fn from_api(api: Api<K>) -> Self {
        Self { api, tweak: None }
    }

    /// Changes the options of every list and watch before it is asked for, selectors for example.
    #[must_use]
    #[doc(alias = "NewFilteredListWatchFromClient")]
    pub fn tweak(mut self, tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        self.tweak = Some(Arc::new(tweak));
        self
    }

    fn tweaked(&self, options: &ListOptions) -> ListOptions {
        let mut options = options.clone();
        if let Some(tweak) = &self.tweak {
            tweak(&mut options);
        }
        options
    }
}

impl<K: Body> ListerWatcher<K> for ListWatch<K> {
    fn resource(&self) -> &ApiResource {
        self.api.resource()
    }

    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object<K>>),
    ) -> Result<ListMeta> {
        self.api.with_stop(stop).list_each(&self.tweaked(options), item)
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<K>> {
        let options = self.tweaked(options);
        let watch = self.api.with_stop(stop).watch_once(&options)?;
        if options.send_initial_events == Some(true) && options.selects_nothing() {
            // Nobody was asked, so nobody says that this was all.
            let all = WatchEvent::Bookmark(Bookmark {
                resource_version: String::new(),
                initial_events_end: true,
            });
            return Ok(Watch::from_events(iter::once(Ok(all)).chain(watch)));
        }
        Ok(watch)
    }

    fn streams_lists(&self) -> bool {
        true
    }

    fn plain_if_long(&self, stop: &StopToken) -> bool {
        // Events are in no server's cache: all of them at once would come out of etcd.
        self.api.resource().plural() != "events"
            && self.api.client().with_stop(stop).plain_if_long()
    }

    fn check(&self) -> Result<()> {
        self.api.check()
    }

    fn crowd(&self) -> Option<Arc<Crowd>> {
        Some(self.api.client().crowd().clone())
    }

    fn stop_token(&self) -> Option<StopToken> {
        Some(self.api.client().stop_token().clone())
    }

    fn shape(&mut self, shape: &Shape) {
        self.api = self.api.shaped(shape);
    }
}

impl<K> std::fmt::Debug for ListWatch<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.api.fmt(f)
    }
}

/// A source whose objects are seen without their type.
pub(crate) struct Erased<K, S> {
    source: S,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K, S> Erased<K, S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source, kind: std::marker::PhantomData }
    }
}

impl<K: 'static, S: ListerWatcher<K>> ListerWatcher<DynamicObject> for Erased<K, S> {
    fn resource(&self) -> &ApiResource {
        self.source.resource()
    }

    fn list(
        &self,
        options: &ListOptions,
        stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        self.source.list(options, stop, &mut |object| item(object.map(Object::into_cast)))
    }

    fn watch(&self, options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        self.source.watch(options, stop).map(Watch::cast)
    }

    fn streams_lists(&self) -> bool {
        self.source.streams_lists()
    }

    fn plain_if_long(&self, stop: &StopToken) -> bool {
        self.source.plain_if_long(stop)
    }

    fn check(&self) -> Result<()> {
        self.source.check()
    }

    fn crowd(&self) -> Option<Arc<Crowd>> {
        self.source.crowd()
    }

    fn stop_token(&self) -> Option<StopToken> {
        self.source.stop_token()
    }

    fn shape(&mut self, shape: &Shape) {
        self.source.shape(shape);
    }
}
