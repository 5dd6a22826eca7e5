//! Bodies of writes.

use serde_json::Value;

use super::{
    failure::{self, Outcome},
    http::Request,
};

/// The object in the body of a write.
///
/// # Errors
/// 415 for a body that is neither JSON nor YAML, protobuf above all; 400 for one that cannot be read.
pub(crate) fn object(request: &Request) -> Outcome<Value> {
    match request.media_type().as_str() {
        "application/json" | "" | "*/*" => json(&request.body),
        "application/yaml" => yaml_or_json(&request.body),
        _ => Err(failure::unsupported_media_type(&["application/json", "application/yaml"])),
    }
}

pub(crate) fn json(body: &[u8]) -> Outcome<Value> {
    serde_json::from_slice(body).map_err(|error| {
        failure::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
    })
}

/// YAML, which JSON is a part of.
pub(crate) fn yaml_or_json(body: &[u8]) -> Outcome<Value> {
    // STAND-IN: JSON only, until `crate::yaml` lands.
    json(body)
}
