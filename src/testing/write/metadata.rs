//! The metadata of objects that clients send: what must be there, and what is the server's to say.

use serde_json::{Map, Value, json};

use super::context::WriteContext;
use crate::testing::{
    failure::{self, Outcome},
    kinds::ResourceDef,
    random,
};

/// Checks that `object` is of the resource's kind and version, or says nothing about it.
pub(crate) fn check_type(def: &ResourceDef, object: &mut Value) -> Outcome<()> {
    let Some(members) = object.as_object_mut() else {
        return Err(failure::bad_request("the object provided is not a JSON object"));
    };
    let expected = def.api_version();
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let other = |why: String| {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let kind = if kind.is_empty() { &def.kind } else { kind };
        Err(failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            def.kind
        )))
    };
    if !api_version.is_empty() && api_version != expected {
        return other(format!("no kind {kind:?} is registered for version {api_version:?}"));
    }
    if !kind.is_empty() && kind != def.kind {
        return other(format!("converting ({kind}) to ({}): unknown conversion", def.kind));
    }
    members.insert("apiVersion".into(), expected.into());
    members.insert("kind".into(), def.kind.clone().into());
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    if !metadata.is_object() {
        return Err(failure::bad_request("metadata: expected an object"));
    }
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if !matches!(metadata[field], Value::Null | Value::String(_)) {
            return Err(unfit(&metadata[field], field, "string"));
        }
    }
    check_map(metadata, "labels")?;
    check_map(metadata, "annotations")
}

fn check_map(metadata: &Value, field: &str) -> Outcome<()> {
    match &metadata[field] {
        Value::Null => Ok(()),
        Value::Object(entries) => match entries.values().find(|value| !value.is_string()) {
            None => Ok(()),
            Some(value) => Err(unfit(value, field, "string")),
        },
        other => Err(unfit(other, field, "map[string]string")),
    }
}

fn unfit(value: &Value, field: &str, expected: &str) -> Box<crate::Status> {
    let place = format!("ObjectMeta.metadata.{field}");
    failure::bad_request(failure::mistyped(value, &place, expected))
}

/// Takes the namespace from the path and checks that the object does not name another.
pub(super) fn place(
    def: &ResourceDef,
    namespace: Option<&str>,
    object: &mut Value,
) -> Outcome<String> {
    let given = text(object, "namespace");
    if !def.namespaced {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(String::new());
    }
    let Some(namespace) = namespace else {
        return Err(failure::bad_request("an empty namespace may not be set during creation"));
    };
    if !given.is_empty() && given != namespace {
        return Err(failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    object["metadata"]["namespace"] = namespace.into();
    Ok(namespace.to_owned())
}

/// Checks that an object has the name of the path it was sent to.
pub(super) fn check_name(object: &Value, name: &str) -> Outcome<()> {
    let given = text(object, "name");
    if given == name {
        return Ok(());
    }
    Err(failure::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({name})"
    )))
}

/// Checks the name of a new object, making one up if it only has a prefix for it.
pub(crate) fn name(def: &ResourceDef, object: &mut Value) -> Outcome<String> {
    let mut name = text(object, "name");
    let prefix = text(object, "generateName");
    if name.is_empty() && !prefix.is_empty() {
        let room = prefix.char_indices().nth(58).map_or(prefix.len(), |(at, _)| at);
        name = format!("{}{}", &prefix[..room], random::name_suffix());
        object["metadata"]["name"] = name.clone().into();
    }
    if name.is_empty() {
        let why = "Required value: name or generateName is required".to_owned();
        return Err(failure::invalid(
            &def.kind,
            &def.group,
            "",
            &[("metadata.name", "FieldValueRequired", why)],
        ));
    }
    if let Some(why) = name_problem(def, &name) {
        let why = format!("Invalid value: {name:?}: {why}");
        return Err(failure::invalid(
            &def.kind,
            &def.group,
            &name,
            &[("metadata.name", "FieldValueInvalid", why)],
        ));
    }
    Ok(name)
}

/// Role-based access names are path segments; everything else is a DNS name of one kind or another.
fn name_problem(def: &ResourceDef, name: &str) -> Option<String> {
    const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    if def.group == "rbac.authorization.k8s.io" {
        let bad = matches!(name, "." | "..") || name.contains(['/', '%']);
        return bad.then(|| "may not contain '/' or '%'".to_owned());
    }
    let is_label = |part: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        part.bytes().all(|byte| inside(byte) || byte == b'-')
            && part.bytes().next().is_some_and(inside)
            && part.bytes().last().is_some_and(inside)
    };
    if def.group.is_empty() && matches!(def.plural.as_str(), "namespaces" | "services") {
        if name.len() > 63 {
            return Some("must be no more than 63 characters".into());
        }
        return (!is_label(name)).then(|| LABEL.to_owned());
    }
    if name.len() > 253 {
        return Some("must be no more than 253 characters".into());
    }
    (!name.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned())
}

/// Fills in what the server says about a new object.
pub(super) fn admit(def: &ResourceDef, object: &mut Value, context: &WriteContext) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for theirs in [
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "generation",
            "managedFields",
            "resourceVersion",
            "selfLink",
            "uid",
        ] {
            let kept = match theirs {
                "creationTimestamp" | "uid" => context.keep_status,
                "managedFields" => context.keep_status || context.fields_tracked,
                _ => false,
            };
            if !kept {
                metadata.remove(theirs);
            }
        }
        metadata.entry("uid").or_insert_with(|| random::uuid().into());
        metadata.entry("creationTimestamp").or_insert_with(|| context.timestamp().into());
        if has_generation(def) {
            metadata.insert("generation".into(), 1.into());
        }
        drop_empty(metadata);
    }
}

/// Puts what the server says about an object over what a client sent in its place.
pub(super) fn keep(def: &ResourceDef, current: &Value, new: &mut Value) {
    let Some(metadata) = new["metadata"].as_object_mut() else { return };
    for ours in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    ] {
        match current["metadata"].get(ours) {
            Some(value) => metadata.insert(ours.into(), value.clone()),
            None => metadata.remove(ours),
        };
    }
    drop_empty(metadata);
    if has_generation(def) && specification(current) != specification(new) {
        let generation = current["metadata"]["generation"].as_u64().unwrap_or(0);
        new["metadata"]["generation"] = (generation + 1).into();
    }
}

/// A real server does not store empty maps and lists of metadata.
fn drop_empty(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata.get(field) {
            Some(Value::Null) => true,
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Array(entries)) => entries.is_empty(),
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

/// Everything whose change is a new generation: all but metadata and status.
fn specification(object: &Value) -> Map<String, Value> {
    let members = object.as_object().into_iter().flatten();
    members
        .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whether the kind counts its generations: custom resources all do, and these built-in ones.
fn has_generation(def: &ResourceDef) -> bool {
    if !def.builtin {
        return true;
    }
    match def.group.as_str() {
        "" => matches!(def.plural.as_str(), "pods" | "replicationcontrollers"),
        "apps" | "flowcontrol.apiserver.k8s.io" | "apiextensions.k8s.io" | "policy" => {
            def.plural != "controllerrevisions"
        }
        "admissionregistration.k8s.io" | "batch" => true,
        "networking.k8s.io" => {
            matches!(def.plural.as_str(), "ingresses" | "networkpolicies" | "ingressclasses")
        }
        _ => false,
    }
}

/// Whether a PUT without a resource version overwrites whatever is there.
pub(super) fn allows_unconditional_update(def: &ResourceDef) -> bool {
    def.builtin
        && !matches!(
            def.group.as_str(),
            "admissionregistration.k8s.io"
                | "apiextensions.k8s.io"
                | "apiregistration.k8s.io"
                | "coordination.k8s.io"
                | "flowcontrol.apiserver.k8s.io"
                | "policy"
        )
}

/// Whether a PUT of an object that does not exist creates it.
pub(super) fn allows_create_on_update(def: &ResourceDef) -> bool {
    def.builtin
        && matches!(
            (def.group.as_str(), def.plural.as_str()),
            ("", "endpoints" | "events" | "limitranges")
                | ("events.k8s.io", "events")
                | ("coordination.k8s.io", "leases")
                | ("rbac.authorization.k8s.io", _)
        )
}

/// A text field of an object's metadata; empty if it is not there.
pub(crate) fn text(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}

pub(super) fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn is_being_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}
