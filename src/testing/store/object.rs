//! One stored object: encoded once, with what selection needs beside it.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::testing::kinds::{ResourceDef, fields, versions};

/// An object at one revision. Never changes: a write makes another one.
#[derive(Debug)]
pub(crate) struct Stored {
    /// `namespace/name`, or `name` for cluster-scoped kinds. Storage is sorted by it, as etcd's is.
    pub(crate) key: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) revision: u64,
    pub(super) labels: BTreeMap<String, String>,
    /// The UIDs of its owners.
    pub(super) owners: Vec<String>,
    /// The JSON without `apiVersion` and `kind`, which depend on the version it is read in, and
    /// with `metadata` first, so that metadata alone is a slice of it.
    body: String,
    metadata_end: usize,
    /// Fields that selectors have asked for, so that a thousand watches decode an object once.
    selected: Mutex<Vec<(String, String)>>,
}

impl Stored {
    /// Encodes `value`, whose metadata must be complete.
    pub(crate) fn new(def: &ResourceDef, value: &Value) -> Self {
        let empty = Map::new();
        let object = value.as_object().unwrap_or(&empty);
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));

        let mut body = String::with_capacity(256);
        body.push_str("{\"metadata\":");
        encode_metadata(metadata, &mut body);
        let metadata_end = body.len();
        for (field, content) in object {
            if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
                body.push(',');
                push_member(&mut body, field, content);
            }
        }
        body.push('}');
        body.shrink_to_fit();

        let labels = metadata["labels"].as_object().into_iter().flatten();
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        Self {
            key: def.key(&namespace, &name),
            uid: text("uid"),
            revision: text("resourceVersion").parse().unwrap_or(0),
            labels: labels
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
            owners: owners.filter_map(|owner| Some(owner["uid"].as_str()?.to_owned())).collect(),
            namespace,
            name,
            body,
            metadata_end,
            selected: Mutex::default(),
        }
    }

    /// The object as a JSON value in the version of `def`.
    pub(crate) fn value(&self, def: &ResourceDef) -> Value {
        let mut value: Value = serde_json::from_str(&self.body).unwrap_or_default();
        value["apiVersion"] = def.api_version().into();
        value["kind"] = def.kind.clone().into();
        versions::to_version(def, &mut value);
        value
    }

    /// The object in the shape it has in the version of `def`.
    pub(crate) fn shown(self: &Arc<Self>, def: &ResourceDef) -> Arc<Self> {
        if def.builtin && matches!(def.kind.as_str(), "Event" | "HorizontalPodAutoscaler") {
            Arc::new(Self::new(def, &self.value(def)))
        } else {
            self.clone()
        }
    }

    /// The JSON after its opening brace: put [`type_meta`] before it.
    pub(crate) fn tail(&self) -> &str {
        &self.body[1..]
    }

    /// The `metadata` member alone, without braces around it.
    pub(crate) fn metadata(&self) -> &str {
        &self.body[1..self.metadata_end]
    }

    /// Whether a field, as [`fields::resolve`] names it, has this value.
    pub(super) fn has_field(&self, def: &ResourceDef, field: &str, value: &str) -> bool {
        match field {
            "metadata.name" => self.name == value,
            "metadata.namespace" => self.namespace == value,
            _ => {
                let mut selected = self.selected.lock();
                if let Some((_, known)) = selected.iter().find(|(name, _)| name == field) {
                    return known == value;
                }
                let found = fields::value(def, &self.value(def), field);
                let has = found == value;
                selected.push((field.to_owned(), found));
                has
            }
        }
    }
}

/// Writes metadata with its members in the order a real server has, for people to recognise.
fn encode_metadata(metadata: &Value, body: &mut String) {
    const ORDER: [&str; 15] = [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ];
    let empty = Map::new();
    let members = metadata.as_object().unwrap_or(&empty);
    let known = ORDER.iter().filter_map(|name| members.get_key_value(*name));
    let others = members.iter().filter(|(name, _)| !ORDER.contains(&name.as_str()));
    body.push('{');
    for (at, (name, value)) in known.chain(others).enumerate() {
        if at > 0 {
            body.push(',');
        }
        push_member(body, name, value);
    }
    body.push('}');
}

fn push_member(body: &mut String, name: &str, value: &Value) {
    // Formatting JSON into a string cannot fail.
    let _ = write!(body, "{}:{value}", Value::from(name));
}

/// The opening of an object's JSON: its brace, kind and version, up to a comma.
pub(crate) fn type_meta(kind: &str, api_version: &str) -> String {
    format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",")
}
