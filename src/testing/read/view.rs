//! Objects in the form that the client wants to see.

use std::{sync::Arc, time::SystemTime};

use serde_json::{Value, json};

use super::table::{self, IncludeObject};
use crate::testing::{
    http::{Body, Reply, Request, View},
    kinds::ResourceDef,
    routes::ResourceRequest,
    store::{Stored, type_meta},
};

/// One object in the form the client asked for.
pub(crate) fn show(
    asked: &ResourceRequest<'_>,
    object: &Arc<Stored>,
    view: View,
    code: u16,
) -> Reply {
    let def = asked.def;
    let object = object.shown(def);
    match view {
        View::Whole => Reply::object(code, &type_meta(&def.kind, &def.api_version()), &object),
        View::Metadata(version) => {
            let head = type_meta("PartialObjectMetadata", &format!("meta.k8s.io/{version}"));
            let body = format!("{head}{}}}\n", object.metadata());
            Reply::new(code, "application/json", Body::Bytes(body.into_bytes()))
        }
        View::Table(version) => {
            let value = object.value(def);
            let meta = json!({"resourceVersion": object.revision.to_string()});
            Reply::json(code, &rows(asked.request, def, &[&value], meta, version))
        }
    }
}

/// A `Table` of objects.
pub(crate) fn rows(
    request: &Request,
    def: &ResourceDef,
    objects: &[&Value],
    meta: Value,
    version: &str,
) -> Value {
    let include = request.parameter("includeObject").and_then(IncludeObject::parse);
    let include = include.unwrap_or_default();
    let mut table = table::table(def, objects, meta, include, SystemTime::now());
    table["apiVersion"] = format!("meta.k8s.io/{version}").into();
    table
}

/// A `Table` of many objects, of which only a few are decoded at a time.
pub(crate) fn long_table(
    request: &Request,
    def: &ResourceDef,
    items: &[Arc<Stored>],
    meta: Value,
    version: &str,
) -> Value {
    let mut table = rows(request, def, &[], meta, version);
    let mut all = Vec::with_capacity(items.len());
    for some in items.chunks(32) {
        let values: Vec<Value> = some.iter().map(|item| item.value(def)).collect();
        let values: Vec<&Value> = values.iter().collect();
        if let Value::Array(part) = rows(request, def, &values, Value::Null, version)["rows"].take()
        {
            all.extend(part);
        }
    }
    table["rows"] = all.into();
    table
}
