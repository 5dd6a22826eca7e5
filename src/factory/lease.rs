//! Informers that live for as long as somebody wants them.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use super::{Held, Selection, Shared};
use crate::{
    error::Result,
    informer::{InformerState, SharedInformer},
    object::{ApiResource, Body},
};

/// A counted handle on an informer: see [`SharedInformerFactory::lease`].
///
/// It is used as the informer itself, and can be cloned: each clone counts. A plain handle that is
/// cloned or cast from it does not.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Secret;
/// use kinformer::{Client, SharedInformerFactory};
///
/// let factory = SharedInformerFactory::new(Client::try_default()?);
/// let one = factory.lease::<Secret>()?; // starts the informer
/// let other = one.clone();
/// drop(one);
/// assert!(!other.is_stopped());
/// drop(other); // stops it
/// # Ok::<(), kinformer::Error>(())
/// ```
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
        loop {
            let informer = factory.informer(resource, selection, Held::ByLease);
            // Counted from here on, also if it cannot be started.
            let lease = Self { factory: Arc::downgrade(factory), informer: informer.cast() };
            factory.check_open()?;
            match informer.start() {
                Ok(()) => return Ok(lease),
                // Somebody has stopped that one since: there will be another.
                Err(_) if informer.state() == InformerState::Stopped => {}
                Err(error) => return Err(error),
            }
        }
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
            factory.end(&informer);
        }
    }
}

impl<K> fmt::Debug for Lease<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.informer).finish()
    }
}
