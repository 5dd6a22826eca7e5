//! Moments in which nobody writes, so that a cache can be compared with the server.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Default)]
pub(crate) struct Stillness(RwLock<()>);

impl Stillness {
    /// Held by whoever changes something, or comes and goes.
    pub(crate) fn broken(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read()
    }

    /// Waits until nobody changes anything; nobody does until it is dropped.
    pub(crate) fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write()
    }
}
