//! Factories whose informers are asked for by resource, not by type.

use std::{fmt, marker::PhantomData, ops::Deref, time::Duration};

use super::{
    EverythingBuilder, FactoryHandle, FactoryStatus, Lease, Selection, SharedInformerFactory,
};
use crate::{
    error::Result,
    informer::SharedInformer,
    object::{ApiResource, Body, DynamicObject, GroupVersionResource, PartialObjectMetadata},
};

/// A factory of informers of whole objects whose types are not known.
///
/// Made by [`SharedInformerFactoryBuilder::dynamic`](super::SharedInformerFactoryBuilder::dynamic). Does
/// what a [`SharedInformerFactory`] does, under the name that users of client-go look for; typed informers can be
/// had from it too.
///
/// # Differences from client-go
///
/// `for_resource` asks the server what it has, so that a misspelt resource is an error.
#[doc(alias = "dynamicinformer")]
pub type DynamicSharedInformerFactory = UntypedFactory<DynamicObject>;

/// A factory of informers of metadata alone: the server leaves out the rest.
///
/// Made by [`SharedInformerFactoryBuilder::metadata`](super::SharedInformerFactoryBuilder::metadata).
///
/// ```no_run
/// use kinformer::{ApiResource, Client, SharedInformerFactory};
///
/// let client = Client::try_default()?;
/// let factory = SharedInformerFactory::builder(client).metadata();
/// let pods = factory.informer_for(&ApiResource::namespaced("v1", "Pod", "pods"));
/// pods.on_event(|event| println!("{event}"))?;
/// factory.start()?;
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// It has no informers by type, whose objects could not be decoded for want of everything but the metadata:
///
/// ```compile_fail,E0599
/// # let client = kinformer::Client::try_default()?;
/// let factory = kinformer::SharedInformerFactory::builder(client).metadata();
/// let pods = factory.core().v1().pods();
/// # Ok::<(), kinformer::Error>(())
/// ```
#[doc(alias = "metadatainformer")]
pub type MetadataSharedInformerFactory = UntypedFactory<PartialObjectMetadata>;

/// A [`SharedInformerFactory`] whose informers are asked for by resource and give objects as `K`: see
/// [`DynamicSharedInformerFactory`] and [`MetadataSharedInformerFactory`].
///
/// What its methods do is said there, by the same names.
pub struct UntypedFactory<K> {
    pub(crate) factory: SharedInformerFactory,
    kind: PhantomData<fn() -> K>,
}

impl<K: Body> UntypedFactory<K> {
    pub(super) fn new(factory: SharedInformerFactory) -> Self {
        Self { factory, kind: PhantomData }
    }

    /// The informer of a resource by its place in the API.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::for_resource`].
    #[doc(alias = "ForResource")]
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<SharedInformer<K>> {
        Ok(self.factory.for_resource(resource)?.cast())
    }

    /// The informer of a resource.
    #[must_use]
    pub fn informer_for(&self, resource: &ApiResource) -> SharedInformer<K> {
        self.factory.informer_for(resource)
    }

    /// The informer of some of the objects of a resource.
    #[must_use]
    pub fn informer_of(&self, resource: &ApiResource, selection: &Selection) -> SharedInformer<K> {
        self.factory.informer_of(resource, selection)
    }

    /// The informer of some of the objects of a resource, for as long as somebody has a lease on it; started at
    /// once.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::lease`].
    pub fn lease_of(&self, resource: &ApiResource, selection: &Selection) -> Result<Lease<K>> {
        self.factory.lease_of(resource, selection)
    }

    /// Informers for every resource that the server has and that can be watched.
    pub fn everything(&self) -> EverythingBuilder {
        self.factory.everything()
    }

    /// A weak handle, which does not keep the factory alive: for handlers.
    #[must_use]
    pub fn handle(&self) -> FactoryHandle<Self> {
        FactoryHandle::new(&self.factory.shared)
    }
}

impl<K> UntypedFactory<K> {
    /// Stops one informer for everybody and frees what it knew; says whether it is one of this factory.
    pub fn stop_informer<J: 'static>(&self, informer: &SharedInformer<J>) -> bool {
        self.factory.stop_informer(informer)
    }

    /// Starts every informer that has not been started.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::start`].
    pub fn start(&self) -> Result<()> {
        self.factory.start()
    }

    /// Blocks until every informer and every handler has all objects from the start.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::wait_for_cache_sync`].
    pub fn wait_for_cache_sync(&self, limit: Duration) -> Result<()> {
        self.factory.wait_for_cache_sync(limit)
    }

    /// How the informers are doing.
    #[must_use]
    pub fn status(&self) -> FactoryStatus {
        self.factory.status()
    }

    /// Stops every informer, for good.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::shutdown`].
    pub fn shutdown(&self) -> Result<()> {
        self.factory.shutdown()
    }

    /// The same, waiting for handlers only so long.
    ///
    /// # Errors
    ///
    /// As [`SharedInformerFactory::shutdown_timeout`].
    pub fn shutdown_timeout(&self, limit: Duration) -> Result<()> {
        self.factory.shutdown_timeout(limit)
    }
}

impl Deref for DynamicSharedInformerFactory {
    type Target = SharedInformerFactory;

    fn deref(&self) -> &SharedInformerFactory {
        &self.factory
    }
}

impl<K> fmt::Debug for UntypedFactory<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.factory.fmt(f)
    }
}
