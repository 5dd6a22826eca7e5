//! From the text that arrived to the text that is kept.

use std::{borrow::Cow, cell::OnceCell, mem, ops::Range, str};

use smallvec::SmallVec;

use super::{
    ObjectKey, Origin,
    meta::{Meta, MetaError},
    patterns::Candidate,
    shape::{Cut, EACH},
    text::Text,
};
use crate::{
    error::Found,
    json::{
        outline::{Outline, Value},
        scan::{Member, Members, string_end, unescape},
        skips::Skips,
    },
};

const NOT_AN_OBJECT: &str = "not a JSON object";

/// The ranges that are left out, in order.
type Cuts = SmallVec<[Gap; 4]>;

/// An object as it is kept.
pub(super) struct Kept {
    pub(super) text: Text,
    pub(super) meta: Meta,
    /// Of the whole text.
    pub(super) skips: Skips,
}

/// The text to keep, and where its metadata is: `apiVersion` and `kind` added where a list left them
/// out, what the shape leaves out cut out, nothing else changed.
pub(super) fn normalise(origin: &Origin, json: Value<'_>) -> Result<Kept, &'static str> {
    match keep(origin, json) {
        Err(Unusable::Meta(MetaError::Escaped)) => {
            let plain = without_escapes(json.bytes()).ok_or(NOT_AN_OBJECT)?;
            let (outline, range) = Outline::of(&plain).map_err(|_| NOT_AN_OBJECT)?;
            keep(origin, outline.value(&plain, range))
        }
        kept => kept,
    }
    .map_err(|why| match why {
        Unusable::Because(reason) => reason,
        Unusable::Meta(MetaError::Malformed) => "its metadata is not what metadata is",
        Unusable::Meta(MetaError::Escaped) => "its metadata has characters that no name has",
    })
}

enum Unusable {
    Because(&'static str),
    Meta(MetaError),
}

fn keep(origin: &Origin, json: Value<'_>) -> Result<Kept, Unusable> {
    let layout = Layout::find(json, &origin.shape.cuts).ok_or(Unusable::Because(NOT_AN_OBJECT))?;
    let meta = layout.meta.clone().ok_or(Unusable::Because("it has no metadata"))?;
    let mut meta = meta.map_err(Unusable::Meta)?;

    let mut patterns = origin.patterns.lock();
    let mut scratch = mem::take(&mut patterns.scratch);
    layout.write(json.text, &origin.type_members, &mut scratch);
    let kept = match str::from_utf8(&scratch) {
        Err(_) => Err(Unusable::Because("it is not UTF-8")),
        Ok(text) => {
            let added = text.len() - layout.length_kept();
            let place = |part: Range<usize>| {
                let kept = layout.kept(part)?;
                Some(kept.start + added..kept.end + added)
            };
            let ranges = meta.spans().map(|span| place(span.range()).unwrap_or_default());
            let skips = Skips::new(large_parts(json).filter_map(place));
            let [name, namespace, .., owners] = ranges.clone().map(|range| &text[range]);
            let kept = patterns.keep(&Candidate {
                text,
                whole: &ranges,
                namespace,
                name,
                owners,
                sketch: OnceCell::new(),
            });
            for (span, range) in meta.spans().into_iter().zip(ranges) {
                *span = kept.find(range).unwrap_or_default();
            }
            Ok(Kept { text: kept, meta, skips })
        }
    };
    patterns.give_back(scratch);
    kept
}

/// How deep in an object the parts are that are remembered if they are large.
pub(super) const DEPTH_OF_SKIPS: usize = 2;

/// The large members of an object, and those of its members.
fn large_parts(json: Value<'_>) -> impl Iterator<Item = Range<usize>> {
    let large = |part: &Value<'_>| part.range().len() >= Skips::LEAST;
    let members = json.containers_within().filter(large);
    members
        .flat_map(move |part| [part].into_iter().chain(part.containers_within().filter(large)))
        .map(|part| part.range())
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
struct Layout {
    /// After the opening brace.
    start: usize,
    /// After the closing brace.
    end: usize,
    has_api_version: bool,
    has_kind: bool,
    /// Of the last metadata, should there be several.
    meta: Option<Result<Meta, MetaError>>,
    cuts: Cuts,
}

/// Whose members are gone through.
#[derive(Clone, Copy)]
enum Whose {
    Object,
    Metadata,
    Part,
}

/// Something that is cut out. They are in order, and apart from each other.
struct Gap {
    range: Range<usize>,
    /// How much is cut out before it.
    before: usize,
}

impl Gap {
    fn cut_to_its_end(&self) -> usize {
        self.before + self.range.len()
    }
}

impl Layout {
    fn cut(&mut self, range: Range<usize>) {
        let before = self.cuts.last().map_or(0, Gap::cut_to_its_end);
        self.cuts.push(Gap { range, before });
    }

    fn find(json: Value<'_>, cut: &Cut) -> Option<Self> {
        let Range { start, end } = json.range();
        let (has_api_version, has_kind, cuts) = (false, false, Cuts::new());
        let mut layout =
            Self { start: start + 1, end, has_api_version, has_kind, meta: None, cuts };
        layout.cut_members(json, cut, Whose::Object)?;
        Some(layout)
    }

    /// Finds what to cut out of an object, each part with one comma; and on the way what there is to know of it.
    fn cut_members(&mut self, json: Value<'_>, cut: &Cut, whose: Whose) -> Option<()> {
        let (mut kept, mut last_end, mut open_cut) = (false, 0, None);
        for member in json.members().ok()? {
            let member = member.ok()?;
            if let Some(start) = open_cut.take() {
                self.cut(start..member.whole.start);
            }
            let part = cut.part(&member.key);
            if let Some(Cut { whole: true, .. }) = part {
                // With the comma before it, or the one after if nothing is kept before it.
                if kept {
                    self.cut(last_end..member.whole.end);
                } else {
                    open_cut = Some(member.whole.start);
                }
            } else {
                kept = true;
            }
            last_end = member.whole.end;
            let value = json.part(member.value.clone(), member.number);
            match (whose, &*member.key) {
                (Whose::Object, "apiVersion") => self.has_api_version = true,
                (Whose::Object, "kind") => self.has_kind = true,
                (Whose::Object, "metadata") => {
                    self.cut_metadata(value, part.unwrap_or(&Cut::NOTHING))?;
                    continue;
                }
                (Whose::Metadata, _) => self.see_in_metadata(&member, value),
                _ => {}
            }
            if let Some(part @ Cut { whole: false, .. }) = part {
                self.cut_value(value, part)?;
            }
        }
        if let Some(start) = open_cut {
            self.cut(start..last_end);
        }
        Some(())
    }

    /// The same for any value; one that is not what a path expects has nothing to cut.
    fn cut_value(&mut self, json: Value<'_>, cut: &Cut) -> Option<()> {
        match (json.bytes().first(), cut.part(EACH)) {
            (Some(b'{'), _) => self.cut_members(json, cut, Whose::Part),
            (Some(b'['), Some(each)) => {
                json.containers_within().try_for_each(|element| self.cut_value(element, each))
            }
            _ => Some(()),
        }
    }

    fn cut_metadata(&mut self, json: Value<'_>, cut: &Cut) -> Option<()> {
        if json.bytes().first() != Some(&b'{') {
            self.meta = Some(Err(MetaError::Malformed));
            return Some(());
        }
        self.meta = Some(Ok(Meta::default()));
        self.cut_members(json, cut, Whose::Metadata)
    }

    /// The first of it that is not what it should be is the reason that counts.
    fn see_in_metadata(&mut self, member: &Member<'_>, value: Value<'_>) {
        if let Some(Ok(meta)) = &mut self.meta
            && let Err(error) = meta.see(member, value)
        {
            self.meta = Some(Err(error));
        }
    }

    /// Writes what is kept of the text, with what it lacks of its type in front.
    fn write(&self, text: &[u8], type_members: &[String; 2], into: &mut Vec<u8>) {
        let [api_version, kind] = type_members;
        into.clear();
        into.push(b'{');
        if !self.has_api_version {
            into.extend_from_slice(api_version.as_bytes());
        }
        if !self.has_kind {
            into.extend_from_slice(kind.as_bytes());
        }
        let mut at = self.start;
        for gap in &self.cuts {
            into.extend_from_slice(&text[at..gap.range.start]);
            at = gap.range.end;
        }
        into.extend_from_slice(&text[at..self.end]);
    }

    fn length_kept(&self) -> usize {
        self.end - self.start - self.cuts.last().map_or(0, Gap::cut_to_its_end)
    }

    /// Where a part of the text is in what is kept after the opening brace; `None` if it is cut out.
    fn kept(&self, part: Range<usize>) -> Option<Range<usize>> {
        let gap_before = |at: usize| {
            let gaps = self.cuts.partition_point(|gap| gap.range.start < at);
            gaps.checked_sub(1).map(|last| &self.cuts[last])
        };
        let kept = |at: usize| {
            (at - self.start).checked_sub(gap_before(at).map_or(0, Gap::cut_to_its_end))
        };
        let is_cut = |at: usize| gap_before(at + 1).is_some_and(|gap| gap.range.contains(&at));
        if part.is_empty() || is_cut(part.start) {
            return None;
        }
        Some(kept(part.start)?..kept(part.end)?)
    }
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
        let (outline, range) = Outline::of(json.as_bytes()).unwrap();
        let kept = normalise(&origin, outline.value(json.as_bytes(), range)).unwrap();
        let Kept { text, meta, .. } = kept;
        assert_eq!(text.part(meta.name), "a", "{text:?}");
        text.whole().into_owned()
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
