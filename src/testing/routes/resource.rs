//! From a request to its answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    documents,
    path::{ResourcePath, Verb},
    review,
};
use crate::testing::{
    failure::{self, Outcome},
    faults::WatchScript,
    http::{Reply, Request, Shape, body, negotiation},
    kinds::ResourceDef,
    read::{ListOptions, list, watch},
    shared::Core,
    store::{Scope, Selection, State, Stored, storage},
    subresources,
    write::{Call, DeleteOptions, Patch, Removal, check_dry_run, returns_deleted_object},
};

/// Answers a request. `script` is what is to go wrong with a watch.
pub(crate) fn answer(core: &Arc<Core>, request: &Request, script: WatchScript) -> Reply {
    let Some(segments) = request.segments() else {
        return Reply::failure(&failure::bad_request(
            "the path is not valid percent-encoded UTF-8",
        ));
    };
    let reply = match documents::answer(core, request, &segments) {
        Some(reply) => reply,
        None => match ResourcePath::parse(&segments) {
            Some(path) => resource(core, request, &path, script),
            None => Err(failure::unknown_path()),
        },
    };
    reply.unwrap_or_else(|status| Reply::failure(&status))
}

fn resource(
    core: &Arc<Core>,
    request: &Request,
    path: &ResourcePath,
    script: WatchScript,
) -> Outcome<Reply> {
    let def = core
        .read(|state| state.registry.find(&path.group, &path.version, &path.resource))
        .ok_or_else(failure::unknown_path)?;
    let verb = path.verb(request).ok_or_else(failure::method_not_allowed)?;
    if request.method == "HEAD" {
        return Err(failure::method_not_allowed());
    }
    if !def.namespaced && path.namespace.is_some() {
        return Err(failure::unknown_path());
    }
    if def.namespaced && path.namespace.is_none() {
        if path.name.is_some() && !path.watch {
            return Err(failure::unknown_path());
        }
        if verb == Verb::Create && def.stored {
            return Err(failure::method_not_allowed());
        }
    }
    if path.subresource.is_some() {
        return subresources::answer(core, request, &def, path, verb);
    }
    if !def.verbs.contains(&verb.as_str()) {
        return Err(failure::method_not_allowed());
    }
    let mut reply = match verb {
        Verb::Get => list::get(core, request, &def, path),
        Verb::List => list::list(core, request, &def, path),
        Verb::Watch => watch::watch(core, request, &def, path, script),
        Verb::Create if !def.stored => review::answer(core, request, &def, path),
        Verb::Create => create(core, request, &def, path),
        Verb::Update => update(core, request, &def, path),
        Verb::Patch => patch(core, request, &def, path),
        Verb::Delete => remove(core, request, &def, path),
        Verb::DeleteCollection => remove_collection(core, request, &def, path),
    }?;
    if let Some(warning) = deprecation(&def) {
        reply.add_warning(warning);
    }
    Ok(reply)
}

/// What a server says about resources that are not to be used any more.
fn deprecation(def: &ResourceDef) -> Option<&'static str> {
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

fn create(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    if path.name.is_some() {
        return Err(failure::method_not_allowed());
    }
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::Object)?;
    let (call, object) = (Call::of(request)?, body::object(request)?);
    let namespace = path.namespace.as_deref();
    let stored = core.write(|state| state.create(def, namespace, object, &call))?;
    Ok(list::show(request, def, &stored, view, 201).warn(&call))
}

pub(crate) fn update(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::Object)?;
    let (call, object) = (Call::of(request)?, body::object(request)?);
    let name = path.name.as_deref().ok_or_else(failure::method_not_allowed)?;
    let part = path.subresource.as_deref();
    let (stored, created) = core
        .write(|state| state.update(def, path.namespace.as_deref(), name, part, object, &call))?;
    Ok(list::show(request, def, &stored, view, if created { 201 } else { 200 }).warn(&call))
}

pub(crate) fn patch(
    core: &Core,
    request: &Request,
    def: &ResourceDef,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::Object)?;
    let (call, patch) = (Call::of(request)?, Patch::of(request, def)?);
    let name = path.name.as_deref().ok_or_else(failure::method_not_allowed)?;
    let (namespace, part) = (path.namespace.as_deref(), path.subresource.as_deref());
    let (stored, created) =
        core.write(|state| state.patch(def, namespace, name, part, &patch, &call))?;
    Ok(list::show(request, def, &stored, view, if created { 201 } else { 200 }).warn(&call))
}

fn remove(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let view = negotiation::negotiate(request.header_list("accept").as_deref(), Shape::Object)?;
    let (call, options) = delete_options(request)?;
    let name = path.name.as_deref().unwrap_or_default();
    let removal =
        core.write(|state| state.delete(def, path.namespace.as_deref(), name, &options, &call))?;
    Ok(match removal {
        Removal::Pending(object) => list::show(request, def, &object, view, 200),
        Removal::Gone(object) if returns_deleted_object(def) => {
            list::show(request, def, &object, view, 200)
        }
        Removal::Gone(object) => {
            let mut details = json!({"name": object.name, "kind": def.plural, "uid": object.uid});
            if !def.group.is_empty() {
                details["group"] = def.group.clone().into();
            }
            Reply::json(
                200,
                &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": details}),
            )
        }
    })
}

fn remove_collection(
    core: &Core,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let (call, options) = delete_options(request)?;
    let which = ListOptions::parse(request, false)?;
    let selection = Selection::parse(def, &which, None)?;
    let scope = Scope { storage: storage(def), namespace: path.namespace.clone() };
    let deleted = core.write(|state| {
        let selected = |object: &Stored| selection.matches(object);
        state.delete_collection(def, &scope, selected, &options, &call)
    })?;
    let meta = json!({"resourceVersion": core.read(State::revision).to_string()});
    Ok(list::whole_list(def, deleted, &meta))
}

/// Deletions take their options from the body or, without one, from the query.
fn delete_options(request: &Request) -> Outcome<(Call, DeleteOptions)> {
    let mut call = Call::of(request)?;
    let options: DeleteOptions = if request.body.is_empty() {
        let parameter = |name: &str| request.parameter(name).filter(|value| !value.is_empty());
        let mut options = json!({});
        if let Some(seconds) = parameter("gracePeriodSeconds").and_then(|text| text.parse().ok()) {
            options["gracePeriodSeconds"] = Value::Number(i64::into(seconds));
        }
        if let Some(policy) = parameter("propagationPolicy") {
            options["propagationPolicy"] = policy.into();
        }
        if let Some(orphan) = parameter("orphanDependents") {
            options["orphanDependents"] = (orphan == "true").into();
        }
        serde_json::from_value(options).unwrap_or_default()
    } else {
        let mut value = body::object(request)?;
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, member| !member.is_null());
        }
        serde_json::from_value(value).map_err(|error| failure::bad_request(error.to_string()))?
    };
    call.dry_run |= check_dry_run(options.dry_run.iter().map(String::as_str))?;
    Ok((call, options))
}
