//! The unit that flows from the wire to caches, handlers and C: [`Object`].

mod dynamic;
mod ingest;
mod key;
mod meta;
mod namespace;
mod patterns;
mod resource;
mod shape;
mod sketch;
mod slot;
mod text;
#[cfg(feature = "capi")]
mod texts;

#[cfg(feature = "capi")]
use std::sync::OnceLock;
use std::{borrow::Cow, fmt, hint::black_box, marker::PhantomData, sync::Arc};

use serde::{Serialize, Serializer};

#[cfg(feature = "capi")]
pub(crate) use self::texts::Texts;
pub use self::{
    dynamic::{DynamicObject, Metadata, OwnerReference, PartialObjectMetadata},
    key::ObjectKey,
    meta::Labels,
    resource::{ApiResource, Body, GroupVersionKind, GroupVersionResource, Resource},
    shape::Shape,
};
use self::{
    ingest::{Kept, found_in, member, normalise},
    meta::Meta,
    patterns::Patterns,
    slot::Slot,
    text::Text,
};
pub(crate) use self::{
    namespace::check_namespace,
    resource::{join_api_version, split_api_version},
};
use crate::{
    error::{DecodeError, Found, Result},
    json::{
        decode,
        outline::{Outline, Value},
        pointer,
        skips::Skips,
    },
    sync::Mutex,
};

/// One object of the API: its text as the server sent it, its metadata found, its body decoded when
/// somebody asks.
///
/// A handle: cloning it, and [`cast`](Self::cast)ing it to another type, costs one reference count.
/// Queueing, storing, indexing and selecting by metadata never decode.
///
/// # What decoding costs
///
/// [`get`](Self::get) decodes on first touch, and whoever holds the object shares that one decode:
/// 30 to 50 us and 37 KB for a full k8s-openapi `Pod`, a few microseconds for a struct of a few fields,
/// because the large parts of the text that it does not want are stepped over. What
/// happens to it afterwards is the informer's [`Decoded`] setting.
///
/// # Differences from client-go
///
/// Typed objects from a cache have no `kind` and `apiVersion` there; here [`kind`](Self::kind) and
/// [`api_version`](Self::api_version) are always right. Objects cannot be changed in the cache: there
/// is nothing to copy before use. `metadata.managedFields`, half the size of a typical object, is left
/// out unless asked for; an update sent without it leaves the server's untouched.
///
/// ```
/// use kinformer::{ApiResource, DynamicObject, Object};
///
/// let pods = ApiResource::namespaced("v1", "Pod", "pods");
/// let text = br#"{"metadata":{"name":"web-0","namespace":"default"},"spec":{"nodeName":"n1"}}"#;
/// let pod = Object::<DynamicObject>::from_json(&pods, text)?;
/// assert_eq!((pod.kind(), pod.key().as_str()), ("Pod", "default/web-0"));
/// assert_eq!(pod.get()?["spec"]["nodeName"], "n1");
/// # Ok::<(), kinformer::Error>(())
/// ```
pub struct Object<K = DynamicObject> {
    core: Arc<Core>,
    kind: PhantomData<fn() -> K>,
}

/// What an informer does with bodies that somebody decoded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Decoded {
    /// Keep a decoded body for as long as the object: a second touch is free, and memory grows by what
    /// was touched.
    Keep,
    /// Share a decoded body while somebody holds it, or handlers of a shared informer are being told of the object,
    /// and no longer. Where several handlers have more than 32 events waiting, what they decode of the last 256
    /// is kept for them.
    #[default]
    WhileHeld,
}

/// What all objects of one source have in common.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) resource: ApiResource,
    api_version: String,
    /// What the items of a list leave out.
    type_members: [String; 2],
    pub(crate) cluster: Arc<str>,
    pub(crate) shape: Shape,
    patterns: Mutex<Patterns>,
    /// What C has asked for, with NULs.
    #[cfg(feature = "capi")]
    texts: OnceLock<Texts>,
}

struct Core {
    key: ObjectKey,
    origin: Arc<Origin>,
    text: Text,
    meta: Meta,
    /// Of the whole text.
    skips: Skips,
    slot: Mutex<Slot>,
    #[cfg(feature = "capi")]
    texts: OnceLock<Box<CoreTexts>>,
}

/// What C has asked for, with NULs.
#[cfg(feature = "capi")]
#[derive(Default)]
struct CoreTexts {
    json: OnceLock<Box<str>>,
    identity: OnceLock<Texts>,
    labels: OnceLock<Texts>,
    annotations: OnceLock<Texts>,
}

impl Origin {
    pub(crate) fn new(resource: ApiResource, cluster: Arc<str>) -> Self {
        let api_version = resource.api_version();
        let type_members = [member("apiVersion", &api_version), member("kind", resource.kind())];
        Self {
            api_version,
            type_members,
            resource,
            cluster,
            shape: Shape::default(),
            patterns: Mutex::default(),
            #[cfg(feature = "capi")]
            texts: OnceLock::new(),
        }
    }

    /// The same source, giving objects another shape.
    pub(crate) fn shaped(&self, shape: Shape) -> Self {
        Self { shape, ..Self::new(self.resource.clone(), self.cluster.clone()) }
    }
}

/// What C reads: kept for as long as the object, once it was asked for.
#[cfg(feature = "capi")]
impl<K> Object<K> {
    /// The text with its NUL; put together and kept if the object does not have it in one piece.
    pub(crate) fn json_with_nul(&self) -> &str {
        self.core.text.with_nul().unwrap_or_else(|| {
            self.core.texts().json.get_or_init(|| {
                let mut json = self.json().into_owned();
                json.push('\0');
                json.into()
            })
        })
    }

    /// The value at a pointer, in the text that is kept for C.
    pub(crate) fn pointer_for_c(&self, pointer: &str) -> Option<&str> {
        pointer::find(self.json_with_nul().strip_suffix('\0')?, pointer)
    }

    /// Key, namespace, name, UID, resource version, and when it was made and asked to go.
    pub(crate) fn identity_texts(&self) -> &Texts {
        self.core.texts().identity.get_or_init(|| {
            let texts = [
                self.key().as_str(),
                self.namespace().unwrap_or_default(),
                self.name(),
                self.uid(),
                self.resource_version(),
                self.creation_timestamp().unwrap_or_default(),
                self.deletion_timestamp().unwrap_or_default(),
            ];
            texts.into_iter().collect()
        })
    }

    /// The labels: key, value, key, value.
    pub(crate) fn label_texts(&self) -> &Texts {
        self.core.texts().labels.get_or_init(|| self.labels().to_texts())
    }

    /// The annotations: key, value, key, value.
    pub(crate) fn annotation_texts(&self) -> &Texts {
        self.core.texts().annotations.get_or_init(|| self.annotations().to_texts())
    }

    /// `apiVersion`, kind, and the name of the cluster.
    pub(crate) fn origin_texts(&self) -> &Texts {
        let origin = &self.core.origin;
        origin.texts.get_or_init(|| {
            [&*origin.api_version, origin.resource.kind(), &*origin.cluster].into_iter().collect()
        })
    }
}

#[cfg(feature = "capi")]
impl Core {
    fn texts(&self) -> &CoreTexts {
        self.texts.get_or_init(Box::default)
    }
}

impl<K> Object<K> {
    /// Makes an object of `resource` from its JSON text.
    ///
    /// # Errors
    ///
    /// If the text is not a JSON object with metadata that has a name.
    pub fn from_json(resource: &ApiResource, json: &[u8]) -> Result<Self> {
        let origin = Arc::new(Origin::new(resource.clone(), "".into()));
        Ok(Self::ingest_text(&origin, json)?)
    }

    /// Makes an object from text, as the rules of its origin say.
    pub(crate) fn ingest_text(origin: &Arc<Origin>, json: &[u8]) -> Result<Self, DecodeError> {
        outlined(origin, json, |json| Self::ingest(origin, json))
    }

    /// The same for the answer to something that was made: it need not have a name, as reviews have none.
    pub(crate) fn ingest_answer(origin: &Arc<Origin>, json: &[u8]) -> Result<Self, DecodeError> {
        outlined(origin, json, |json| Self::ingest_nameless(origin, json))
    }

    /// The same from a value that arrived.
    pub(crate) fn ingest(origin: &Arc<Origin>, json: Value<'_>) -> Result<Self, DecodeError> {
        let object = Self::ingest_nameless(origin, json)?;
        if object.name().is_empty() {
            return Err(unusable(origin, json.bytes(), "its metadata has no name"));
        }
        Ok(object)
    }

    fn ingest_nameless(origin: &Arc<Origin>, json: Value<'_>) -> Result<Self, DecodeError> {
        let normal = normalise(origin, json);
        let Kept { text, meta, skips } =
            normal.map_err(|reason| unusable(origin, json.bytes(), reason))?;
        let key = ObjectKey::new(Some(text.part(meta.namespace)), text.part(meta.name));
        let core = Core {
            key,
            origin: origin.clone(),
            text,
            meta,
            skips,
            slot: Mutex::default(),
            #[cfg(feature = "capi")]
            texts: OnceLock::new(),
        };
        Ok(Self { core: Arc::new(core), kind: PhantomData })
    }

    /// The same object seen as another type.
    #[must_use]
    pub fn cast<J>(&self) -> Object<J> {
        Object { core: self.core.clone(), kind: PhantomData }
    }

    /// The same for an object that is not needed as it was.
    #[must_use]
    pub fn into_cast<J>(self) -> Object<J> {
        Object { core: self.core, kind: PhantomData }
    }

    /// Reads what cloning the handle writes to.
    pub(crate) fn touch(&self) {
        black_box(Arc::strong_count(&self.core));
    }

    /// Whether two handles are of one and the same object.
    #[must_use]
    pub fn is_same<J>(&self, other: &Object<J>) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// `namespace/name`, or `name`.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.core.key
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        // Of the key: whoever asks for it has had that in hand, and the text may be far away.
        let key = self.core.key.as_str();
        key.get(key.len().saturating_sub(self.core.meta.name.len())..).unwrap_or_default()
    }

    /// The namespace; `None` for an object of the whole cluster.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        non_empty(self.core.key.as_str().get(..self.core.meta.namespace.len()).unwrap_or_default())
    }

    /// The UID; empty if the object was never stored.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.core.text.part(self.core.meta.uid)
    }

    /// The resource version; empty if the object was never stored. Compare for equality only.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.core.text.part(self.core.meta.resource_version)
    }

    /// The labels.
    #[must_use]
    pub fn labels(&self) -> Labels<'_> {
        Labels { text: self.core.text.part(self.core.meta.labels) }
    }

    /// The annotations.
    #[must_use]
    pub fn annotations(&self) -> Labels<'_> {
        Labels { text: self.core.text.part(self.core.meta.annotations) }
    }

    /// The objects this one belongs to; decoded for every call.
    #[doc(alias = "GetControllerOf")]
    #[must_use]
    pub fn owner_references(&self) -> Vec<OwnerReference> {
        let text = self.core.text.part(self.core.meta.owner_references);
        decode::decode(text, &Skips::default()).unwrap_or_default()
    }

    /// When the object was made, in RFC 3339.
    #[must_use]
    pub fn creation_timestamp(&self) -> Option<&str> {
        non_empty(self.core.text.part(self.core.meta.creation_timestamp))
    }

    /// When the object was asked to go, in RFC 3339; it stays until its finalizers are done.
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<&str> {
        non_empty(self.core.text.part(self.core.meta.deletion_timestamp))
    }

    /// The kind, as in `Pod`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.core.origin.resource.kind()
    }

    /// `v1` or `group/version`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.core.origin.api_version
    }

    /// The resource it belongs to.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.core.origin.resource
    }

    /// The name of the cluster it came from; empty if it did not come from a client.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.core.origin.cluster
    }

    /// The text as the server sent it, with `apiVersion` and `kind`, without managed fields.
    ///
    /// Borrowed if it is kept in one piece. Of objects that are like others, as the pods of one workload
    /// are, only the differences are kept: their text is put together in half a microsecond.
    #[must_use]
    pub fn json(&self) -> Cow<'_, str> {
        self.core.text.whole()
    }

    /// The text of one value, by its JSON pointer (RFC 6901), found without decoding the rest; `None` if
    /// the pointer leads nowhere.
    ///
    /// Strings have their quotes and escapes: it is for `serde_json::from_str`, or to be compared.
    ///
    /// ```
    /// # use kinformer::{ApiResource, Object};
    /// # let pods = ApiResource::namespaced("v1", "Pod", "pods");
    /// # let text = br#"{"metadata":{"name":"web-0"},"spec":{"nodeName":"n1","containers":[{"name":"c"}]}}"#;
    /// let pod: Object = Object::from_json(&pods, text)?;
    /// assert_eq!(pod.pointer("/spec/nodeName").as_deref(), Some(r#""n1""#));
    /// assert_eq!(pod.pointer("/spec/containers/0/name").as_deref(), Some(r#""c""#));
    /// assert_eq!(pod.pointer("/status/phase"), None);
    /// # Ok::<(), kinformer::Error>(())
    /// ```
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<Cow<'_, str>> {
        match self.json() {
            Cow::Borrowed(text) => pointer::find(text, pointer).map(Cow::Borrowed),
            Cow::Owned(text) => pointer::find(&text, pointer).map(|found| found.to_owned().into()),
        }
    }

    /// From now on, what anybody decodes stays for others until it is [released](Self::release_decode). Says whether
    /// it did not before.
    pub(crate) fn share_decode(&self) -> bool {
        self.core.slot.lock().share()
    }

    /// Whether there is a decode that stays for others.
    pub(crate) fn shares_a_decode(&self) -> bool {
        self.core.slot.lock().is_shared()
    }

    pub(crate) fn release_decode(&self) {
        let released = self.core.slot.lock().release();
        // It is the user's, and so is what happens when it is dropped: not under the lock.
        drop(released);
    }

    fn what(&self) -> String {
        format!("{} {:?}", self.core.origin.resource, self.core.key.as_str())
    }

    fn undecodable(&self, what: String, error: serde_json::Error) -> DecodeError {
        DecodeError::new(what, error).of_one(Found {
            key: Some(self.key().as_str().to_owned()),
            resource_version: Some(self.resource_version().to_owned()),
        })
    }
}

impl<K: Body> Object<K> {
    /// The decoded object, shared with everybody who holds this object.
    ///
    /// # Errors
    ///
    /// If the text does not fit `K`: the error names the object, and other objects are not affected.
    pub fn get(&self) -> Result<Arc<K>, DecodeError> {
        let kept = self.core.slot.lock().body();
        if let Some(body) = kept
            && let Ok(body) = body.downcast::<K>()
        {
            return Ok(body);
        }
        // Decoding runs code of the user's: not under the lock. Of two threads that both do it, the
        // first to come back shares its own.
        let body = Arc::new(self.decode()?);
        let mut slot = self.core.slot.lock();
        let Some(first) = slot.body() else {
            slot.fill(body.clone(), self.core.origin.shape.decoded);
            return Ok(body);
        };
        drop(slot);
        Ok(first.downcast::<K>().unwrap_or(body))
    }

    /// The same object with another body, whose metadata counts.
    pub(crate) fn with_body(&self, body: &impl Serialize) -> Result<Object> {
        let text = serde_json::to_vec(body)
            .map_err(|error| self.undecodable(format!("{} anew", self.what()), error))?;
        let changed = Object::ingest_text(&self.core.origin, &text)?;
        if changed.key() != self.key() {
            let text = format!("it made {} of {}", changed.key(), self.key());
            return Err(crate::Error::invalid("transform", text));
        }
        Ok(changed)
    }

    /// Decodes the object anew, to own and to change.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn decode(&self) -> Result<K, DecodeError> {
        decode::decode(&self.json(), &self.core.skips)
            .map_err(|error| self.undecodable(self.what(), error))
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        self.cast()
    }
}

impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("resource", &format_args!("{}", self.resource()))
            .field("key", self.key())
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

/// As `Pod default/web-0`.
impl<K> fmt::Display for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.key())
    }
}

/// As its own text, so that an object can be sent back as it came.
impl<K> Serialize for Object<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.json();
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Why a text is no object, with what can be said about it.
fn unusable(origin: &Origin, json: &[u8], reason: &str) -> DecodeError {
    let found = found_in(json);
    let what = match &found.key {
        Some(key) => format!("{} {key:?}", origin.resource),
        None => format!("an object of {}", origin.resource),
    };
    DecodeError::new(what, serde::de::Error::custom(reason)).of_one(found)
}

/// Does something with a text that is one value; one that is not has no members.
fn outlined<T>(origin: &Origin, json: &[u8], with: impl FnOnce(Value<'_>) -> T) -> T {
    match Outline::to_depth(1 + origin.shape.depth()).outlining(json) {
        Ok((outline, range)) => with(outline.value(json, range)),
        Err(_) => with(Value::malformed(json)),
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Arc<Origin> {
        let pods = ApiResource::namespaced("v1", "Pod", "pods");
        Arc::new(Origin::new(pods, "prod".into()))
    }

    fn object(json: &str) -> Result<Object, DecodeError> {
        Object::ingest_text(&origin(), json.as_bytes())
    }

    #[test]
    fn metadata_is_found_without_decoding() {
        let json = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u",
            "resourceVersion":"7","labels":{"app":"web","empty":""},"annotations":{"n":"x\ny"},
            "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":null,
            "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"ru","controller":true}]}}"#;
        let object = object(json).unwrap();
        assert_eq!((object.name(), object.namespace()), ("a", Some("b")));
        assert_eq!((object.uid(), object.resource_version()), ("u", "7"));
        assert_eq!(object.labels().get("app").as_deref(), Some("web"));
        assert_eq!(object.labels().get("empty").as_deref(), Some(""));
        assert_eq!(object.labels().get("none"), None);
        assert_eq!(object.annotations().get("n").as_deref(), Some("x\ny"));
        assert_eq!(object.creation_timestamp(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(object.deletion_timestamp(), None);
        assert_eq!(object.owner_references()[0].name, "r");
        assert_eq!(object.json(), json, "kept as it came");
        assert_eq!((object.cluster(), object.to_string().as_str()), ("prod", "Pod b/a"));
    }

    #[test]
    fn kind_and_api_version_are_right_for_list_items_too() {
        let item = object(r#" {"metadata":{"name":"a"}} "#).unwrap();
        assert_eq!((item.kind(), item.api_version()), ("Pod", "v1"));
        assert_eq!(item.json(), r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
        assert_eq!(item.get().unwrap()["kind"], "Pod");
    }

    #[test]
    fn managed_fields_are_cut_out_wherever_they_stand() {
        for (json, expected) in [
            (
                r#"{"name":"a","managedFields":[{"x":[1,"]"]}],"uid":"u"}"#,
                r#"{"name":"a","uid":"u"}"#,
            ),
            (r#"{"name":"a" , "managedFields":[]}"#, r#"{"name":"a"}"#),
            (r#"{"managedFields":[{}] , "name":"a"}"#, r#"{"name":"a"}"#),
        ] {
            let json =
                format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{json},"spec":{{}}}}"#);
            let object = object(&json).unwrap();
            let expected =
                format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{expected},"spec":{{}}}}"#);
            assert_eq!(object.json(), expected);
            assert_eq!(object.name(), "a");
        }
    }

    #[test]
    fn quotes_and_brackets_that_do_not_match_lead_nowhere() {
        for odd in [
            // The managed fields seem to end behind the end of the object.
            r#"{"metadata":{"name":"a","x":1","managedFields":"}}""#,
            r#"{"metadata":{"name":"a","x":1","managedFields":"}}"}}"#,
            r#"{"metadata":{"name":"a","x":[},"managedFields":[]}}"#,
        ] {
            // Not JSON, so either an error or an object that does not decode.
            if let Ok(object) = object(odd) {
                assert!(object.get().is_err(), "{odd}");
            }
        }
    }

    #[test]
    fn escapes_and_duplicates_are_read_as_json_means_them() {
        let odd = r#"{"meta\u0064ata":{"name":"x","n\u0061me":"\u0061","namespace":"b","labels":{"a\/b":"c"}}}"#;
        let object = object(odd).unwrap();
        assert_eq!(object.key(), &"b/a");
        assert_eq!(object.labels().get("a/b").as_deref(), Some("c"));
    }

    #[test]
    fn what_is_not_an_object_is_an_error_for_it_alone() {
        for bad in [
            "",
            "null",
            "[]",
            "3",
            "{",
            "{}",
            r#"{"metadata":3}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"name":""}}"#,
            r#"{"metadata":{"name":3}}"#,
            r#"{"metadata":{"name":"a","labels":[]}}"#,
            r#"{"metadata":{"name":"a\"b"}}"#,
            r#"{"metadata":{"name":"a"}"#,
            r#"{"metadata":{"name":"a"}}}"#,
            r#"{"metadata":{"name":"a"}} {}"#,
        ] {
            let error = object(bad).unwrap_err();
            assert!(error.to_string().contains("pods"), "{bad}: {error}");
        }
        assert!(
            Object::<DynamicObject>::ingest_text(&origin(), b"{\"metadata\":{\"name\":\"\xff\"}}")
                .is_err()
        );
    }

    #[test]
    fn metadata_behind_a_body_of_three_megabytes_is_found() {
        let large = "x".repeat(3 << 20);
        let text = format!(
            r#"{{"data":{{"k":"{large}"}},"metadata":{{"name":"a","namespace":"b","resourceVersion":"7"}}}}"#
        );
        let object = object(&text).unwrap();
        assert_eq!((object.key().as_str(), object.resource_version()), ("b/a", "7"));
        assert_eq!(object.get().unwrap()["data"]["k"], large);
        assert_eq!(object.cast::<PartialObjectMetadata>().get().unwrap().metadata.name, "a");
    }

    #[test]
    fn a_number_that_no_float_can_hold_is_an_error_only_for_who_wants_it() {
        let text =
            r#"{"metadata":{"name":"a"},"spec":{"large":1e400,"long":12345678901234567890123}}"#;
        let object = object(text).unwrap();
        assert_eq!(object.pointer("/spec/large").as_deref(), Some("1e400"));
        assert_eq!(object.pointer("/spec/long").as_deref(), Some("12345678901234567890123"));
        assert_eq!(object.cast::<PartialObjectMetadata>().get().unwrap().metadata.name, "a");
        let error = object.get().unwrap_err();
        assert!(error.to_string().contains("out of range"), "{error}");
        assert_eq!(error.key(), Some("a"));
    }

    #[test]
    fn a_decode_is_shared_while_somebody_holds_it() {
        let object = object(r#"{"metadata":{"name":"a"}}"#).unwrap();
        let (first, second) =
            (object.get().unwrap(), object.cast::<DynamicObject>().get().unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        let lean = object.cast::<PartialObjectMetadata>();
        assert_eq!(lean.get().unwrap().metadata.name, "a");
        drop((first, second));
        assert!(matches!(&*object.core.slot.lock(), Slot::Held(body) if body.upgrade().is_none()));
    }

    /// Decodes only together with another.
    #[derive(serde::Deserialize)]
    #[serde(from = "serde::de::IgnoredAny")]
    struct InPairs;

    impl From<serde::de::IgnoredAny> for InPairs {
        fn from(_: serde::de::IgnoredAny) -> Self {
            static BOTH: std::sync::Barrier = std::sync::Barrier::new(2);
            BOTH.wait();
            Self
        }
    }

    #[test]
    fn two_threads_that_decode_at_once_share_one_decode() {
        let object = object(r#"{"metadata":{"name":"a"}}"#).unwrap().into_cast::<InPairs>();
        let decode = |object: Object<InPairs>| move || object.get().unwrap();
        let other = crate::thread::spawn("decode", decode(object.clone())).unwrap();
        let one = decode(object.clone())();
        let other = other.join().unwrap();
        assert!(Arc::ptr_eq(&one, &other));
        assert!(Arc::ptr_eq(&one, &object.get().unwrap()));
    }

    #[test]
    fn a_decode_as_another_type_takes_nobody_elses_away() {
        let object = object(r#"{"metadata":{"name":"a"}}"#).unwrap();
        let held = object.get().unwrap();
        let lean = object.cast::<PartialObjectMetadata>().get().unwrap();
        assert_eq!(lean.metadata.name, "a");
        assert!(Arc::ptr_eq(&held, &object.get().unwrap()));
        drop(held);
        let shared = object.cast::<PartialObjectMetadata>().get().unwrap();
        assert!(Arc::ptr_eq(&shared, &object.cast().get().unwrap()), "there is room for it now");
    }

    #[test]
    fn a_kept_decode_outlives_its_holders() {
        let mut kept = Origin::new(ApiResource::namespaced("v1", "Pod", "pods"), "".into());
        kept.shape.decoded = Decoded::Keep;
        let object =
            Object::<DynamicObject>::ingest_text(&Arc::new(kept), br#"{"metadata":{"name":"a"}}"#);
        let object = object.unwrap();
        let first = Arc::as_ptr(&object.get().unwrap());
        assert_eq!(Arc::as_ptr(&object.get().unwrap()), first);
    }

    #[test]
    fn a_body_that_does_not_fit_its_type_names_the_object() {
        let object = object(r#"{"metadata":{"name":"a","namespace":"b"}}"#).unwrap();
        let error = object.cast::<Vec<u8>>().get().unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot decode pods \"b/a\": invalid type: map"), "{text}");
        assert_eq!(error.key(), Some("b/a"));
        assert!(object.get().is_ok());
    }
}
