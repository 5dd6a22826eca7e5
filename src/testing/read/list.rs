//! LIST: everything, a page, or what is left of it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    options::{ListOptions, Page},
    view::{table_of, table_reply},
};
use crate::testing::{
    failure::{self, Outcome},
    http::{Body, ListBody, Reply, Shape, View},
    kinds::ResourceDef,
    routes::ResourceRequest,
    store::{Scope, Selection, State, Stored, type_meta},
};

/// Answers a LIST.
pub(crate) fn list(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, .. } = asked;
    let options = ListOptions::parse(request, false)?;
    let view = request.view(Shape::List)?;
    let selection = Selection::parse(def, &options, None)?;
    let scope = asked.scope();
    if let Some(revision) = options.revision {
        shared.reach(revision)?;
    }
    let Listed { items, mut meta } =
        shared.read(|state| page(state, &scope, &selection, &options))?;
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
            let table = table_of(request, def).encode(&items, &meta, version);
            return Ok(table_reply(200, &table));
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

/// One page of a list, or all of it.
struct Listed {
    items: Vec<Arc<Stored>>,
    meta: Value,
}

/// What a LIST finds.
fn page(
    state: &State,
    scope: &Scope,
    selection: &Selection,
    options: &ListOptions,
) -> Outcome<Listed> {
    let revision = match (&options.page, options.revision) {
        (Some(page), _) if page.revision >= 0 => page.revision as u64,
        (None, Some(revision)) if options.exact => revision,
        _ => state.revision(),
    };
    if let Some(page) = options.page.as_ref().filter(|_| revision > state.revision()) {
        return Err(page.unreached());
    }
    if revision < state.oldest() {
        return Err(options.page.as_ref().map_or_else(
            || failure::expired("The resourceVersion for the provided list is too old."),
            Page::expired,
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

fn open(kind: &str, api_version: &str, meta: &Value) -> String {
    format!("{}\"metadata\":{meta},\"items\":[", type_meta(kind, api_version))
}
