//! GET and LIST.

use std::{sync::Arc, time::SystemTime};

use serde_json::{Value, json};

use super::{
    options::{ListOptions, Page, parse_revision},
    table::{self, IncludeObject},
};
use crate::testing::{
    failure::{self, Outcome},
    http::{Body, ListBody, Reply, Request, Shape, View, negotiation},
    kinds::ResourceDef,
    routes::ResourcePath,
    shared::Core,
    store::{Scope, Selection, State, Stored, storage, type_meta},
};

/// Answers a GET of one object.
pub(crate) fn get(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::Object)?;
    if let Some(revision) = parse_revision(request.parameter("resourceVersion").unwrap_or(""))? {
        core.reach(revision)?;
    }
    let name = path.name.as_deref().unwrap_or_default();
    let object = core.read(|state| find(state, def, path))?;
    let object = object.ok_or_else(|| failure::not_found(def, name))?;
    Ok(show(request, def, &object, view, 200))
}

/// The object a path names.
pub(crate) fn find(
    state: &State,
    def: &ResourceDef,
    path: &ResourcePath,
) -> Outcome<Option<Arc<Stored>>> {
    let namespace = path.namespace.as_deref().unwrap_or_default();
    let name = path.name.as_deref().unwrap_or_default();
    Ok(state.object(&storage(def), &def.key(namespace, name)).cloned())
}

/// One object in the form the client asked for.
pub(crate) fn show(
    request: &Request,
    def: &ResourceDef,
    object: &Arc<Stored>,
    view: View,
    code: u16,
) -> Reply {
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
            Reply::json(code, &rows(request, def, &[&value], meta, version))
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
fn long_table(
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

/// One page of a list, or all of it.
pub(crate) struct Listed {
    pub(crate) items: Vec<Arc<Stored>>,
    pub(crate) meta: Value,
}

/// Answers a LIST.
pub(crate) fn list(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let options = ListOptions::parse(request, false)?;
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::List)?;
    let selection = Selection::parse(def, &options, None)?;
    let scope = Scope { storage: storage(def), namespace: path.namespace.clone() };
    if let Some(revision) = options.revision {
        core.reach(revision)?;
    }
    let Listed { items, mut meta } =
        core.read(|state| page(state, &scope, &selection, &options))?;
    if !def.builtin && meta.get("continue").is_none() && view == View::Whole {
        meta["continue"] = "".into();
    }
    let body = match view {
        View::Whole => return Ok(whole_list(def, items, &meta)),
        View::Metadata(version) => {
            let api_version = format!("meta.k8s.io/{version}");
            ListBody {
                open: open("PartialObjectMetadataList", &api_version, &meta),
                item: type_meta("PartialObjectMetadata", &api_version),
                items,
                metadata_only: true,
            }
        }
        View::Table(version) => {
            return Ok(Reply::json(200, &long_table(request, def, &items, meta, version)));
        }
    };
    Ok(Reply::new(200, "application/json", Body::List(body)))
}

/// A list of whole objects.
pub(crate) fn whole_list(def: &ResourceDef, items: Vec<Arc<Stored>>, meta: &Value) -> Reply {
    // Items of built-in kinds come without kind and version, custom resources with them.
    let item = if def.builtin { "{".to_owned() } else { type_meta(&def.kind, &def.api_version()) };
    let body = ListBody {
        open: open(&def.list_kind, &def.api_version(), meta),
        item,
        items: items.iter().map(|item| item.shown(def)).collect(),
        metadata_only: false,
    };
    Reply::new(200, "application/json", Body::List(body))
}

/// What a LIST finds.
pub(crate) fn page(
    state: &State,
    scope: &Scope,
    selection: &Selection,
    options: &ListOptions,
) -> Outcome<Listed> {
    let exact = options.exact || (options.limit > 0 && options.revision.is_some_and(|at| at > 0));
    let revision = match (&options.page, options.revision) {
        (Some(page), _) if page.revision >= 0 => page.revision as u64,
        (None, Some(revision)) if exact => revision,
        _ => state.revision(),
    };
    if revision < state.oldest() {
        return Err(options.page.as_ref().map_or_else(
            || failure::expired("The resourceVersion for the provided list is too old."),
            expired_page,
        ));
    }
    let mut items = state.list(scope, revision)?;
    items.retain(|item| {
        options.page.as_ref().is_none_or(|page| item.key >= page.start) && selection.matches(item)
    });
    let mut meta = json!({"resourceVersion": revision.to_string()});
    // From its cache, which is what "0" asks for, a server gives everything at once.
    let limit =
        if options.revision == Some(0) && options.page.is_none() { 0 } else { options.limit };
    if limit > 0 && items.len() > limit {
        let remaining = items.len() - limit;
        items.truncate(limit);
        if let Some(last) = items.last() {
            meta["continue"] = Page::after(revision, &last.key).encode().into();
        }
        // With a selector a real server would have to look at everything to know.
        if selection.is_empty() {
            meta["remainingItemCount"] = remaining.into();
        }
    }
    Ok(Listed { items, meta })
}

/// 410 for a page token that is too old, with one to go on from all the same.
pub(crate) fn expired_page(page: &Page) -> Box<crate::Status> {
    let mut status = failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can \
         start a new list without the continue parameter, or use the continue token in this response \
         to retrieve the remainder of the results. Continuing with the provided token results in an \
         inconsistent list - objects that were created, modified, or deleted between the time the \
         first chunk was returned and now may show up in the list.",
    );
    status.metadata.continue_token = page.inconsistent().encode();
    status
}

fn open(kind: &str, api_version: &str, meta: &Value) -> String {
    format!("{}\"metadata\":{meta},\"items\":[", type_meta(kind, api_version))
}
