//! Reaching an informer without keeping it alive.

use std::{fmt, marker::PhantomData, sync::Weak};

use super::{Owner, SharedInformer};
use crate::object::DynamicObject;

/// A handle on an informer that does not keep it alive: see [`SharedInformer::downgrade`].
pub struct WeakInformer<K = DynamicObject> {
    owner: Weak<Owner>,
    kind: PhantomData<fn() -> K>,
}

impl<K> WeakInformer<K> {
    pub(super) fn new(owner: Weak<Owner>) -> Self {
        Self { owner, kind: PhantomData }
    }

    /// The informer; `None` if nobody else has a handle on it.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedInformer<K>> {
        let owner = self.owner.upgrade()?;
        Some(SharedInformer { owner, kind: PhantomData })
    }
}

impl<K> Clone for WeakInformer<K> {
    fn clone(&self) -> Self {
        Self { owner: self.owner.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for WeakInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakInformer").finish_non_exhaustive()
    }
}
