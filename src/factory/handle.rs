//! Reaching a factory without keeping it alive.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use super::{Shared, SharedInformerFactory};
use crate::{informer::SharedInformer, object::Resource};

/// A weak handle on a factory, for handlers and whatever else the factory itself keeps alive.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::{Namespace, Secret};
/// use kinformer::{Client, Event, SharedInformerFactory};
///
/// let factory = SharedInformerFactory::new(Client::try_default()?);
/// let handle = factory.handle();
/// factory.informer::<Namespace>().on_event(move |event| match event {
///     Event::Deleted(_) => handle.stop(),
///     _ => println!("{:?}", handle.informer::<Secret>().map(|secrets| secrets.store().len())),
/// })?;
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Clone)]
pub struct FactoryHandle(Weak<Shared>);

impl FactoryHandle {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::downgrade(shared))
    }

    /// The factory, to be used and let go; `None` if it has been shut down.
    #[must_use]
    pub fn upgrade(&self) -> Option<UpgradedFactory> {
        let shared = self.0.upgrade()?;
        let closed = shared.registry.lock().is_closed();
        (!closed).then_some(UpgradedFactory(SharedInformerFactory { shared, owns: false }))
    }

    /// The informer of the objects that `K` stands for; `None` if the factory has been shut down.
    #[must_use]
    pub fn informer<K: Resource>(&self) -> Option<SharedInformer<K>> {
        self.upgrade().map(|factory| factory.informer())
    }

    /// Shuts the factory down; does nothing if that has been done.
    ///
    /// # Blocking
    ///
    /// As [`SharedInformerFactory::shutdown`]; called by a handler, it does not wait for handlers.
    pub fn stop(&self) {
        if let Some(factory) = self.upgrade()
            && let Err(error) = factory.shutdown()
        {
            log::error!("{error}");
        }
    }
}

impl fmt::Debug for FactoryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryHandle").finish_non_exhaustive()
    }
}

/// A factory that was reached through a [`FactoryHandle`]: dropping this does not shut it down.
#[derive(Debug)]
pub struct UpgradedFactory(SharedInformerFactory);

impl Deref for UpgradedFactory {
    type Target = SharedInformerFactory;

    fn deref(&self) -> &SharedInformerFactory {
        &self.0
    }
}
