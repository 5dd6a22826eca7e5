//! Requests for resources: each verb and what answers it.

use std::sync::Arc;

use serde_json::json;

use super::{
    path::{ResourcePath, Verb},
    resource_request::ResourceRequest,
    review,
};
use crate::testing::{
    failure::{self, Outcome},
    faults::WatchScript,
    http::{Reply, Request, Shape},
    kinds::ResourceDef,
    read::{self, ListOptions},
    shared::Shared,
    store::{Selection, State, Stored},
    subresources,
    write::{DeleteOptions, Patch, Removal, WriteContext, returns_deleted_object},
};

pub(crate) fn answer(
    shared: &Arc<Shared>,
    request: &Request,
    path: &ResourcePath,
    script: WatchScript,
) -> Outcome<Reply> {
    let def = shared
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
    let asked = ResourceRequest { shared, request, def: &def, path };
    if path.subresource.is_some() {
        return subresources::answer(&asked, verb);
    }
    if !def.verbs.contains(&verb.as_str()) {
        return Err(failure::method_not_allowed());
    }
    let mut reply = match verb {
        Verb::Get => read::get(&asked),
        Verb::List => read::list(&asked),
        Verb::Watch => read::watch(&asked, script),
        Verb::Create if !def.stored => review::answer(&asked),
        Verb::Create => create(&asked),
        Verb::Update => update(&asked),
        Verb::Patch => patch(&asked),
        Verb::Delete => delete(&asked),
        Verb::DeleteCollection => delete_collection(&asked),
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

fn create(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    if asked.path.name.is_some() {
        return Err(failure::method_not_allowed());
    }
    let object = asked.request.object();
    write(asked, |state, context| {
        let namespace = asked.path.namespace.as_deref();
        Ok((state.create(asked.def, namespace, object?, context)?, true))
    })
}

/// Answers a PUT of an object or a part of it.
pub(crate) fn update(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { request, def, path, .. } = asked;
    let object = request.object();
    let name = path.name.as_deref().ok_or_else(failure::method_not_allowed)?;
    let (namespace, part) = (path.namespace.as_deref(), path.subresource.as_deref());
    write(asked, |state, context| state.update(def, namespace, name, part, object?, context))
}

/// Answers a PATCH of an object or a part of it.
pub(crate) fn patch(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { request, def, path, .. } = asked;
    let patch = Patch::of(request, def);
    let name = path.name.as_deref().ok_or_else(failure::method_not_allowed)?;
    let (namespace, part) = (path.namespace.as_deref(), path.subresource.as_deref());
    write(asked, |state, context| state.patch(def, namespace, name, part, &patch?, context))
}

/// Carries out a write that says what it has stored and whether it is new, and shows that.
fn write(
    asked: &ResourceRequest<'_>,
    write: impl FnOnce(&mut State, &WriteContext) -> Outcome<(Arc<Stored>, bool)>,
) -> Outcome<Reply> {
    let view = asked.request.view(Shape::Object)?;
    let context = WriteContext::of(asked.request)?;
    let (stored, created) = asked.shared.write(|state| write(state, &context))?;
    Ok(read::show(asked, &stored, view, if created { 201 } else { 200 }).warn(&context))
}

fn delete(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { request, def, path, .. } = asked;
    let view = request.view(Shape::Object)?;
    let (context, options) = DeleteOptions::of(request)?;
    let removal = asked.shared.write(|state| {
        state.delete(def, path.namespace.as_deref(), asked.name(), &options, &context)
    })?;
    Ok(match removal {
        Removal::Gone(object) if !returns_deleted_object(def) => {
            let mut details = json!({"name": object.name, "kind": def.plural, "uid": object.uid});
            if !def.group.is_empty() {
                details["group"] = def.group.clone().into();
            }
            Reply::success(200, Some(("details", details)))
        }
        Removal::Gone(object) | Removal::Pending(object) => read::show(asked, &object, view, 200),
    })
}

fn delete_collection(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, .. } = asked;
    let (context, options) = DeleteOptions::of(request)?;
    let which = ListOptions::parse(request, false)?;
    let selection = Selection::parse(def, &which, None)?;
    let deleted = shared.write(|state| {
        let selected = |object: &Stored| selection.matches(object);
        state.delete_collection(def, &asked.scope(), selected, &options, &context)
    })?;
    let meta = json!({"resourceVersion": shared.read(State::revision).to_string()});
    Ok(read::whole_list(def, deleted, &meta))
}
