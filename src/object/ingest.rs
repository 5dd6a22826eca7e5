//! From the text that arrived to the text that is kept.

use std::{borrow::Cow, ops::Range};

use smallvec::SmallVec;

use super::{
    ObjectKey, Origin,
    meta::{Meta, MetaError},
    shape::{Cut, EACH},
};
use crate::{
    error::Found,
    json::scan::{Member, Members, skip_white_space, string_end, unescape, value_end},
};

const NOT_AN_OBJECT: &str = "not a JSON object";

/// The ranges that are left out, in order.
type Cuts = SmallVec<[Range<usize>; 4]>;

/// The text to keep, and where its metadata is: `apiVersion` and `kind` added where a list left them
/// out, what the shape leaves out cut out, nothing else changed.
pub(super) fn normalise(origin: &Origin, json: &[u8]) -> Result<(Box<str>, Meta), &'static str> {
    let layout = Layout::find(json, &origin.shape.cuts).ok_or(NOT_AN_OBJECT)?;
    let Some(metadata) = layout.metadata else { return Err("it has no metadata") };
    let [api_version, kind] = &origin.type_members;
    let api_version = if layout.has_api_version { "" } else { api_version };
    let kind = if layout.has_kind { "" } else { kind };
    let mut text = Vec::with_capacity(1 + api_version.len() + kind.len() + layout.length_kept());
    text.push(b'{');
    text.extend_from_slice(api_version.as_bytes());
    text.extend_from_slice(kind.as_bytes());
    let mut at = layout.start;
    let mut metadata_at = text.len() + metadata - at;
    for cut in &layout.cuts {
        if cut.start < metadata {
            metadata_at -= cut.len();
        }
        text.extend_from_slice(&json[at..cut.start]);
        at = cut.end;
    }
    text.extend_from_slice(&json[at..layout.end]);

    let meta = match Meta::find(&text, metadata_at) {
        Err(MetaError::Escaped) => {
            text = without_escapes(&text).ok_or(NOT_AN_OBJECT)?;
            let found = Layout::find(&text, &Cut::default()).and_then(|found| found.metadata);
            Meta::find(&text, found.unwrap_or(0))
        }
        found => found,
    };
    let meta = meta.map_err(|error| match error {
        MetaError::Malformed => "its metadata is not what metadata is",
        MetaError::Escaped => "its metadata has characters that no name has",
    })?;
    let text = String::from_utf8(text).map_err(|_| "it is not UTF-8")?;
    Ok((text.into_boxed_str(), meta))
}

/// What there is of key and resource version in a text that is not usable as an object.
pub(super) fn found_in(json: &[u8]) -> Found {
    fn member<'a>(json: &'a [u8], name: &str) -> Option<&'a [u8]> {
        // As far as it can be read.
        let members = Members::new(json, 0).ok()?.map_while(Result::ok);
        let last = members.filter(|member| member.key == name).last()?;
        json.get(last.value)
    }
    let text = |name: &str| {
        let value = unescape(member(member(json, "metadata")?, name)?).ok()?;
        Some(value.into_owned()).filter(|text| !text.is_empty())
    };
    let key = text("name").map(|name| ObjectKey::new(text("namespace").as_deref(), &name));
    Found { key: key.map(|key| key.as_str().to_owned()), resource_version: text("resourceVersion") }
}

/// Where the parts of an object are that ingest cares about.
#[derive(Default)]
struct Layout {
    /// After the opening brace.
    start: usize,
    /// After the closing brace.
    end: usize,
    has_api_version: bool,
    has_kind: bool,
    metadata: Option<usize>,
    cuts: Cuts,
}

impl Layout {
    fn find(json: &[u8], cut: &Cut) -> Option<Self> {
        let mut layout = Self { start: skip_white_space(json, 0) + 1, ..Self::default() };
        let mut cuts = Cuts::new();
        layout.end = cut_members(json, 0, cut, &mut cuts, |member| match &*member.key {
            "apiVersion" => layout.has_api_version = true,
            "kind" => layout.has_kind = true,
            "metadata" => layout.metadata = Some(member.value.start),
            _ => {}
        })?;
        layout.cuts = cuts;
        // Something behind it makes it something else.
        (skip_white_space(json, layout.end) == json.len()).then_some(layout)
    }

    fn length_kept(&self) -> usize {
        self.end - self.start - self.cuts.iter().map(Range::len).sum::<usize>()
    }
}

/// Finds what to cut out of the object at `at`, each part with one comma, and where the object ends.
fn cut_members(
    json: &[u8],
    at: usize,
    cut: &Cut,
    cuts: &mut Cuts,
    mut see: impl FnMut(&Member<'_>),
) -> Option<usize> {
    let mut members = Members::new(json, at).ok()?;
    let (mut kept, mut last_end, mut open_cut) = (false, 0, None);
    for member in members.by_ref() {
        let member = member.ok()?;
        see(&member);
        if let Some(start) = open_cut.take() {
            cuts.push(start..member.whole.start);
        }
        match cut.part(&member.key) {
            Some(part) if part.whole => {
                // With the comma before it, or the one after if nothing is kept before it.
                if kept {
                    cuts.push(last_end..member.whole.end);
                } else {
                    open_cut = Some(member.whole.start);
                }
            }
            part => {
                kept = true;
                if let Some(part) = part {
                    // Only as far as the value goes: brackets that do not match may lead out of it.
                    cut_value(&json[..member.value.end], member.value.start, part, cuts)?;
                }
            }
        }
        last_end = member.whole.end;
    }
    if let Some(start) = open_cut {
        cuts.push(start..last_end);
    }
    members.end()
}

/// The same for any value; one that is not what a path expects has nothing to cut.
fn cut_value(json: &[u8], at: usize, cut: &Cut, cuts: &mut Cuts) -> Option<()> {
    match (json.get(at), cut.part(EACH)) {
        (Some(b'{'), _) => {
            cut_members(json, at, cut, cuts, |_| {})?;
        }
        (Some(b'['), Some(each)) => {
            let mut at = skip_white_space(json, at + 1);
            while json.get(at) != Some(&b']') {
                let end = value_end(json, at).ok()?;
                cut_value(&json[..end], at, each, cuts)?;
                at = skip_white_space(json, end);
                match json.get(at) {
                    Some(b',') => at = skip_white_space(json, at + 1),
                    Some(b']') => {}
                    _ => return None,
                }
            }
        }
        _ => {}
    }
    Some(())
}

/// What stands at the beginning of an object, with the comma after it.
pub(super) fn member(key: &str, value: &str) -> String {
    format!("\"{key}\":{},", serde_json::Value::from(value))
}

/// The same JSON with only the escapes that its strings need; the rest stays as it was written.
fn without_escapes(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &text[at..]).map(|found| at + found) {
        plain.extend_from_slice(&text[at..start]);
        at = string_end(text, start).ok()?;
        match unescape(&text[start..at]).ok()? {
            Cow::Borrowed(_) => plain.extend_from_slice(&text[start..at]),
            Cow::Owned(string) => serde_json::to_writer(&mut plain, &string).ok()?,
        }
    }
    plain.extend_from_slice(&text[at..]);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ApiResource, Shape};

    fn pruned(json: &str, paths: &[&str]) -> String {
        let mut shape = Shape::default();
        for path in paths {
            shape.prune(path).unwrap();
        }
        let pods = ApiResource::namespaced("v1", "Pod", "pods");
        let origin = Origin::new(pods, "".into()).shaped(shape);
        let (text, meta) = normalise(&origin, json.as_bytes()).unwrap();
        assert_eq!(meta.name.of(&text), "a", "{text}");
        text.into_string()
    }

    #[test]
    fn what_a_path_leads_to_is_left_out_wherever_it_stands() {
        let head = r#"{"kind":"Pod","apiVersion":"v1","#;
        for (json, paths, expected) in [
            (
                r#""spec":{"x":1},"metadata":{"name":"a"}}"#,
                &["/spec"][..],
                r#""metadata":{"name":"a"}}"#,
            ),
            (
                r#""metadata":{"name":"a"},"spec":{},"status":{}}"#,
                &["/spec", "/status"],
                r#""metadata":{"name":"a"}}"#,
            ),
            (
                r#""metadata":{"name":"a"},"s":{"a":1,"b":2,"c":3}}"#,
                &["/s/a", "/s/b"],
                r#""metadata":{"name":"a"},"s":{"c":3}}"#,
            ),
            (
                r#""metadata":{"name":"a"},"s":{"a":1,"b":2,"c":3}}"#,
                &["/s/b", "/s/c"],
                r#""metadata":{"name":"a"},"s":{"a":1}}"#,
            ),
            (
                r#""metadata":{"name":"a"},"s":{"a":1,"b":2}}"#,
                &["/s/a", "/s/b"],
                r#""metadata":{"name":"a"},"s":{}}"#,
            ),
            (
                r#""s":{"c":[{"n":1,"env":[{}]},{"env":2,"n":3},{}]},"metadata":{"name":"a"}}"#,
                &["/s/c/*/env"],
                r#""s":{"c":[{"n":1},{"n":3},{}]},"metadata":{"name":"a"}}"#,
            ),
            (
                r#""metadata":{"name":"a"},"s":3}"#,
                &["/s/a/b", "/t"],
                r#""metadata":{"name":"a"},"s":3}"#,
            ),
            (
                r#""metadata":{"annotations":{},"name":"a"}}"#,
                &["/metadata/annotations"],
                r#""metadata":{"name":"a"}}"#,
            ),
        ] {
            assert_eq!(pruned(&format!("{head}{json}"), paths), format!("{head}{expected}"));
        }
    }

    #[test]
    fn a_name_with_escapes_leaves_the_rest_as_it_was_written() {
        let json = r#"{"kind":"Pod","apiVersion":"v1","z":[0.10000000000000000555,1e400],
            "metadata":{"n\u0061me":"\u0061"},"a":"\u00e4\"\/"}"#;
        let expected = r#"{"kind":"Pod","apiVersion":"v1","z":[0.10000000000000000555,1e400],
            "metadata":{"name":"a"},"a":"ä\"/"}"#;
        assert_eq!(pruned(json, &[]), expected);
    }

    #[test]
    fn key_and_version_are_found_in_texts_that_are_no_objects() {
        let found = |json: &[u8]| {
            let Found { key, resource_version } = found_in(json);
            [key, resource_version].map(Option::unwrap_or_default)
        };
        let meta =
            br#"{"metadata":{"namespace":"n","name":"a","resourceVersion":"7","labels":[]}}"#;
        assert_eq!(found(meta), ["n/a", "7"]);
        assert_eq!(found(b"{\"metadata\":{\"name\":\"a\"},\"x\":\"\xff\"}"), ["a", ""]);
        assert_eq!(found(br#"{"metadata":{"resourceVersion":"7"}}"#), ["", "7"]);
        assert_eq!(found(br#"{"metadata":{"name":"a","resourceVersion":7}, ]"#), ["a", ""]);
        for nothing in [&b"{}"[..], b"", b"[]", b"3", br#"{"metadata":[]}"#, br#"{"metadata":{"#] {
            assert_eq!(found(nothing), ["", ""]);
        }
    }

    #[test]
    fn what_objects_are_told_apart_by_cannot_be_left_out() {
        for bad in ["", "spec", "/", "/a//b", "/metadata", "/metadata/name", "/kind", "/*"] {
            assert!(Shape::default().prune(bad).is_err(), "{bad}");
        }
    }
}
