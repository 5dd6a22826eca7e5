//! Informers that live for as long as somebody wants them.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use super::{Held, Selection, Shared};
use crate::{
    error::Result,
    informer::SharedInformer,
    object::{ApiResource, Body},
};

/// A counted handle on an informer: see [`SharedInformerFactory::lease`].
///
/// It is used as the informer itself, and can be cloned: each clone counts. A plain handle that is
/// cloned or cast from it does not.
///
/// [`SharedInformerFactory::lease`]: super::SharedInformerFactory::lease
#[must_use = "the informer stops when this is dropped"]
pub struct Lease<K: 'static> {
    factory: Weak<Shared>,
    informer: SharedInformer<K>,
}

impl<K: Body> Lease<K> {
    pub(super) fn new(
        factory: &Arc<Shared>,
        resource: &ApiResource,
        selection: &Selection,
    ) -> Result<Self> {
        let informer = factory.informer(resource, selection, Held::ByLease);
        // Counted from here on, also if it cannot be started.
        let lease = Self { factory: Arc::downgrade(factory), informer: informer.cast() };
        factory.registry.lock().open()?;
        informer.start()?;
        Ok(lease)
    }
}

impl<K> Deref for Lease<K> {
    type Target = SharedInformer<K>;

    fn deref(&self) -> &SharedInformer<K> {
        &self.informer
    }
}

impl<K> Clone for Lease<K> {
    fn clone(&self) -> Self {
        if let Some(factory) = self.factory.upgrade() {
            factory.registry.lock().lease_again(&self.informer.cast());
        }
        Self { factory: self.factory.clone(), informer: self.informer.clone() }
    }
}

impl<K> Drop for Lease<K> {
    fn drop(&mut self) {
        let Some(factory) = self.factory.upgrade() else { return };
        let informer = self.informer.cast();
        let unwanted = factory.registry.lock().release(&informer);
        if unwanted {
            informer.stop_and_clear();
        }
    }
}

impl<K> fmt::Debug for Lease<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.informer).finish()
    }
}
