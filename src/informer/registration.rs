//! A handler's place at an informer.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Instant,
};

use super::{core::Core, listener::Listener, role::Role};

/// A handler that was added to an informer.
///
/// Dropping it leaves the handler where it is. To remove it, call [`remove`](Self::remove), or keep a
/// [`guard`](Self::guard), which removes it when it is dropped.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kinformer::{Client, SharedInformerFactory};
/// # let factory = SharedInformerFactory::new(Client::try_default()?);
/// # let pods = factory.informer::<Pod>();
/// pods.on_event(|event| println!("for good: {event}"))?;
/// let registration = pods.on_event_named("for now", |event| println!("for now: {event}"))?;
/// println!("{} has {} events to be told of", registration.name(), registration.pending());
/// registration.remove();
/// # Ok::<(), kinformer::Error>(())
/// ```
#[doc(alias = "ResourceEventHandlerRegistration")]
pub struct Registration {
    /// It does not keep what the informer knew.
    core: Weak<Core>,
    listener: Arc<Listener>,
}

impl Registration {
    pub(super) fn new(core: &Arc<Core>, listener: Arc<Listener>) -> Self {
        Self { core: Arc::downgrade(core), listener }
    }

    /// What the handler is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.listener.name
    }

    /// Whether the handler has been told of every object from the start, and has returned.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.listener.has_synced()
    }

    /// How many events wait for the handler.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.listener.pending()
    }

    /// Removes the handler.
    ///
    /// After it returns, the handler is not called any more and has been dropped. Called by a handler,
    /// itself or another one, it returns at once, and that holds when the call that is under way has
    /// ended: two handlers may remove each other. Events that wait are dropped.
    ///
    /// # Blocking
    ///
    /// Until the call that is under way returns; called by a handler, not at all.
    #[doc(alias = "RemoveEventHandler")]
    #[doc(alias = "ShutDownEventHandler")]
    pub fn remove(self) {
        self.remove_listener();
    }

    /// Keeps the handler for as long as the guard.
    pub fn guard(self) -> RegistrationGuard {
        RegistrationGuard(self)
    }

    /// The objects are all gone: the handler is told so, after what waits for it, and ends by itself.
    fn retire(&self) {
        if let Some(core) = self.core.upgrade() {
            core.processor.retire(self.listener.id, Instant::now());
        }
    }

    /// The same for whoever shares the registration: each that asks waits.
    pub(crate) fn remove_listener(&self) {
        // Without an informer, it has been told to end.
        if let Some(core) = self.core.upgrade() {
            core.processor.remove(self.listener.id);
        }
        if Role::current() == Role::Outside {
            // Without a deadline it cannot fail.
            let _ = self.listener.join(None);
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Removes its handler when it is dropped: see [`Registration::guard`].
#[derive(Debug)]
#[must_use = "the handler is removed when this is dropped"]
pub struct RegistrationGuard(Registration);

impl RegistrationGuard {
    /// Whether the handler has been told of every object from the start, and has returned.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    /// Tells the handler that all objects are gone, after what waits for it, and lets it end by itself.
    pub(crate) fn retire(&self) {
        self.0.retire();
    }

    /// Whether the handler has been dropped, and its thread has ended.
    pub(crate) fn has_left(&self) -> bool {
        self.0.listener.has_left()
    }
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.0.remove_listener();
    }
}
