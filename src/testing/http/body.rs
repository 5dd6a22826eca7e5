//! Bodies of writes.

use serde_json::Value;

use super::request::Request;
use crate::{
    testing::failure::{self, Outcome},
    yaml,
};

/// The object in the body of a write.
///
/// # Errors
/// 415 for a body that is neither JSON nor YAML, protobuf above all; 400 for one that cannot be
/// read.
pub(crate) fn object(request: &Request) -> Outcome<Value> {
    match request.media_type().as_str() {
        "application/json" | "" | "*/*" => json(&request.body).map_err(|why| {
            failure::bad_request(format!(
                "the object provided is unrecognized: couldn't get version/kind; json parse error: {why}"
            ))
        }),
        "application/yaml" => yaml_or_json(&request.body),
        _ => Err(failure::unsupported_media_type(&["application/json", "application/yaml"])),
    }
}

pub(crate) fn json(body: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(body)
}

/// One YAML document, of which JSON is a kind.
pub(crate) fn yaml_or_json(body: &[u8]) -> Outcome<Value> {
    if let Ok(value) = json(body) {
        return Ok(value);
    }
    let refused =
        |error: yaml::YamlError| failure::bad_request(format!("error decoding YAML: {error}"));
    let text = yaml::decode_text(body).map_err(refused)?;
    match yaml::parse_documents(&text).map_err(refused)?.as_slice() {
        [document] => Ok(document.to_json()),
        [] => Err(failure::bad_request("the body is empty")),
        _ => Err(failure::bad_request("the body has more than one YAML document")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(media_type: &str, body: &str) -> Request {
        Request {
            headers: vec![("content-type".into(), media_type.into())],
            body: body.into(),
            ..Request::default()
        }
    }

    #[test]
    fn json_and_yaml_are_read_and_protobuf_is_refused() {
        let json = object(&request("application/json; charset=utf-8", r#"{"a": [1]}"#)).unwrap();
        let yaml = object(&request("application/yaml", "a:\n- 1\n")).unwrap();
        assert_eq!(json, yaml);
        let refused = object(&request("application/vnd.kubernetes.protobuf", "k8s\0"));
        assert_eq!(refused.unwrap_err().code, 415);
    }

    #[test]
    fn a_body_that_cannot_be_read_is_a_bad_request() {
        for (media_type, body) in [
            ("application/json", "{"),
            ("application/json", ""),
            ("application/yaml", ""),
            ("application/yaml", "a: [1"),
            ("application/yaml", "a: 1\n---\nb: 2\n"),
        ] {
            assert_eq!(object(&request(media_type, body)).unwrap_err().code, 400, "{body}");
        }
    }
}
