//! Types for objects whose kind is known only at run time, or of which only the metadata matters.

use std::{collections::BTreeMap, ops::Deref};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::null_as_default;

/// Any object at all, as a tree of JSON values.
///
/// What [`Object::get`](crate::Object::get) gives where no type is known. A tree costs several times
/// its text in memory; to pass the text on, take [`Object::json`](crate::Object::json).
///
/// ```
/// use kinformer::DynamicObject;
///
/// let widget: DynamicObject = serde_json::from_str(r#"{"spec":{"size":3}}"#)?;
/// assert_eq!(widget["spec"]["size"], 3);
/// assert_eq!(widget.pointer("/spec/size").and_then(|size| size.as_u64()), Some(3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
#[doc(alias = "Unstructured")]
pub struct DynamicObject(pub Value);

impl Deref for DynamicObject {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl From<Value> for DynamicObject {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

/// An object of which only the metadata is wanted.
///
/// [`Client::metadata`](crate::Client::metadata) asks the server to leave out the rest.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PartialObjectMetadata {
    /// The metadata.
    pub metadata: Metadata,
}

/// The metadata that every object has, as plain data.
///
/// For what an [`Object`](crate::Object) says without decoding, see its methods; this is for types
/// of your own, to be read and to be made:
///
/// ```
/// use kinformer::Metadata;
///
/// #[derive(serde::Deserialize, serde::Serialize)]
/// struct Widget { metadata: Metadata, size: u32 }
/// kinformer::resource!(Widget, "example.com/v1", "Widget", "widgets");
///
/// let widget = Widget { metadata: Metadata { name: "a".into(), ..Metadata::default() }, size: 3 };
/// # fn create(client: &kinformer::Client, widget: &Widget) -> kinformer::Result<()> {
/// client.api::<Widget>().namespace("default").create(widget)?;
/// # Ok(()) }
/// ```
///
/// With the feature `k8s-openapi`, its `ObjectMeta` does the same with typed times.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[doc(alias = "ObjectMeta")]
pub struct Metadata {
    /// The name, unique among the objects of a kind in a namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the server puts before a generated name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace; empty for an object of the whole cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Unique in time and space.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Changes with every write.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Changes with every change of the desired state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// When the object was made, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<String>,
    /// When the object was asked to go, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Who must agree before the object goes.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub finalizers: Vec<String>,
    /// To select by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_as_default")]
    pub labels: BTreeMap<String, String>,
    /// To read, not to select by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
    /// The objects this one belongs to.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub owner_references: Vec<OwnerReference>,
}

/// An object that another one belongs to.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// `v1` or `group/version`.
    pub api_version: String,
    /// The kind of the owner.
    pub kind: String,
    /// The name of the owner.
    pub name: String,
    /// The UID of the owner.
    pub uid: String,
    /// Whether the owner is the one that manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner stays, when deleted in the foreground, until this object is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}
