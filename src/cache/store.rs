//! Stores of objects that know how to name them.

use std::{fmt, sync::Arc};

use super::{
    delta_fifo::KnownObjects,
    fingerprint::Fingerprint,
    index::{Indexers, UnknownIndex},
    thread_safe_store::ThreadSafeStore,
};
use crate::{error::Error, object::ObjectKey};

/// Objects, each under the key that a function gives it; cheap to clone, and all clones are one store.
///
/// The store of an informer is kept up to date by the informer: read it, and leave writing to it.
///
/// ```
/// use kinformer::cache::Store;
///
/// let store = Store::new(|name: &&str| *name);
/// store.add("a");
/// store.add("b");
/// store.delete(&"a");
/// assert_eq!(store.list(), ["b"]);
/// ```
#[doc(alias = "NewStore")]
pub struct Store<T> {
    objects: Arc<dyn Objects<T>>,
}

/// A [`Store`] with indices.
///
/// ```
/// use kinformer::cache::{Indexer, Indexers};
///
/// let by_length = Indexers::new().with("length", |name: &&str| vec![name.len().to_string()]);
/// let indexer = Indexer::new(|name: &&str| *name, by_length);
/// indexer.add("one");
/// indexer.add("two");
/// indexer.add("three");
/// assert_eq!(indexer.index_keys("length", "3")?, ["one", "two"]);
/// # Ok::<(), kinformer::cache::UnknownIndex>(())
/// ```
#[doc(alias = "NewIndexer")]
pub struct Indexer<T> {
    store: Store<T>,
}

/// What is behind a [`Store`]: objects of its own, or a typed view of another's.
pub(super) trait Objects<T>: Send + Sync {
    fn key(&self, object: &T) -> ObjectKey;
    fn insert(&self, key: ObjectKey, object: T) -> Option<T>;
    fn remove(&self, key: &str) -> Option<T>;
    fn remove_with(&self, key: &str, last: &T) -> Option<T>;
    fn replace(&self, objects: Vec<(ObjectKey, T)>, resource_version: &str);
    fn clear(&self);
    fn bookmark(&self, resource_version: &str);
    fn resource_version(&self) -> String;
    fn get(&self, key: &[u8]) -> Option<T>;
    fn candidates(&self, fingerprint: Fingerprint) -> Vec<T>;
    fn candidates_by_index(
        &self,
        index: &str,
        value: &str,
        fingerprint: Fingerprint,
    ) -> Result<Vec<T>, UnknownIndex>;
    fn list_keys(&self) -> Vec<ObjectKey>;
    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey));
    fn len(&self) -> usize;
    fn index(&self, index: &str, object: &T) -> Result<Vec<T>, UnknownIndex>;
    fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex>;
    fn list_index_func_values(&self, index: &str) -> Vec<String>;
    fn index_names(&self) -> Vec<String>;
    fn add_indexers(&self, more: Indexers<T>) -> Result<(), Error>;
}

/// Objects of its own, with the function that names them.
struct Own<T, F> {
    key: F,
    objects: Arc<ThreadSafeStore<T>>,
}

impl<T, F> Objects<T> for Own<T, F>
where
    T: Clone + Send + Sync,
    F: Fn(&T) -> ObjectKey + Send + Sync,
{
    fn key(&self, object: &T) -> ObjectKey {
        (self.key)(object)
    }

    fn insert(&self, key: ObjectKey, object: T) -> Option<T> {
        self.objects.insert(key, object)
    }

    fn remove(&self, key: &str) -> Option<T> {
        self.objects.remove(key)
    }

    fn remove_with(&self, key: &str, last: &T) -> Option<T> {
        self.objects.remove_with(key, last)
    }

    fn replace(&self, objects: Vec<(ObjectKey, T)>, resource_version: &str) {
        self.objects.replace(objects, resource_version);
    }

    fn clear(&self) {
        self.objects.clear();
    }

    fn bookmark(&self, resource_version: &str) {
        self.objects.bookmark(resource_version);
    }

    fn resource_version(&self) -> String {
        self.objects.resource_version()
    }

    fn get(&self, key: &[u8]) -> Option<T> {
        self.objects.get_bytes(key)
    }

    fn candidates(&self, fingerprint: Fingerprint) -> Vec<T> {
        self.objects.candidates(fingerprint)
    }

    fn candidates_by_index(
        &self,
        index: &str,
        value: &str,
        fingerprint: Fingerprint,
    ) -> Result<Vec<T>, UnknownIndex> {
        self.objects.candidates_by_index(index, value, fingerprint)
    }

    fn list_keys(&self) -> Vec<ObjectKey> {
        self.objects.list_keys()
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.objects.for_each_key(visit);
    }

    fn len(&self) -> usize {
        self.objects.len()
    }

    fn index(&self, index: &str, object: &T) -> Result<Vec<T>, UnknownIndex> {
        self.objects.index(index, object)
    }

    fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        self.objects.index_keys(index, value)
    }

    fn list_index_func_values(&self, index: &str) -> Vec<String> {
        self.objects.list_index_func_values(index)
    }

    fn index_names(&self) -> Vec<String> {
        self.objects.index_names()
    }

    fn add_indexers(&self, more: Indexers<T>) -> Result<(), Error> {
        self.objects.add_indexers(more)
    }
}

impl<T: Clone + Send + Sync + 'static> Store<T> {
    /// An empty store of objects that `key` tells apart.
    #[doc(alias = "NewStore")]
    pub fn new<R: Into<ObjectKey>>(key: impl Fn(&T) -> R + Send + Sync + 'static) -> Self {
        Self::from_parts(key, ThreadSafeStore::new(Indexers::new()))
    }

    pub(super) fn from_parts<R: Into<ObjectKey>>(
        key: impl Fn(&T) -> R + Send + Sync + 'static,
        objects: impl Into<Arc<ThreadSafeStore<T>>>,
    ) -> Self {
        let key = move |object: &T| key(object).into();
        Self { objects: Arc::new(Own { key, objects: objects.into() }) }
    }

    pub(super) fn view(objects: impl Objects<T> + 'static) -> Self {
        Self { objects: Arc::new(objects) }
    }

    pub(crate) fn key_of(&self, object: &T) -> ObjectKey {
        self.objects.key(object)
    }

    /// Stores an object; gives back the one it replaces.
    pub fn add(&self, object: T) -> Option<T> {
        self.objects.insert(self.objects.key(&object), object)
    }

    /// The same as [`add`](Self::add), for those who like to say which.
    pub fn update(&self, object: T) -> Option<T> {
        self.add(object)
    }

    /// Removes the object of the same key, and gives it back.
    pub fn delete(&self, object: &T) -> Option<T> {
        self.objects.remove_with(self.objects.key(object).as_str(), object)
    }

    /// Removes the object of a key, and gives it back.
    pub fn delete_by_key(&self, key: &str) -> Option<T> {
        self.objects.remove(key)
    }

    /// Replaces everything in one step.
    pub fn replace(&self, objects: impl IntoIterator<Item = T>, resource_version: &str) {
        let keyed = objects.into_iter().map(|object| (self.objects.key(&object), object));
        self.objects.replace(keyed.collect(), resource_version);
    }

    /// The stored object of the same key.
    #[must_use]
    pub fn get(&self, object: &T) -> Option<T> {
        self.get_by_key(self.objects.key(object).as_str())
    }

    /// The stored object of a key.
    #[must_use]
    pub fn get_by_key(&self, key: &str) -> Option<T> {
        self.objects.get(key.as_bytes())
    }

    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<T> {
        self.objects.candidates(Fingerprint::NOTHING)
    }

    /// All keys, in no order.
    #[must_use]
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        self.objects.list_keys()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes everything, and gives the memory back.
    pub fn clear(&self) {
        self.objects.clear();
    }

    /// See [`ThreadSafeStore::resource_version`].
    #[must_use]
    pub fn resource_version(&self) -> String {
        self.objects.resource_version()
    }

    /// See [`ThreadSafeStore::bookmark`].
    pub fn bookmark(&self, resource_version: &str) {
        self.objects.bookmark(resource_version);
    }

    pub(super) fn objects(&self) -> &dyn Objects<T> {
        &*self.objects
    }
}

impl<T: Clone + Send + Sync + 'static> Indexer<T> {
    /// An empty store of objects that `key` tells apart, with indices.
    #[doc(alias = "NewIndexer")]
    pub fn new<R: Into<ObjectKey>>(
        key: impl Fn(&T) -> R + Send + Sync + 'static,
        indexers: Indexers<T>,
    ) -> Self {
        Store::from_parts(key, ThreadSafeStore::new(indexers)).into()
    }

    /// The same objects without the indices.
    #[must_use]
    pub fn store(&self) -> Store<T> {
        self.store.clone()
    }

    /// See [`ThreadSafeStore::index`].
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index(&self, index: &str, object: &T) -> Result<Vec<T>, UnknownIndex> {
        self.store.objects.index(index, object)
    }

    /// The objects under a value of an index, in no order.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<T>, UnknownIndex> {
        self.store.objects.candidates_by_index(index, value, Fingerprint::NOTHING)
    }

    /// The keys of the objects under a value of an index, sorted.
    ///
    /// # Errors
    ///
    /// If there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        self.store.objects.index_keys(index, value)
    }

    /// The values of an index that some object has, in no order; none if there is no such index.
    #[must_use]
    pub fn list_index_func_values(&self, index: &str) -> Vec<String> {
        self.store.objects.list_index_func_values(index)
    }

    /// The names of the indices.
    #[must_use]
    pub fn index_names(&self) -> Vec<String> {
        self.store.objects.index_names()
    }

    /// Adds indices, over the objects that are there and those to come.
    ///
    /// # Errors
    ///
    /// If there is an index of one of the names; nothing is added then.
    pub fn add_indexers(&self, more: Indexers<T>) -> Result<(), Error> {
        self.store.objects.add_indexers(more)
    }
}

impl<T> From<Store<T>> for Indexer<T> {
    fn from(store: Store<T>) -> Self {
        Self { store }
    }
}

/// Everything a [`Store`] can do, an indexer can.
impl<T> std::ops::Deref for Indexer<T> {
    type Target = Store<T>;

    fn deref(&self) -> &Store<T> {
        &self.store
    }
}

impl<T: Clone + Send + Sync + 'static> KnownObjects<T> for Store<T> {
    fn keys(&self) -> Vec<ObjectKey> {
        self.list_keys()
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.objects().for_each_key(visit);
    }

    fn get(&self, key: &ObjectKey) -> Option<T> {
        self.get_by_key(key.as_str())
    }
}

impl<T: Clone + Send + Sync + 'static> KnownObjects<T> for Indexer<T> {
    fn keys(&self) -> Vec<ObjectKey> {
        self.store.list_keys()
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.objects().for_each_key(visit);
    }

    fn get(&self, key: &ObjectKey) -> Option<T> {
        self.store.get_by_key(key.as_str())
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone() }
    }
}

impl<T> Clone for Indexer<T> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone() }
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("objects", &self.objects.len())
            .field("indices", &self.objects.index_names())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Indexer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}
