//! Lists, cut into objects as they arrive.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use super::{failure, transport::Body};
use crate::{
    error::{DecodeError, Error, Result, Status},
    json::{decode::decode_bytes, outline::Value, scan::unescape, stream::JsonStream},
    object::{Object, Origin, Shape},
    stop::StopToken,
};

/// After so many objects a list is long.
pub(crate) const LONG: u32 = 100;

/// How long the objects of a long list are left to gather: to be woken for every one of them costs as much as the
/// object does, and the list is not complete before its last.
pub(crate) const GATHER: Duration = Duration::from_millis(1);

/// What a list says besides its items.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ListMeta {
    /// The state that was listed: where a watch goes on from.
    pub resource_version: String,
    /// For the next page; empty on the last.
    #[serde(rename = "continue")]
    pub continue_token: String,
    /// How many objects the following pages have, if the server knows.
    pub remaining_item_count: Option<u64>,
}

/// One page of objects, or all of them.
#[derive(Debug)]
#[non_exhaustive]
#[doc(alias = "UnstructuredList")]
pub struct List<K> {
    /// The objects.
    pub items: Vec<Object<K>>,
    /// The state they were listed in, and how to go on.
    pub metadata: ListMeta,
}

impl<'a, K> IntoIterator for &'a List<K> {
    type Item = &'a Object<K>;
    type IntoIter = std::slice::Iter<'a, Object<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<K> IntoIterator for List<K> {
    type Item = Object<K>;
    type IntoIter = std::vec::IntoIter<Object<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// Reads a list from a response, giving each item to `item` as soon as it is there.
pub(super) fn read<K>(
    body: Body,
    origin: &Arc<Origin>,
    stop: &StopToken,
    item: &mut dyn FnMut(Result<Object<K>, DecodeError>),
) -> Result<ListMeta> {
    let mut stream = items_of(body, &origin.shape);
    let cut = cut(
        &mut stream,
        &mut |text| {
            // Many may have arrived that nobody wants any more.
            stop.check().map_err(io::Error::other)?;
            item(Object::ingest(origin, text));
            Ok(())
        },
        |body| body.set_gather(GATHER),
    );
    match cut {
        Ok(envelope) => metadata(&envelope, origin),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(malformed(origin, error)),
        Err(error) => Err(stream.reader().failure(error)),
    }
}

/// The values of a list of objects of this shape.
fn items_of<R: Read>(reader: R, shape: &Shape) -> JsonStream<R> {
    // With the item itself.
    JsonStream::new(reader).outlined_to_depth(1 + shape.depth())
}

/// Cuts a list that comes from anywhere.
#[cfg(feature = "_fuzz")]
pub(crate) fn cut_list(
    reader: impl Read,
    shape: &Shape,
    item: &mut dyn FnMut(Value<'_>),
) -> io::Result<Vec<u8>> {
    let mut item = |text: Value<'_>| {
        item(text);
        Ok(())
    };
    cut(&mut items_of(reader, shape), &mut item, |_| {})
}

/// Reads an answer to its end only to know whether it is a failure after all.
pub(super) fn discard(body: &mut Body) -> Result<()> {
    /// A `Status` is smaller than this.
    const BEGINNING: u64 = 1024 * 1024;
    let mut beginning = Vec::new();
    let read = body.take(BEGINNING).read_to_end(&mut beginning);
    read.and_then(|_| io::copy(body, &mut io::sink())).map_err(|error| body.failure(error))?;
    match failure::failure_status(&beginning) {
        Some(status) => Err(Error::Api(Box::new(status))),
        None => Ok(()),
    }
}

/// Cuts the items out of a list; gives back the rest of it, with an empty array in their place. `is_long` is called
/// when there are many.
fn cut<R: Read>(
    stream: &mut JsonStream<R>,
    item: &mut dyn FnMut(Value<'_>) -> io::Result<()>,
    is_long: fn(&mut R),
) -> io::Result<Vec<u8>> {
    /// A list's own fields are small. This bounds what a server gone wrong can make of them.
    const MAX_ENVELOPE: usize = 1024 * 1024;

    let mut envelope = vec![b'{'];
    stream.expect(b'{')?;
    if stream.peek()? != Some(b'}') {
        loop {
            let key = stream.take_value()?.bytes();
            let is_items = unescape(key).is_ok_and(|key| key == "items");
            envelope.extend_from_slice(key);
            envelope.push(b':');
            stream.expect(b':')?;
            if is_items && stream.peek()? != Some(b'n') {
                cut_items(stream, item, is_long)?;
                envelope.extend_from_slice(b"[]");
            } else {
                envelope.extend_from_slice(stream.take_value()?.bytes());
            }
            if envelope.len() > MAX_ENVELOPE {
                let text = "the list is more than its items";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if stream.peek()? != Some(b',') {
                break;
            }
            stream.expect(b',')?;
            envelope.push(b',');
        }
    }
    stream.expect(b'}')?;
    envelope.push(b'}');
    // Read to its end, the connection can be used again.
    match stream.peek()? {
        None => Ok(envelope),
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "something follows the list")),
    }
}

fn cut_items<R: Read>(
    stream: &mut JsonStream<R>,
    item: &mut dyn FnMut(Value<'_>) -> io::Result<()>,
    is_long: fn(&mut R),
) -> io::Result<()> {
    stream.expect(b'[')?;
    if stream.peek()? != Some(b']') {
        for count in 1u64.. {
            item(stream.take_value()?)?;
            if count == u64::from(LONG) {
                is_long(stream.reader_mut());
            }
            if stream.peek()? != Some(b',') {
                break;
            }
            stream.expect(b',')?;
        }
    }
    stream.expect(b']')
}

fn metadata(envelope: &[u8], origin: &Origin) -> Result<ListMeta> {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        metadata: Option<ListMeta>,
        /// Whatever they are: `null` is how Go writes none.
        #[serde(default, rename = "items", deserialize_with = "is_there")]
        has_items: bool,
    }
    fn is_there<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
        IgnoredAny::deserialize(value).map(|_| true)
    }
    let what = || format!("a list of {}", origin.resource);
    let found: Envelope = decode_bytes(envelope).map_err(|error| Error::decode(what(), error))?;
    if found.kind == "Status" {
        let status: Status =
            decode_bytes(envelope).map_err(|error| Error::decode(what(), error))?;
        return Err(Error::Api(Box::new(status)));
    }
    // To take something else for a list without items is to lose every object that there is.
    if found.kind == "Table" || !(found.has_items || found.kind.ends_with("List")) {
        let reason = format!("the server sent something else, of kind {:?}", found.kind);
        return Err(Error::decode(what(), serde::de::Error::custom(reason)));
    }
    Ok(found.metadata.unwrap_or_default())
}

fn malformed(origin: &Origin, error: io::Error) -> Error {
    Error::decode(format!("a list of {}", origin.resource), serde::de::Error::custom(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_text(text: &str) -> io::Result<(Vec<String>, String)> {
        let mut items = Vec::new();
        let mut stream = JsonStream::new(text.as_bytes());
        let mut item = |item: Value<'_>| {
            items.push(String::from_utf8(item.bytes().to_vec()).unwrap());
            Ok(())
        };
        let envelope = cut(&mut stream, &mut item, |_| {})?;
        Ok((items, String::from_utf8(envelope).unwrap()))
    }

    #[test]
    fn items_are_cut_out_wherever_they_stand() {
        let (items, rest) =
            cut_text(r#" {"kind":"PodList","items":[{"a":1} , {"b":[2]}],"metadata":{"x":"]"}} "#)
                .unwrap();
        assert_eq!(items, [r#"{"a":1}"#, r#"{"b":[2]}"#]);
        assert_eq!(rest, r#"{"kind":"PodList","items":[],"metadata":{"x":"]"}}"#);
        let (items, rest) = cut_text(r#"{"items":[],"kind":"X"}"#).unwrap();
        assert_eq!((items.len(), rest.as_str()), (0, r#"{"items":[],"kind":"X"}"#));
        assert_eq!(cut_text("{}").unwrap().1, "{}");
        let (items, rest) = cut_text(r#"{"items":null}"#).unwrap();
        assert_eq!((items.len(), rest.as_str()), (0, r#"{"items":null}"#));
        let (items, _) = cut_text(r#"{"metadata":{"items":[{}]},"\u0069tems":[{"c":3}]}"#).unwrap();
        assert_eq!(items, [r#"{"c":3}"#], "only the list's own items, however they are spelt");
    }

    #[test]
    fn a_list_that_is_cut_short_is_an_error_and_not_a_short_list() {
        let whole = r#"{"metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b":2}]}"#;
        for end in 0..whole.len() {
            let error = cut_text(&whole[..end]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{}", &whole[..end]);
        }
        for bad in ["[]", "null", r#"{"items":[{}{}]}"#, r#"{"a":1,}"#, r#"{}{}"#, "<html>"] {
            assert_eq!(cut_text(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad}");
        }
    }

    #[test]
    fn a_status_or_a_table_is_not_a_list() {
        let resource = crate::ApiResource::namespaced("v1", "Pod", "pods");
        let origin = Origin::new(resource, "".into());
        let status = br#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}"#;
        assert!(metadata(status, &origin).unwrap_err().is_expired());
        assert!(metadata(br#"{"kind":"Table","rows":[]}"#, &origin).is_err());
        let meta = metadata(
            br#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3}}"#,
            &origin,
        )
        .unwrap();
        assert_eq!((meta.resource_version.as_str(), meta.continue_token.as_str()), ("7", "c"));
        assert_eq!(meta.remaining_item_count, Some(3));
    }
}
