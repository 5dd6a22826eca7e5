//! Objects in the form that the client wants to see.

use std::{sync::Arc, time::SystemTime};

use serde_json::json;

use super::table::{IncludeObject, Table};
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
            let meta = json!({"resourceVersion": object.revision.to_string()});
            table_reply(code, &table_of(asked.request, def).encode(&[object], &meta, version))
        }
    }
}

/// A `Table` as a response.
pub(super) fn table_reply(code: u16, table: &str) -> Reply {
    Reply::new(code, "application/json", Body::Bytes(format!("{table}\n").into_bytes()))
}

/// How objects are printed for a request.
pub(super) fn table_of<'a>(request: &Request, def: &'a ResourceDef) -> Table<'a> {
    let include = request.parameter("includeObject").and_then(IncludeObject::parse);
    Table::new(def, include.unwrap_or_default(), SystemTime::now())
}
