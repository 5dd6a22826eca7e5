//! Bytes from the wire: streams, lists, frames, objects.

use std::{
    io::{self, Read},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    ApiResource, DynamicObject, Object, PartialObjectMetadata, WatchEvent,
    client::fuzzing::{cut_list, parse_frame},
    json::stream::JsonStream,
    object::Origin,
};

/// The first byte chooses where the rest is split: that must not change the values that are found, nor
/// how the stream ends.
pub fn json_stream(data: &[u8]) {
    let Some((&seed, text)) = data.split_first() else { return };
    let whole = values(text);
    assert_eq!(values(Pieces::new(text, seed)), whole, "split by {seed}");
    for value in &whole.0 {
        assert!(!value.is_empty() && value.len() <= text.len());
    }
    // Values that are JSON are found as serde finds them.
    let mut expected = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    for value in whole.0 {
        let (Ok(found), Some(Ok(expected))) = (serde_json::from_slice(&value), expected.next())
        else {
            break;
        };
        let found: Value = found;
        assert_eq!(found, expected);
    }
}

/// An object is refused, or says what serde says it says.
pub fn object_ingest(data: &[u8]) {
    if let Ok(object) = Object::<DynamicObject>::ingest(&origin(), data) {
        check_object(&object, data);
    }
}

/// A frame is refused, or is the event that serde sees in it.
pub fn watch_frame(data: &[u8]) {
    let Ok(event) = parse_frame::<DynamicObject>(data, &origin()) else { return };
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
        assert_eq!(frame["object"]["metadata"]["name"], object.name());
    }
}

/// The first byte chooses where the rest is split. The items that are found are those that serde finds,
/// and a list that is no list is an error.
pub fn list_page(data: &[u8]) {
    let Some((&seed, text)) = data.split_first() else { return };
    let whole = cut(text);
    assert_eq!(cut(Pieces::new(text, seed)), whole, "split by {seed}");
    let expected = serde_json::from_slice::<Value>(text);
    let (items, Ok(_)) = whole else {
        let is_list = expected.is_ok_and(|value| value["items"].is_array());
        assert!(!is_list, "a good list was refused");
        return;
    };
    if let Ok(Some(expected)) = expected.map(|value| value["items"].as_array().cloned())
        && items.len() == expected.len()
    {
        for (item, expected) in items.iter().zip(expected) {
            assert_eq!(serde_json::from_slice::<Value>(item).ok(), Some(expected));
        }
    }
}

fn check_object(object: &Object<DynamicObject>, data: &[u8]) {
    assert!(!object.name().is_empty());
    assert!(object.key().as_str().ends_with(object.name()));
    let _ = (object.namespace(), object.uid(), object.resource_version());
    let _ = (object.creation_timestamp(), object.deletion_timestamp(), object.owner_references());
    let _ = format!("{object} {object:?} {:?} {:?}", object.labels(), object.annotations());
    let _ =
        (object.get(), object.cast::<PartialObjectMetadata>().get(), serde_json::to_vec(object));
    let Ok(mut expected) = serde_json::from_slice::<Value>(data) else { return };
    let mut found: Value =
        serde_json::from_str(&object.json()).expect("what was JSON before is JSON after");
    assert_eq!(expected["metadata"]["name"], object.name());
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

fn origin() -> Arc<Origin> {
    Arc::new(Origin::new(ApiResource::namespaced("v1", "Pod", "pods"), "".into()))
}

/// All values of a stream, and how it ended.
fn values(reader: impl Read) -> (Vec<Vec<u8>>, Option<io::ErrorKind>) {
    let mut stream = JsonStream::new(reader);
    let mut found = Vec::new();
    loop {
        match stream.peek() {
            Ok(Some(_)) => {}
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.kind())),
        }
        match stream.take_value() {
            Ok(value) => found.push(value.to_vec()),
            Err(error) => return (found, Some(error.kind())),
        }
    }
}

/// The items of a list, and the rest of it or how it failed.
fn cut(reader: impl Read) -> (Vec<Vec<u8>>, Result<Vec<u8>, io::ErrorKind>) {
    let mut items = Vec::new();
    let rest = cut_list(reader, &mut |item| items.push(item.to_vec()));
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
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wanted = 1 + (self.state >> 24) as usize % 9;
        let length = wanted.min(self.text.len()).min(buf.len());
        let (piece, rest) = self.text.split_at(length);
        buf[..length].copy_from_slice(piece);
        self.text = rest;
        Ok(length)
    }
}
