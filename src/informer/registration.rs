//! A handler's place at an informer.

use std::{fmt, sync::Arc};

use super::{core::Core, listener::Listener, role::Role};

/// A handler that was added to an informer.
///
/// Dropping it leaves the handler where it is. To remove it, call [`remove`](Self::remove), or keep a
/// [`guard`](Self::guard), which removes it when it is dropped.
#[doc(alias = "ResourceEventHandlerRegistration")]
pub struct Registration {
    core: Arc<Core>,
    listener: Arc<Listener>,
}

impl Registration {
    pub(super) fn new(core: Arc<Core>, listener: Arc<Listener>) -> Self {
        Self { core, listener }
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

    fn remove_listener(&self) {
        self.core.processor.remove(self.listener.id);
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

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.0.remove_listener();
    }
}
