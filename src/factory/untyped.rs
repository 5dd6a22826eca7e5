//! Factories whose informers are asked for by resource, not by type.

use std::{fmt, marker::PhantomData, ops::Deref};

use super::{Selection, SharedInformerFactory};
use crate::{
    error::Result,
    informer::SharedInformer,
    object::{ApiResource, Body, DynamicObject, GroupVersionResource, PartialObjectMetadata},
};

/// A factory of informers of whole objects whose types are not known.
///
/// Made by [`SharedInformerFactoryBuilder::dynamic`](super::SharedInformerFactoryBuilder::dynamic). Does
/// what a [`SharedInformerFactory`] does, under the name that users of client-go look for.
///
/// # Differences from client-go
///
/// `for_resource` asks the server what it has, so that a misspelt resource is an error.
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
pub type MetadataSharedInformerFactory = UntypedFactory<PartialObjectMetadata>;

/// A [`SharedInformerFactory`] whose informers are asked for by resource and give objects as `K`: see
/// [`DynamicSharedInformerFactory`] and [`MetadataSharedInformerFactory`].
pub struct UntypedFactory<K> {
    factory: SharedInformerFactory,
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
}

impl<K> Deref for UntypedFactory<K> {
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
