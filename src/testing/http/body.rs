//! What the body of a request says: JSON or YAML.

use serde_json::Value;

use super::request::Request;
use crate::{
    testing::failure::{self, Outcome},
    yaml,
};

impl Request {
    /// The object in the body.
    ///
    /// # Errors
    /// 415 for a body that is neither JSON nor YAML, protobuf above all; 400 for one that cannot be
    /// read.
    pub(crate) fn object(&self) -> Outcome<Value> {
        match self.media_type().as_str() {
            "application/json" | "" | "*/*" => self.json().map_err(|why| {
                failure::bad_request(format!(
                    "the object provided is unrecognized: couldn't get version/kind; json parse error: {why}"
                ))
            }),
            "application/yaml" => self.yaml_or_json(),
            _ => Err(failure::unsupported_media_type(&["application/json", "application/yaml"])),
        }
    }

    pub(crate) fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// One YAML document, of which JSON is a kind.
    pub(crate) fn yaml_or_json(&self) -> Outcome<Value> {
        if let Ok(value) = self.json() {
            return Ok(value);
        }
        let refused =
            |error: yaml::YamlError| failure::bad_request(format!("error decoding YAML: {error}"));
        let text = yaml::decode_text(&self.body).map_err(refused)?;
        match yaml::parse_documents(&text).map_err(refused)?.as_slice() {
            [document] => Ok(document.to_json()),
            [] => Err(failure::bad_request("the body is empty")),
            _ => Err(failure::bad_request("the body has more than one YAML document")),
        }
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
        let json = request("application/json; charset=utf-8", r#"{"a": [1]}"#).object().unwrap();
        let yaml = request("application/yaml", "a:\n- 1\n").object().unwrap();
        assert_eq!(json, yaml);
        let refused = request("application/vnd.kubernetes.protobuf", "k8s\0").object();
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
            assert_eq!(request(media_type, body).object().unwrap_err().code, 400, "{body}");
        }
    }
}
