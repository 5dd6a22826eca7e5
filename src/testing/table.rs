//! STAND-IN until the registry helper's version lands: name and age.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::registry::ResourceDef;

pub(crate) fn table(
    _def: &ResourceDef,
    items: &[&Value],
    meta: Value,
    _include_object: &str,
    _now: SystemTime,
) -> Value {
    let rows: Vec<Value> = items
        .iter()
        .map(|item| {
            json!({"cells": [item["metadata"]["name"]], "object":
                {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}})
        })
        .collect();
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
        "columnDefinitions": [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}],
        "rows": rows})
}
