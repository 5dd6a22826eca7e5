//! A store of objects seen as objects of another type.
//!
//! What is stored has no type: [`Object<K>`](Object) is a view of it. So one store serves handles of
//! any type, and this is how a handle looks at it.

use super::{
    fingerprint::Fingerprint,
    index::{Indexers, UnknownIndex},
    store::{Indexer, Objects, Store},
};
use crate::{
    error::Error,
    object::{DynamicObject, Object, ObjectKey},
};

struct View(Store<Object>);

impl Indexer<Object> {
    /// The same objects as objects of another type.
    #[must_use]
    pub fn cast<K: 'static>(&self) -> Indexer<Object<K>> {
        Store::view(View(self.store())).into()
    }
}

fn cast<K>(objects: Vec<Object>) -> Vec<Object<K>> {
    objects.into_iter().map(Object::into_cast).collect()
}

impl<K: 'static> Objects<Object<K>> for View {
    fn key(&self, object: &Object<K>) -> ObjectKey {
        object.key().clone()
    }

    fn insert(&self, key: ObjectKey, object: Object<K>) -> Option<Object<K>> {
        self.0.objects().insert(key, object.into_cast()).map(Object::into_cast)
    }

    fn remove(&self, key: &str) -> Option<Object<K>> {
        self.0.objects().remove(key).map(Object::into_cast)
    }

    fn remove_with(&self, key: &str, last: &Object<K>) -> Option<Object<K>> {
        self.0.objects().remove_with(key, &last.cast()).map(Object::into_cast)
    }

    fn replace(&self, objects: Vec<(ObjectKey, Object<K>)>, resource_version: &str) {
        let objects = objects.into_iter().map(|(key, object)| (key, object.into_cast())).collect();
        self.0.objects().replace(objects, resource_version);
    }

    fn clear(&self) {
        self.0.objects().clear();
    }

    fn bookmark(&self, resource_version: &str) {
        self.0.objects().bookmark(resource_version);
    }

    fn resource_version(&self) -> String {
        self.0.objects().resource_version()
    }

    fn get(&self, key: &[u8]) -> Option<Object<K>> {
        self.0.objects().get(key).map(Object::into_cast)
    }

    fn candidates(&self, fingerprint: Fingerprint) -> Vec<Object<K>> {
        cast(self.0.objects().candidates(fingerprint))
    }

    fn candidates_by_index(
        &self,
        index: &str,
        value: &str,
        fingerprint: Fingerprint,
    ) -> Result<Vec<Object<K>>, UnknownIndex> {
        self.0.objects().candidates_by_index(index, value, fingerprint).map(cast)
    }

    fn list_keys(&self) -> Vec<ObjectKey> {
        self.0.objects().list_keys()
    }

    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.0.objects().for_each_key(visit);
    }

    fn len(&self) -> usize {
        self.0.objects().len()
    }

    fn index(&self, index: &str, object: &Object<K>) -> Result<Vec<Object<K>>, UnknownIndex> {
        self.0.objects().index(index, &object.cast()).map(cast)
    }

    fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, UnknownIndex> {
        self.0.objects().index_keys(index, value)
    }

    fn list_index_func_values(&self, index: &str) -> Vec<String> {
        self.0.objects().list_index_func_values(index)
    }

    fn index_names(&self) -> Vec<String> {
        self.0.objects().index_names()
    }

    fn add_indexers(&self, more: Indexers<Object<K>>) -> Result<(), Error> {
        self.0.objects().add_indexers(more.erase())
    }
}

impl<K: 'static> Indexers<Object<K>> {
    /// The same functions for objects whose type is not known: each gets its object as a `K`.
    pub(crate) fn erase(self) -> Indexers<Object<DynamicObject>> {
        self.map_object(Object::cast)
    }
}
