//! Bytes from the wire: streams, lists, frames, objects.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read},
    sync::Arc,
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use crate::{
    ApiResource, DynamicObject, Object, PartialObjectMetadata, WatchEvent,
    client::fuzzing::{cut_list, frames_of, parse_frame, read_answer},
    json::outline::Outline,
    object::{Origin, Shape},
};

/// The first byte chooses where the rest, an answer of HTTP, is split: that must not change what it is. Nor must it
/// matter in which pieces the rest is sent as a body.
pub fn http_answers(data: &[u8]) {
    let Some((&seed, text)) = data.split_first() else { return };
    let whole = read_answer(text, 4096);
    assert_eq!(read_answer(Pieces::new(text, seed), 1 + usize::from(seed) % 50), whole);

    let (mut sent, mut rest) =
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), text);
    let mut pieces = Pieces::new(text, seed);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(pieces.next_size().min(rest.len()));
        sent.extend(format!("{:x}\r\n", piece.len()).bytes());
        sent.extend([piece, b"\r\n"].concat());
        rest = after;
    }
    sent.extend(b"0\r\n\r\nnext");
    let read = read_answer(Pieces::new(&sent, seed.reverse_bits()), 64);
    assert_eq!(read, (Some(200), text.to_vec(), Ok(b"next".to_vec())));
}

/// The first byte chooses where the rest is split: that must not change the frames that are found, nor
/// how the stream ends.
pub fn watch_frames(data: &[u8]) {
    let Some((&seed, text)) = data.split_first() else { return };
    let whole = values(text);
    assert_eq!(values(Pieces::new(text, seed)), whole, "split by {seed}");
    // Values that are JSON are found as serde finds them.
    let mut expected = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let mut as_serde = true;
    let (frames, ended) = whole;
    for frame in frames {
        assert!(!frame.is_empty() && frame.len() <= text.len());
        let found = serde_json::from_slice::<Value>(&frame);
        as_serde &= found.is_ok();
        if as_serde && let Some(Ok(expected)) = expected.next() {
            assert_eq!(found.ok(), Some(expected));
        }
        check_frame(&frame);
    }
    if as_serde && ended.is_none() {
        assert!(!matches!(expected.next(), Some(Ok(_))), "the last one was lost");
    }
}

/// A frame is refused, or is the event that serde sees in it.
fn check_frame(data: &[u8]) {
    let outline = Outline::to_depth(2 + Shape::default().depth());
    let Ok((outline, range)) = outline.outlining(data) else { return };
    let event = parse_frame::<DynamicObject>(outline.value(data, range), &origin());
    let Ok(event) = event else { return };
    let Ok(frame) = serde_json::from_slice::<Value>(data) else { return };
    let (word, object) = match &event {
        WatchEvent::Added(object) => ("ADDED", Some(object)),
        WatchEvent::Modified(object) => ("MODIFIED", Some(object)),
        WatchEvent::Deleted(object) => ("DELETED", Some(object)),
        WatchEvent::Bookmark(bookmark) => {
            let version = &frame["object"]["metadata"]["resourceVersion"];
            assert_eq!(version.as_str().unwrap_or_default(), bookmark.resource_version);
            ("BOOKMARK", None)
        }
        // Also what stands for one: a bare status without a type.
        WatchEvent::Error(_) => ("ERROR", None),
    };
    assert_eq!(frame.get("type").unwrap_or(&Value::from("ERROR")), word);
    if let Some(object) = object {
        check_metadata(object, &frame["object"]["metadata"]);
    }
}

/// The first byte chooses where the rest is split. The items that are found are those that serde finds,
/// and a list that is no list is an error.
pub fn list_stream(data: &[u8]) {
    let Some((&seed, text)) = data.split_first() else { return };
    let whole = cut(text);
    assert_eq!(cut(Pieces::new(text, seed)), whole, "split by {seed}");
    let expected = serde_json::from_slice::<Value>(text);
    let (items, Ok(_)) = whole else {
        let is_list = expected.is_ok_and(|value| value["items"].is_array());
        assert!(!is_list, "a good list was refused");
        return;
    };
    if let Ok(Items(expected)) = serde_json::from_slice(text) {
        let found: Option<Vec<Value>> =
            items.iter().map(|item| serde_json::from_slice(item).ok()).collect();
        assert_eq!(found, Some(expected));
    }
}

/// The items of a list as serde finds them: all of them, if there are several such members.
struct Items(Vec<Value>);

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Items, A::Error> {
                let mut items = Vec::new();
                while let Some((name, value)) = members.next_entry::<String, Value>()? {
                    match value {
                        Value::Array(found) if name == "items" => items.extend(found),
                        _ => {}
                    }
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// An object is refused, or says what serde says it says.
pub fn object_meta(data: &[u8]) {
    let Ok(object) = Object::<DynamicObject>::ingest_text(&origin(), data) else { return };
    assert!(!object.name().is_empty());
    assert!(object.key().as_str().ends_with(object.name()));
    let _ = format!("{object} {object:?} {:?} {:?}", object.labels(), object.annotations());
    let _ =
        (object.get(), object.cast::<PartialObjectMetadata>().get(), serde_json::to_vec(&object));
    let Ok(mut expected) = serde_json::from_slice::<Value>(data) else { return };
    check_metadata(&object, &expected["metadata"]);
    // A type that wants little decodes to what it does when everything is read.
    let lean = object.cast::<PartialObjectMetadata>().get().ok();
    let expected_lean = serde_json::from_str::<PartialObjectMetadata>(&object.json()).ok();
    assert_eq!(format!("{lean:?}"), format!("{expected_lean:?}"));
    let mut found: Value =
        serde_json::from_str(&object.json()).expect("what was JSON before is JSON after");
    let decoded = object.cast::<Value>().decode().expect("and is read by our reader too");
    assert_eq!(decoded, found);
    for value in [&mut expected, &mut found] {
        let Some(members) = value.as_object_mut() else { panic!("an object is an object") };
        members.entry("apiVersion").or_insert_with(|| "v1".into());
        members.entry("kind").or_insert_with(|| "Pod".into());
        // Of duplicates one is cut out of the text; no server sends any.
        let metadata = members.get_mut("metadata").and_then(Value::as_object_mut);
        metadata.and_then(|metadata| metadata.remove("managedFields"));
    }
    assert_eq!(found, expected);
}

fn check_metadata(object: &Object<DynamicObject>, expected: &Value) {
    let text = |field: &str| expected[field].as_str().unwrap_or_default();
    for (field, found) in [
        ("name", object.name()),
        ("namespace", object.namespace().unwrap_or_default()),
        ("uid", object.uid()),
        ("resourceVersion", object.resource_version()),
        ("creationTimestamp", object.creation_timestamp().unwrap_or_default()),
        ("deletionTimestamp", object.deletion_timestamp().unwrap_or_default()),
    ] {
        assert_eq!(found, text(field), "{field}");
    }
    for (field, found) in [("labels", object.labels()), ("annotations", object.annotations())] {
        let found: BTreeMap<_, _> =
            found.iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
        // What is no text is no label.
        let pairs = expected[field].as_object().into_iter().flatten();
        let pairs =
            pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        assert_eq!(found, pairs.collect(), "{field}");
    }
    // A tree of values hides duplicates, which these refuse.
    if let Ok(typed) = object.cast::<PartialObjectMetadata>().decode() {
        assert_eq!(object.owner_references(), typed.metadata.owner_references);
    }
}

fn origin() -> Arc<Origin> {
    Arc::new(Origin::new(ApiResource::namespaced("v1", "Pod", "pods"), "".into()))
}

/// All values of a stream, and how it ended.
fn values(reader: impl Read) -> (Vec<Vec<u8>>, Option<io::ErrorKind>) {
    let mut stream = frames_of(reader, &Shape::default());
    let mut found = Vec::new();
    loop {
        match stream.peek() {
            Ok(Some(_)) => {}
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.kind())),
        }
        match stream.take_value() {
            Ok(value) => found.push(value.bytes().to_vec()),
            Err(error) => return (found, Some(error.kind())),
        }
    }
}

/// The items of a list, and the rest of it or how it failed.
fn cut(reader: impl Read) -> (Vec<Vec<u8>>, Result<Vec<u8>, io::ErrorKind>) {
    let mut items = Vec::new();
    let rest = cut_list(reader, &Shape::default(), &mut |item| items.push(item.bytes().to_vec()));
    (items, rest.map_err(|error| error.kind()))
}

/// Gives its text in pieces of sizes that follow from a seed.
struct Pieces<'a> {
    text: &'a [u8],
    state: u32,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a [u8], seed: u8) -> Self {
        Self { text, state: u32::from(seed) + 1 }
    }

    fn next_size(&mut self) -> usize {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (self.state >> 24) as usize % 9
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = self.next_size().min(self.text.len()).min(buf.len());
        let (piece, rest) = self.text.split_at(length);
        buf[..length].copy_from_slice(piece);
        self.text = rest;
        Ok(length)
    }
}
