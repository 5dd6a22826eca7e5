//! Where a reflector puts what it sees.

use std::sync::Arc;

use crate::{
    cache::{DeltaFifo, Indexer, Replace, Store},
    error::Result,
};

/// What a [`Reflector`](super::Reflector) keeps up to date: a queue or a store.
///
/// Implemented for [`DeltaFifo`], [`Store`] and [`Indexer`]; in an [`Arc`] too.
pub trait ReflectorStore<T>: Send + Sync + 'static {
    /// An object was added.
    ///
    /// # Errors
    ///
    /// If the object cannot be taken; the reflector reports it and goes on.
    fn add(&self, object: T) -> Result<()>;

    /// An object was changed.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    fn update(&self, object: T) -> Result<()>;

    /// An object was deleted.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    fn delete(&self, object: T) -> Result<()>;

    /// A list begins, whose objects follow one by one.
    fn begin_list(&self) -> Box<dyn ListTarget<T> + '_>;

    /// Nothing happened up to this resource version. Defaults to doing nothing.
    fn bookmark(&self, _resource_version: &str) {}

    /// Whether more will follow at once, so that those who wait need not be woken yet; if not, they must be.
    /// Defaults to doing nothing.
    fn more_follows(&self, _more: bool) {}
}

/// A list on its way into a [`ReflectorStore`]. Dropped before its end, no object is gone by it; those that
/// it has brought may have been passed on.
pub trait ListTarget<T> {
    /// An object of the list.
    ///
    /// # Errors
    ///
    /// If the object cannot be taken; it counts as listed all the same.
    fn item(&mut self, object: T) -> Result<()>;

    /// An object that was listed is gone again.
    ///
    /// # Errors
    ///
    /// If the object cannot be taken.
    fn remove(&mut self, object: T) -> Result<()>;

    /// The list is complete: what it left out is gone.
    fn finish(self: Box<Self>, resource_version: &str);
}

impl<T: Clone + Send + Sync + 'static> ReflectorStore<T> for DeltaFifo<T> {
    fn add(&self, object: T) -> Result<()> {
        Self::add(self, object)
    }

    fn update(&self, object: T) -> Result<()> {
        Self::update(self, object)
    }

    fn delete(&self, object: T) -> Result<()> {
        Self::delete(self, object)
    }

    fn begin_list(&self) -> Box<dyn ListTarget<T> + '_> {
        Box::new(self.begin_replace())
    }

    fn more_follows(&self, more: bool) {
        Self::more_follows(self, more);
    }
}

impl<T: Clone + Send + Sync + 'static> ListTarget<T> for Replace<'_, T> {
    fn item(&mut self, object: T) -> Result<()> {
        Self::item(self, object)
    }

    fn remove(&mut self, object: T) -> Result<()> {
        Self::remove(self, object)
    }

    fn finish(self: Box<Self>, _resource_version: &str) {
        Self::finish(*self);
    }
}

/// Lists come into a store whole, in one step.
impl<T: Clone + Send + Sync + 'static> ReflectorStore<T> for Store<T> {
    fn add(&self, object: T) -> Result<()> {
        Self::add(self, object);
        Ok(())
    }

    fn update(&self, object: T) -> Result<()> {
        Self::update(self, object);
        Ok(())
    }

    fn delete(&self, object: T) -> Result<()> {
        Self::delete(self, &object);
        Ok(())
    }

    fn begin_list(&self) -> Box<dyn ListTarget<T> + '_> {
        Box::new(Collected {
            store: self,
            listed: Self::new({
                let store = self.clone();
                move |object: &T| store.key_of(object)
            }),
        })
    }

    fn bookmark(&self, resource_version: &str) {
        Self::bookmark(self, resource_version);
    }
}

struct Collected<'a, T> {
    store: &'a Store<T>,
    listed: Store<T>,
}

impl<T: Clone + Send + Sync + 'static> ListTarget<T> for Collected<'_, T> {
    fn item(&mut self, object: T) -> Result<()> {
        self.listed.add(object);
        Ok(())
    }

    fn remove(&mut self, object: T) -> Result<()> {
        self.listed.delete(&object);
        Ok(())
    }

    fn finish(self: Box<Self>, resource_version: &str) {
        self.store.replace(self.listed.list(), resource_version);
    }
}

impl<T: Clone + Send + Sync + 'static> ReflectorStore<T> for Indexer<T> {
    fn add(&self, object: T) -> Result<()> {
        ReflectorStore::add(&**self, object)
    }

    fn update(&self, object: T) -> Result<()> {
        ReflectorStore::update(&**self, object)
    }

    fn delete(&self, object: T) -> Result<()> {
        ReflectorStore::delete(&**self, object)
    }

    fn begin_list(&self) -> Box<dyn ListTarget<T> + '_> {
        (**self).begin_list()
    }

    fn bookmark(&self, resource_version: &str) {
        Store::bookmark(self, resource_version);
    }
}

impl<T: 'static, S: ReflectorStore<T>> ReflectorStore<T> for Arc<S> {
    fn add(&self, object: T) -> Result<()> {
        (**self).add(object)
    }

    fn update(&self, object: T) -> Result<()> {
        (**self).update(object)
    }

    fn delete(&self, object: T) -> Result<()> {
        (**self).delete(object)
    }

    fn begin_list(&self) -> Box<dyn ListTarget<T> + '_> {
        (**self).begin_list()
    }

    fn bookmark(&self, resource_version: &str) {
        (**self).bookmark(resource_version);
    }

    fn more_follows(&self, more: bool) {
        (**self).more_follows(more);
    }
}
