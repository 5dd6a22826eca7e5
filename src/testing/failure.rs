//! The failures this server answers with, in the words of a real one.

use serde_json::{Value, json};

use crate::{
    error::{Reason, Status, StatusCause, StatusDetails},
    testing::kinds::ResourceDef,
};

pub(super) type Outcome<T> = Result<T, Box<Status>>;

pub(crate) fn failure(reason: Reason, message: impl Into<String>) -> Box<Status> {
    Box::new(Status::failure(reason.code(), reason.as_str(), message))
}

pub(super) fn bad_request(message: impl Into<String>) -> Box<Status> {
    failure(Reason::BadRequest, message)
}

/// A path that is not served at all.
pub(super) fn unknown_path() -> Box<Status> {
    let mut status = failure(Reason::NotFound, "the server could not find the requested resource");
    status.details = Some(StatusDetails::default());
    status
}

pub(super) fn method_not_allowed() -> Box<Status> {
    let mut status = failure(
        Reason::MethodNotAllowed,
        "the server does not allow this method on the requested resource",
    );
    status.details = Some(StatusDetails::default());
    status
}

pub(super) fn not_found(def: &ResourceDef, name: &str) -> Box<Status> {
    about(Reason::NotFound, def, name, format!("{} \"{name}\" not found", def.qualified()))
}

pub(super) fn already_exists(def: &ResourceDef, name: &str) -> Box<Status> {
    let message = format!("{} \"{name}\" already exists", def.qualified());
    about(Reason::AlreadyExists, def, name, message)
}

pub(super) fn conflict(def: &ResourceDef, name: &str, why: &str) -> Box<Status> {
    let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", def.qualified());
    about(Reason::Conflict, def, name, message)
}

/// A conflict that a real server reports with the kind in place of the resource.
pub(super) fn unfulfilled(def: &ResourceDef, name: &str, why: &str) -> Box<Status> {
    let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", def.kind);
    let mut status = about(Reason::Conflict, def, name, message);
    if let Some(details) = &mut status.details {
        details.kind.clone_from(&def.kind);
    }
    status
}

pub(super) fn modified(def: &ResourceDef, name: &str) -> Box<Status> {
    conflict(
        def,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

pub(super) fn forbidden(def: &ResourceDef, name: &str, why: &str) -> Box<Status> {
    let message = format!("{} \"{name}\" is forbidden: {why}", def.qualified());
    about(Reason::Forbidden, def, name, message)
}

/// An object that does not pass validation; each cause is a field, a type and a message.
pub(super) fn invalid(
    kind: &str,
    group: &str,
    name: &str,
    causes: &[(&str, &str, String)],
) -> Box<Status> {
    let listed: Vec<String> =
        causes.iter().map(|(field, _, message)| format!("{field}: {message}")).collect();
    let listed = match listed.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut status =
        failure(Reason::Invalid, format!("{qualified} \"{name}\" is invalid: {listed}"));
    status.details = Some(StatusDetails {
        name: name.into(),
        group: group.into(),
        kind: kind.into(),
        causes: causes
            .iter()
            .map(|(field, reason, message)| StatusCause {
                reason: (*reason).into(),
                message: message.clone(),
                field: (*field).into(),
            })
            .collect(),
        ..StatusDetails::default()
    });
    status
}

/// None of the media types a client accepts is on offer.
pub(super) fn not_acceptable() -> Box<Status> {
    let mut status = failure(
        Reason::NotAcceptable,
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
    );
    status.details = Some(StatusDetails::default());
    status
}

/// A media type is on offer, though not in the form that was asked for.
pub(super) fn no_such_form() -> Box<Status> {
    failure(
        Reason::NotAcceptable,
        "only the following media types are accepted: application/json, application/yaml",
    )
}

/// A media type that nothing here can be sent in.
pub(super) fn unknown_media_type() -> Box<Status> {
    let mut status = failure(Reason::UnsupportedMediaType, "415: Unsupported Media Type");
    status.details = Some(StatusDetails::default());
    status
}

pub(super) fn unsupported_media_type(accepted: &[&str]) -> Box<Status> {
    failure(
        Reason::UnsupportedMediaType,
        format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        ),
    )
}

pub(crate) fn expired(message: impl Into<String>) -> Box<Status> {
    failure(Reason::Expired, message)
}

/// A watch from a revision that is no longer in the history.
pub(super) fn too_old(asked: u64, oldest: u64) -> Box<Status> {
    expired(format!("too old resource version: {asked} ({oldest})"))
}

/// A revision that the server has not reached.
pub(super) fn too_large(asked: u64, current: u64) -> Box<Status> {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut status = failure(Reason::Timeout, message);
    status.details = Some(StatusDetails {
        causes: vec![StatusCause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        }],
        retry_after_seconds: 1,
        ..StatusDetails::default()
    });
    status
}

/// What is wrong with a value of another type, in Go's words; `place` is type and field.
pub(crate) fn mistyped(value: &Value, place: &str, wanted: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go struct field {place} of type {wanted}")
}

/// The `Status` object as it goes over the wire.
pub(super) fn encode(status: &Status) -> Value {
    let mut value = serde_json::to_value(status).unwrap_or_else(|_| json!({}));
    value["kind"] = "Status".into();
    value["apiVersion"] = "v1".into();
    value
}

fn about(reason: Reason, def: &ResourceDef, name: &str, message: String) -> Box<Status> {
    let mut status = failure(reason, message);
    status.details = Some(StatusDetails {
        name: name.into(),
        group: def.group.clone(),
        kind: def.plural.clone(),
        ..StatusDetails::default()
    });
    status
}
