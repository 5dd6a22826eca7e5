//! Reading a cache as one would read the API.

use std::{borrow::Cow, sync::Arc};

use super::{
    fingerprint::Fingerprint,
    index::Indexers,
    store::{Indexer, Store},
    thread_safe_store::{Options, ThreadSafeStore},
};
use crate::{
    error::{Error, Result, Status, StatusDetails},
    object::{ApiResource, Labels, Object, ObjectKey},
    selector::{
        fields,
        labels::{LabelSet, Selector},
    },
};

/// The name of the index by namespace that every informer has.
pub const NAMESPACE_INDEX: &str = "namespace";

/// The longest `namespace/name` that is looked up without allocating.
const KEY_ON_STACK: usize = 128;

/// The key of an object: `namespace/name`, or `name`.
#[must_use]
#[doc(alias = "MetaNamespaceKeyFunc")]
pub fn meta_namespace_key<K>(object: &Object<K>) -> ObjectKey {
    object.key().clone()
}

/// The index of objects by namespace, under [`NAMESPACE_INDEX`].
#[must_use]
#[doc(alias = "MetaNamespaceIndexFunc")]
pub fn namespace_index<K: 'static>() -> Indexers<Object<K>> {
    Indexers::new().with_field(NAMESPACE_INDEX, |object: &Object<K>| {
        Some(object.namespace().unwrap_or_default())
    })
}

impl<K: 'static> Indexer<Object<K>> {
    /// An empty store of objects with an index by namespace and these, which knows about labels and
    /// resource versions. An index named [`NAMESPACE_INDEX`] takes the place of the usual one.
    #[must_use]
    pub fn of_objects(more: Indexers<Object<K>>) -> Self {
        Self::over(Arc::new(object_store(more)))
    }

    pub(crate) fn over(objects: Arc<ThreadSafeStore<Object<K>>>) -> Self {
        Store::from_parts(meta_namespace_key::<K>, objects).into()
    }
}

/// What is under [`Indexer::of_objects`].
pub(crate) fn object_store<K: 'static>(more: Indexers<Object<K>>) -> ThreadSafeStore<Object<K>> {
    let mut indexers = Indexers::new();
    if !more.contains(NAMESPACE_INDEX) {
        indexers = namespace_index();
    }
    indexers.extend(more);
    let options = Options {
        resource_version: Some(Object::resource_version),
        fingerprint: Some(|object| Fingerprint::of_labels(object.labels())),
        touch: Some(Object::touch),
    };
    ThreadSafeStore::with_options(indexers, options)
}

/// Reads the objects of a cache by name, namespace and labels; cheap to clone.
///
/// Reads never wait for the server, and give handles, not copies.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kinformer::{Client, SharedInformerFactory, labels};
/// # let factory = SharedInformerFactory::new(Client::try_default()?);
/// let pods = factory.informer::<Pod>().lister(); // holds the cache, not the informer
/// let web = pods.namespace("prod").list(&labels::parse("app=web")?);
/// match pods.get("prod/web-0") {
///     Ok(pod) => println!("{} of {}", pod.resource_version(), web.len()),
///     Err(error) if error.is_not_found() => println!("not there"),
///     Err(error) => return Err(error),
/// }
/// # Ok::<(), kinformer::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "GenericLister")]
pub struct Lister<K> {
    objects: Indexer<Object<K>>,
    resource: ApiResource,
}

/// A [`Lister`] for one namespace.
#[derive(Debug)]
#[doc(alias = "GenericNamespaceLister")]
pub struct NamespaceLister<K> {
    lister: Lister<K>,
    namespace: String,
}

impl<K: 'static> Lister<K> {
    /// A lister of the objects in `objects`, which are of `resource`.
    #[must_use]
    pub fn new(objects: Indexer<Object<K>>, resource: ApiResource) -> Self {
        Self { objects, resource }
    }

    /// The objects whose labels match, in no order.
    ///
    /// Looks at every object, but at the labels of few: see the benchmarks.
    #[must_use]
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        if selector.matches_nothing() {
            return Vec::new();
        }
        let mut found = self.objects.objects().candidates(Fingerprint::of_selector(selector));
        keep_matching(&mut found, selector);
        found
    }

    /// The objects whose metadata matches a field selector, in no order.
    #[must_use]
    pub fn list_by_fields(&self, selector: &fields::Selector) -> Vec<Object<K>> {
        let mut found = self.objects.list();
        found.retain(|object| selector.matches(object));
        found
    }

    /// The objects that an index has under `value`, in no order: see
    /// [`SharedInformer::add_indexers`](crate::SharedInformer::add_indexers).
    ///
    /// # Errors
    ///
    /// If there is no such index.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Object<K>>> {
        Ok(self.objects.by_index(index, value)?)
    }

    /// The object of a name, if its resource does not live in namespaces; else of `namespace/name`.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](Error::is_not_found) if there is none. A name without a namespace, of a resource
    /// that lives in namespaces, is never found, and the error says so; [`namespace`](Self::namespace) gets
    /// objects by their name alone.
    pub fn get(&self, name: &str) -> Result<Object<K>> {
        self.objects.get_by_key(name).ok_or_else(|| not_found_by_key(&self.resource, name))
    }

    /// The objects of one namespace; of all of them, if it is empty.
    #[must_use]
    #[doc(alias = "ByNamespace")]
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<K> {
        NamespaceLister { lister: self.clone(), namespace: namespace.to_owned() }
    }
}

impl<K: 'static> NamespaceLister<K> {
    /// The objects of the namespace whose labels match, in no order.
    #[must_use]
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        if self.namespace.is_empty() {
            return self.lister.list(selector);
        }
        if selector.matches_nothing() {
            return Vec::new();
        }
        let wanted = Fingerprint::of_selector(selector);
        let objects = self.lister.objects.objects();
        let mut found = objects
            .candidates_by_index(NAMESPACE_INDEX, &self.namespace, wanted)
            .unwrap_or_else(|_| {
                // A store of the user's own may lack the index.
                let mut all = objects.candidates(wanted);
                all.retain(|object| object.namespace() == Some(self.namespace.as_str()));
                all
            });
        keep_matching(&mut found, selector);
        found
    }

    /// The object of a name.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](Error::is_not_found) if there is none.
    pub fn get(&self, name: &str) -> Result<Object<K>> {
        with_key(&self.namespace, name, |key| self.lister.objects.objects().get(key))
            .ok_or_else(|| not_found(&self.lister.resource, name, ""))
    }
}

fn keep_matching<K>(objects: &mut Vec<Object<K>>, selector: &Selector) {
    if !selector.matches_everything() {
        objects.retain(|object| selector.matches(&object.labels()));
    }
}

fn with_key<R>(namespace: &str, name: &str, look_up: impl FnOnce(&[u8]) -> R) -> R {
    if namespace.is_empty() {
        return look_up(name.as_bytes());
    }
    let (before, length) = (namespace.len() + 1, namespace.len() + 1 + name.len());
    let mut on_stack = [b'/'; KEY_ON_STACK];
    let Some(key) = on_stack.get_mut(..length) else {
        return look_up(format!("{namespace}/{name}").as_bytes());
    };
    key[..namespace.len()].copy_from_slice(namespace.as_bytes());
    key[before..].copy_from_slice(name.as_bytes());
    look_up(key)
}

/// Of a key that was asked for without a namespace, perhaps by mistake.
fn not_found_by_key(resource: &ApiResource, key: &str) -> Error {
    let mut hint = String::new();
    if resource.is_namespaced() && !key.contains('/') {
        hint = format!(": {resource} live in namespaces, as in \"default/{key}\"");
    }
    not_found(resource, key, &hint)
}

fn not_found(resource: &ApiResource, name: &str, hint: &str) -> Error {
    let text = format!("{resource} {name:?} not found{hint}");
    let mut status = Status::failure(404, "NotFound", text);
    status.details = Some(StatusDetails {
        name: name.to_owned(),
        group: resource.group().to_owned(),
        kind: resource.plural().to_owned(),
        ..StatusDetails::default()
    });
    Error::Api(Box::new(status))
}

impl LabelSet for Labels<'_> {
    fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        Labels::get(self, key)
    }
}

/// The fields that every object has to select by.
impl<K> fields::FieldSet for Object<K> {
    fn get(&self, field: &str) -> Option<Cow<'_, str>> {
        match field {
            "metadata.name" => Some(self.name().into()),
            "metadata.namespace" => Some(self.namespace().unwrap_or_default().into()),
            _ => None,
        }
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), resource: self.resource.clone() }
    }
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self { lister: self.lister.clone(), namespace: self.namespace.clone() }
    }
}
