//! Reaching a factory without keeping it alive.

use std::{
    fmt,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, Weak},
    time::Duration,
};

use super::{Shared, SharedInformerFactory, UntypedFactory};
use crate::{
    informer::SharedInformer,
    object::{Body, Resource},
};

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
pub struct FactoryHandle<F = SharedInformerFactory> {
    shared: Weak<Shared>,
    /// What it is a handle on.
    factory: PhantomData<fn() -> F>,
}

impl FactoryHandle {
    /// The factory, to be used and let go; `None` if it has been shut down.
    #[must_use]
    pub fn upgrade(&self) -> Option<UpgradedFactory> {
        self.open().map(|shared| UpgradedFactory(SharedInformerFactory { shared, owns: false }))
    }

    /// The informer of the objects that `K` stands for; `None` if the factory has been shut down.
    #[must_use]
    pub fn informer<K: Resource>(&self) -> Option<SharedInformer<K>> {
        self.upgrade().map(|factory| factory.informer())
    }
}

impl<K: Body> FactoryHandle<UntypedFactory<K>> {
    /// The factory, to be used and let go; `None` if it has been shut down.
    #[must_use]
    pub fn upgrade(&self) -> Option<UpgradedFactory<UntypedFactory<K>>> {
        let shared = self.open()?;
        let factory = UntypedFactory::new(SharedInformerFactory { shared, owns: false });
        Some(UpgradedFactory(factory))
    }
}

impl<F> FactoryHandle<F> {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared), factory: PhantomData }
    }

    fn open(&self) -> Option<Arc<Shared>> {
        self.shared.upgrade().filter(|shared| shared.check_open().is_ok())
    }

    /// Shuts the factory down; does nothing if that has been done.
    ///
    /// # Blocking
    ///
    /// As [`SharedInformerFactory::shutdown`]; called by a handler, it does not wait for handlers.
    pub fn stop(&self) {
        if let Some(shared) = self.open()
            && let Err(error) = shared.shutdown(Duration::MAX)
        {
            log::error!("{error}");
        }
    }
}

impl<F> Clone for FactoryHandle<F> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), factory: PhantomData }
    }
}

impl<F> fmt::Debug for FactoryHandle<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryHandle").finish_non_exhaustive()
    }
}

/// A factory that was reached through a [`FactoryHandle`]: dropping this does not shut it down.
#[derive(Debug)]
pub struct UpgradedFactory<F = SharedInformerFactory>(F);

impl<F> Deref for UpgradedFactory<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}
