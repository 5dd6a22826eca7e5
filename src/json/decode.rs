//! Decoding with serde, which steps over what the type does not want without looking at it.

use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde_json::Error;

use super::{reader::Reader, skips::Skips};

/// Decodes a text, of which `skips` is true.
///
/// What is skipped is not checked: it comes from a server that writes JSON.
pub(crate) fn decode<K: DeserializeOwned>(text: &str, skips: &Skips) -> Result<K, Error> {
    let mut reader = Reader::new(text, skips);
    match K::deserialize(&mut reader) {
        Ok(read) => reader.finish().map(|()| read),
        Err(error) => Err(reader.explain(error)),
    }
}

/// Decodes a text of which nothing is known, not even that all of it is JSON.
pub(crate) fn decode_bytes<K: DeserializeOwned>(text: &[u8]) -> Result<K, Error> {
    let text = str::from_utf8(text).map_err(|_| Error::custom("it is not UTF-8"))?;
    serde_json::from_str::<IgnoredAny>(text)?;
    decode(text, &Skips::default())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, ops::Range};

    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::*;
    use crate::json::outline::Outline;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Lean {
        kind: String,
        spec: Spec,
        status: Option<Status>,
        missing: Option<u8>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Spec {
        node_name: Option<String>,
        port: Port,
        containers: Vec<BTreeMap<String, serde_json::Value>>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    struct Port(u16);

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Status {
        Phase(String),
    }

    #[derive(Debug, Deserialize)]
    struct Raw {
        spec: Box<RawValue>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        kind: String,
    }

    /// With the skips that an object would have, and with those of every part that has any size.
    fn decoded<K: DeserializeOwned>(text: &str) -> [Result<K, Error>; 3] {
        let (outline, range) = Outline::of(text.as_bytes()).unwrap();
        let value = outline.value(text.as_bytes(), range);
        let parts = || {
            value.containers_within().flat_map(|part| {
                [part].into_iter().chain(part.containers_within()).map(|part| part.range())
            })
        };
        let large = |part: &Range<usize>| part.len() >= Skips::LEAST;
        [Skips::default(), Skips::new(parts().filter(large)), Skips::new(parts())]
            .map(|skips| decode(text, &skips))
    }

    #[test]
    fn any_type_reads_what_serde_json_reads() {
        let long = "x".repeat(100);
        let text = format!(
            r#"{{"kind":"Pod","metadata":{{"name":"{long}"}}, "spec" : {{"volumes":[{{"a":"{long}"}}],
            "node\u004eame":"n\"1","port":80,"containers":[{{"name":"c","env":[1,2.5]}}]}},"status":{{"phase":"{long}"}}}}"#
        );
        let expected: Lean = serde_json::from_str(&text).unwrap();
        assert_eq!(expected.spec.node_name.as_deref(), Some("n\"1"));
        for lean in decoded::<Lean>(&text) {
            assert_eq!(lean.unwrap(), expected);
        }
        for value in decoded::<serde_json::Value>(&text) {
            assert_eq!(value.unwrap(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
        }
        for raw in decoded::<Raw>(&text) {
            assert!(raw.unwrap().spec.get().starts_with(r#"{"volumes":[{"#));
        }
        for unit in decoded::<serde::de::IgnoredAny>(&text) {
            assert!(unit.is_ok());
        }
    }

    #[test]
    fn what_does_not_fit_is_told_as_serde_json_tells_it() {
        let long = "x".repeat(100);
        for text in [
            format!(r#"{{"kind":1,"spec":{{"a":"{long}"}}}}"#),
            format!(r#"{{"kind":"a","kind":"b","spec":{{"a":"{long}"}}}}"#),
            format!(r#"{{"kind":"a","spec":{{"port":-1,"a":["{long}"]}}}}"#),
            format!(r#"{{"kind":"a","spec":"no","other":{{"a":"{long}"}}}}"#),
        ] {
            let expected = serde_json::from_str::<Lean>(&text).unwrap_err().to_string();
            for found in decoded::<Lean>(&text) {
                assert_eq!(found.unwrap_err().to_string(), expected, "{text}");
            }
            let expected = serde_json::from_str::<Strict>(&text).unwrap_err().to_string();
            for found in decoded::<Strict>(&text) {
                assert_eq!(found.unwrap_err().to_string(), expected, "{text}");
            }
        }
    }
}
