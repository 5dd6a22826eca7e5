//! Subresources that are not simply a part of their object's JSON.

use std::{io, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::testing::{
    failure::{self, Outcome},
    http::{Body, Reply, Request, Wire, body},
    kinds::ResourceDef,
    random,
    read::list,
    routes::{ResourcePath, Verb, resource},
    shared::Core,
    store::State,
    time,
    write::{Call, DeleteOptions, Patch, Removal, check_preconditions, metadata},
};

/// Answers a request for a subresource.
pub(crate) fn answer(
    core: &Arc<Core>,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
    verb: Verb,
) -> Outcome<Reply> {
    let part = path.subresource.as_deref().unwrap_or_default();
    let known = def.subresource(part).ok_or_else(failure::unknown_path)?;
    if !known.verbs.contains(&verb.as_str()) {
        return Err(failure::method_not_allowed());
    }
    match (part, verb) {
        ("scale", _) => scale(core, request, def, path, verb),
        ("log", _) => log(core, request, def, path),
        ("eviction", _) => evict(core, request, def, path),
        ("binding", _) => {
            let binding = body::object(request)?;
            bind(core, request, def, path, &binding)
        }
        ("token", _) => token(core, request, def, path),
        ("exec" | "attach" | "portforward" | "proxy", _) => {
            let message = format!("the embedded API server has no {part}: nothing runs behind it");
            Err(Box::new(crate::Status::failure(501, "NotImplemented", message)))
        }
        (_, Verb::Get) => list::get(core, request, def, path),
        (_, Verb::Update) => resource::update(core, request, def, path),
        (_, Verb::Patch) => resource::patch(core, request, def, path),
        _ => Err(failure::method_not_allowed()),
    }
}

/// Where a kind keeps its replicas: JSON pointers to what is wanted, what is there, and the
/// selector.
struct Places {
    wanted: String,
    there: String,
    selector: Option<String>,
}

impl Places {
    fn of(def: &ResourceDef) -> Self {
        let pointer = |path: &str| path.replace('.', "/");
        match &def.scale {
            Some(paths) => Self {
                wanted: pointer(&paths.spec_replicas),
                there: pointer(&paths.status_replicas),
                selector: paths.label_selector.as_deref().map(pointer),
            },
            None => Self {
                wanted: "/spec/replicas".into(),
                there: "/status/replicas".into(),
                selector: None,
            },
        }
    }

    fn scale(&self, object: &Value) -> Value {
        let number =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata[field] = value.clone();
            }
        }
        let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": number(&self.wanted)},
                "status": {"replicas": number(&self.there)}});
        let selector = match &self.selector {
            Some(pointer) => object.pointer(pointer).and_then(Value::as_str).map(str::to_owned),
            None => selector_text(&object["spec"]["selector"]),
        };
        if let Some(selector) = selector {
            scale["status"]["selector"] = selector.into();
        }
        scale
    }
}

fn scale(
    core: &Core,
    request: &Request,
    def: &ResourceDef,
    path: &ResourcePath,
    verb: Verb,
) -> Outcome<Reply> {
    let name = path.name.as_deref().unwrap_or_default();
    let places = Places::of(def);
    let find =
        |state: &State| list::find(state, def, path)?.ok_or_else(|| failure::not_found(def, name));
    if verb == Verb::Get {
        let object = core.read(find)?.value(def);
        return Ok(Reply::json(200, &places.scale(&object)));
    }
    let call = Call::of(request)?;
    let patch = if verb == Verb::Patch { Some(Patch::of(request, def)?) } else { None };
    let sent = if patch.is_none() { body::object(request)? } else { Value::Null };
    let stored = core.write(|state| {
        let old = find(state)?;
        let current = old.value(def);
        let scale = match &patch {
            // A merge is all there is to do about a scale, whoever applies it.
            Some(patch) => patch.apply_to(def, &places.scale(&current))?,
            None => sent,
        };
        check_preconditions(def, &old, &scale)?;
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let why = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            return Err(failure::invalid(
                "Scale",
                "autoscaling",
                name,
                &[("spec.replicas", "FieldValueInvalid", why)],
            ));
        }
        let mut new = current.clone();
        set(&mut new, &places.wanted, replicas.into());
        state.replace(def, &old, current, new, Some("scale"), &call)
    })?;
    Ok(Reply::json(200, &places.scale(&stored.value(def))))
}

/// A label selector object, or a map of labels, in the form of a query parameter.
fn selector_text(selector: &Value) -> Option<String> {
    let labels = selector.get("matchLabels").unwrap_or(selector).as_object()?;
    let mut terms: Vec<String> = labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let values = values.join(",");
        terms.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.sort();
    Some(terms.join(","))
}

/// Sets what a JSON pointer points at, making the objects on the way.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}

/// A pod that is evicted is deleted: there are no disruption budgets to ask.
fn evict(core: &Core, request: &Request, def: &ResourceDef, path: &ResourcePath) -> Outcome<Reply> {
    let eviction = body::object(request)?;
    let mut options = eviction["deleteOptions"].clone();
    if let Some(members) = options.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    let options: DeleteOptions = if options.is_object() {
        serde_json::from_value(options).map_err(|error| failure::bad_request(error.to_string()))?
    } else {
        DeleteOptions::default()
    };
    let mut call = Call::of(request)?;
    call.dry_run |= !options.dry_run.is_empty();
    let name = path.name.as_deref().unwrap_or_default();
    let removed =
        core.write(|state| state.delete(def, path.namespace.as_deref(), name, &options, &call))?;
    match removed {
        Removal::Gone(_) | Removal::Pending(_) => Ok(success(201)),
    }
}

/// What a scheduler does: gives a pod its node.
pub(crate) fn bind(
    core: &Core,
    request: &Request,
    def: &ResourceDef,
    path: &ResourcePath,
    binding: &Value,
) -> Outcome<Reply> {
    let call = Call::of(request)?;
    let name = path.name.clone().unwrap_or_else(|| metadata::text(binding, "name"));
    let path = ResourcePath { name: Some(name.clone()), ..path.clone() };
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        let why = "Required value".to_owned();
        let problem = [("target.name", "FieldValueRequired", why)];
        return Err(failure::invalid("Binding", "", &name, &problem));
    }
    core.write(|state| {
        let old = list::find(state, def, &path)?.ok_or_else(|| failure::not_found(def, &name))?;
        let current = old.value(def);
        if let Some(bound) = current["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty())
        {
            let why = format!("pod {name} is already assigned to node {bound:?}");
            return Err(failure::conflict(def, &name, &why));
        }
        let mut new = current.clone();
        new["spec"]["nodeName"] = node.into();
        let scheduled = json!({"type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": call.timestamp()});
        let conditions = new["status"]["conditions"].as_array().into_iter().flatten();
        let mut conditions: Vec<Value> =
            conditions.filter(|known| known["type"] != "PodScheduled").cloned().collect();
        conditions.push(scheduled);
        new["status"]["conditions"] = json!(conditions);
        state.replace(def, &old, current, new, Some("binding"), &call)
    })?;
    Ok(success(201))
}

/// A token that no server will ever check.
fn token(core: &Core, request: &Request, def: &ResourceDef, path: &ResourcePath) -> Outcome<Reply> {
    let call = Call::of(request)?;
    let name = path.name.as_deref().unwrap_or_default();
    let account = core.read(|state| list::find(state, def, path))?;
    let account = account.ok_or_else(|| failure::not_found(def, name))?;
    let mut review = body::object(request)?;
    review["metadata"] = json!({"name": account.name, "namespace": account.namespace,
        "uid": account.uid, "creationTimestamp": call.timestamp()});
    if review["spec"]["audiences"].is_null() {
        review["spec"]["audiences"] = json!(["https://kubernetes.default.svc"]);
    }
    let seconds = review["spec"]["expirationSeconds"].as_u64().unwrap_or(3600);
    review["spec"]["expirationSeconds"] = seconds.into();
    review["status"] = json!({
        "token": core.settings.token.clone().unwrap_or_else(random::uuid),
        "expirationTimestamp": time::rfc3339(call.now + Duration::from_secs(seconds)),
    });
    Ok(Reply::json(201, &review))
}

/// The annotation whose value is what a pod has logged.
const LOG_ANNOTATION: &str = "testing.kinformer/log";

/// A pod's log: the text of its annotation, or three lines. Followed, it goes on with a line every
/// 100 ms until the pod goes.
fn log(
    core: &Arc<Core>,
    request: &Request,
    def: &Arc<ResourceDef>,
    path: &ResourcePath,
) -> Outcome<Reply> {
    let name = path.name.clone().unwrap_or_default();
    let pod = core
        .read(|state| list::find(state, def, path))?
        .ok_or_else(|| failure::not_found(def, &name))?;
    let value = pod.value(def);
    let containers = value["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<&str> = containers.filter_map(|one| one["name"].as_str()).collect();
    let container = match request.parameter("container").filter(|given| !given.is_empty()) {
        Some(given) if containers.contains(&given) => given,
        Some(given) => {
            return Err(failure::bad_request(format!(
                "container {given} is not valid for pod {name}"
            )));
        }
        None if containers.len() > 1 => {
            return Err(failure::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: {containers:?}"
            )));
        }
        None => containers.first().copied().unwrap_or("main"),
    };
    let text = match value["metadata"]["annotations"][LOG_ANNOTATION].as_str() {
        Some(text) => text.to_owned(),
        None => (1..=3).map(|line| format!("{name} {container} line {line}\n")).collect(),
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if let Some(tail) = request.parameter("tailLines") {
        let tail: usize =
            tail.parse().map_err(|_| failure::bad_request("tailLines: not a number"))?;
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let stamp = if request.parameter("timestamps") == Some("true") {
        format!("{} ", time::rfc3339(call_time(&value)))
    } else {
        String::new()
    };
    let mut text: String = lines.iter().map(|line| format!("{stamp}{line}")).collect();
    if let Some(limit) = request.parameter("limitBytes").and_then(|limit| limit.parse().ok()) {
        let end = (0..=text.len().min(limit)).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
    }
    if request.parameter("follow") != Some("true") {
        return Ok(Reply::new(200, "text/plain", Body::Bytes(text.into_bytes())));
    }
    let (core, def, path) = (core.clone(), def.clone(), path.clone());
    let stream = move |wire: &mut Wire| follow(&core, &def, &path, &pod.uid, &text, wire);
    Ok(Reply::new(200, "text/plain", Body::Stream(Box::new(stream))))
}

fn follow(
    core: &Core,
    def: &ResourceDef,
    path: &ResourcePath,
    uid: &str,
    text: &str,
    wire: &mut Wire,
) -> io::Result<()> {
    wire.body(text.as_bytes())?;
    let name = path.name.as_deref().unwrap_or_default();
    let first = text.lines().count() + 1;
    for line in first.. {
        wire.flush_all()?;
        if core.stop.wait_timeout(Duration::from_millis(100)) {
            return Ok(());
        }
        let there = core.read(|state| list::find(state, def, path)).ok().flatten();
        if there.is_none_or(|pod| pod.uid != uid) {
            return Ok(());
        }
        if wire.hung_up() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        wire.body(format!("{name} line {line}\n").as_bytes())?;
    }
    Ok(())
}

fn call_time(object: &Value) -> std::time::SystemTime {
    let created = object["metadata"]["creationTimestamp"].as_str();
    created.and_then(crate::rfc3339::parse).unwrap_or(std::time::SystemTime::UNIX_EPOCH)
}

fn success(code: u16) -> Reply {
    Reply::json(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "code": code}),
    )
}
