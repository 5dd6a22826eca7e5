//! Watches: a blocking iterator over events.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;

use super::transport::Body;
use crate::{
    error::{DecodeError, Error, Found, Result, Status},
    json::{decode::decode_bytes, outline::Value, scan::unescape, stream::JsonStream},
    object::{Object, Origin, Shape},
    stop::StopToken,
};

/// One event of a watch.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[doc(alias = "watch.Event")]
pub enum WatchEvent<K> {
    /// An object was made, or begins to match, or was there at the start.
    Added(Object<K>),
    /// An object was changed.
    Modified(Object<K>),
    /// An object was deleted or no longer matches; its last state.
    Deleted(Object<K>),
    /// Everything up to this resource version has been seen.
    Bookmark(Bookmark),
    /// The server cannot go on with this watch, and says why. Usually the last event.
    Error(Box<Status>),
}

/// How far a watch has come.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Bookmark {
    /// Where another watch would go on from.
    pub resource_version: String,
    /// Whether this is the end of the objects that were there at the start of a streamed list.
    pub initial_events_end: bool,
}

impl Bookmark {
    /// A bookmark for a source of your own.
    #[must_use]
    pub fn new(resource_version: impl Into<String>, initial_events_end: bool) -> Self {
        Self { resource_version: resource_version.into(), initial_events_end }
    }
}

/// Events from the server, as they happen.
///
/// Ends when the server ends the watch, which it does from time to time: go on from the last resource
/// version seen. For a watch that goes on by itself, use an informer.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, ListOptions, WatchEvent};
///
/// for event in Client::try_default()?.api::<Pod>().watch(&ListOptions::new())? {
///     match event? {
///         WatchEvent::Added(pod) => println!("ADDED {pod}"),
///         WatchEvent::Error(status) => println!("ERROR {status}"),
///         other => println!("{other:?}"),
///     }
/// }
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Blocking
///
/// `next` blocks until there is an event. It returns at once when the [`StopToken`] of its
/// [`Client`](crate::Client::with_stop) is stopped: the item is then [`Error::Stopped`]. Watches that
/// may have bookmarks also fail when nothing comes for [`Timeouts::watch_idle`].
///
/// [`Timeouts::watch_idle`]: crate::config::Timeouts::watch_idle
///
/// # Differences from client-go
///
/// An object that cannot be used is an error for that one item, and the watch goes on. A watch that
/// breaks is an error and not a silent end.
#[must_use = "a watch that is dropped is ended"]
#[doc(alias = "Interface")]
pub struct Watch<K> {
    source: Source<K>,
}

enum Source<K> {
    Stream(Box<Stream>),
    /// Nothing can match, so nothing was asked.
    Nothing(StopToken),
    /// Somebody else's events.
    Other(Box<dyn Iterator<Item = Result<WatchEvent<K>>> + Send>),
    Over,
}

struct Stream {
    frames: JsonStream<Body>,
    origin: Arc<Origin>,
    stop: StopToken,
}

impl<K> Watch<K> {
    /// A watch of events from elsewhere, for a [`ListerWatcher`](crate::ListerWatcher) of your own.
    pub fn from_events(
        events: impl Iterator<Item = Result<WatchEvent<K>>> + Send + 'static,
    ) -> Self {
        Self { source: Source::Other(Box::new(events)) }
    }

    pub(super) fn new(body: Body, origin: Arc<Origin>, stop: StopToken) -> Self {
        let frames = frames_of(body, &origin.shape);
        let stream = Stream { frames, origin, stop };
        Self { source: Source::Stream(Box::new(stream)) }
    }

    /// A watch that ends only when it is stopped: nothing can match.
    pub(super) fn of_nothing(stop: StopToken) -> Self {
        Self { source: Source::Nothing(stop) }
    }

    /// The same events with their objects seen as another type.
    pub(crate) fn cast<J>(self) -> Watch<J>
    where
        K: 'static,
    {
        let source = match self.source {
            Source::Stream(stream) => Source::Stream(stream),
            Source::Nothing(stop) => Source::Nothing(stop),
            Source::Other(events) => {
                Source::Other(Box::new(events.map(|event| event.map(WatchEvent::cast))))
            }
            Source::Over => Source::Over,
        };
        Watch { source }
    }

    /// Whether the next event has arrived already: to read it is not to wait.
    pub(crate) fn has_next(&mut self) -> bool {
        match &mut self.source {
            Source::Stream(stream) => stream.frames.has_object(),
            _ => false,
        }
    }

    /// Changes how long the server may be silent from now on.
    pub(crate) fn set_silence(&mut self, silence: Duration) {
        if let Source::Stream(stream) = &mut self.source {
            stream.frames.reader_mut().set_silence(Some(silence));
        }
    }

    /// A list is over that came this way, and what comes from now on is read as it comes.
    pub(crate) fn end_list(&mut self) {
        self.set_gather(Duration::ZERO);
        if let Source::Stream(stream) = &mut self.source {
            stream.frames.give_back_room();
            stream.frames.reader_mut().give_back_room();
        }
    }

    /// Lets what comes gather for so long, from now on, before it is read: see [`Body::set_gather`].
    pub(crate) fn set_gather(&mut self, gather: Duration) {
        if let Source::Stream(stream) = &mut self.source {
            stream.frames.reader_mut().set_gather(gather);
        }
    }
}

impl<K> WatchEvent<K> {
    fn cast<J>(self) -> WatchEvent<J> {
        match self {
            Self::Added(object) => WatchEvent::Added(object.into_cast()),
            Self::Modified(object) => WatchEvent::Modified(object.into_cast()),
            Self::Deleted(object) => WatchEvent::Deleted(object.into_cast()),
            Self::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
            Self::Error(status) => WatchEvent::Error(status),
        }
    }
}

impl<K> Iterator for Watch<K> {
    type Item = Result<WatchEvent<K>>;

    fn next(&mut self) -> Option<Self::Item> {
        let Stream { frames, origin, stop } = match &mut self.source {
            Source::Stream(stream) => &mut **stream,
            Source::Other(events) => return events.next(),
            Source::Nothing(stop) => {
                stop.wait();
                self.source = Source::Over;
                return Some(Err(Error::Stopped));
            }
            Source::Over => return None,
        };
        if stop.is_stopped() {
            // Before what has arrived already.
            self.source = Source::Over;
            return Some(Err(Error::Stopped));
        }
        let failure = match take_frame(frames) {
            Ok(Some(frame)) => return Some(parse(frame, origin)),
            // The end of a body and the end of a connection that was shut down look alike.
            Ok(None) => stop.check().err(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let what = format!("a watch of {}", origin.resource);
                Some(Error::decode(what, serde::de::Error::custom(error)))
            }
            Err(error) => Some(frames.reader().failure(error)),
        };
        self.source = Source::Over;
        failure.map(Err)
    }
}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// The frames of a watch of objects of this shape.
pub(crate) fn frames_of<R: Read>(reader: R, shape: &Shape) -> JsonStream<R> {
    // With the frame and the object itself.
    JsonStream::new(reader).outlined_to_depth(2 + shape.depth())
}

/// The next JSON value, which need not be a line; `None` at the end.
fn take_frame(stream: &mut JsonStream<Body>) -> io::Result<Option<Value<'_>>> {
    match stream.peek()? {
        None => Ok(None),
        Some(b'{') => stream.take_value().map(Some),
        Some(_) => {
            let text = "what the server sent is not a watch event";
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        }
    }
}

/// Reads one frame: the type decides how the object is read.
pub(crate) fn parse<K>(frame: Value<'_>, origin: &Arc<Origin>) -> Result<WatchEvent<K>> {
    let what = || format!("a watch event of {}", origin.resource);
    let malformed = |reason: &str| Error::decode(what(), serde::de::Error::custom(reason));

    let (mut kind, mut object) = (None, None);
    for member in frame.members().map_err(|_| malformed("not JSON"))? {
        let member = member.map_err(|_| malformed("not JSON"))?;
        match &*member.key {
            "type" => kind = Some(member.value),
            "object" => object = Some(frame.part(member.value, member.number)),
            _ => {}
        }
    }
    let Some(kind) = kind else {
        // An error that a proxy or an aggregated server put into the stream as it is.
        return match super::failure::failure_status(frame.bytes()) {
            Some(status) => Ok(WatchEvent::Error(Box::new(status))),
            None => Err(malformed("it has no type")),
        };
    };
    let object = object.unwrap_or(Value::NULL);
    let kind = unescape(&frame.text[kind]).unwrap_or_default();
    Ok(match &*kind {
        "ADDED" => WatchEvent::Added(Object::ingest(origin, object)?),
        "MODIFIED" => WatchEvent::Modified(Object::ingest(origin, object)?),
        "DELETED" => WatchEvent::Deleted(Object::ingest(origin, object)?),
        "BOOKMARK" => WatchEvent::Bookmark(bookmark(object.bytes(), origin)?),
        "ERROR" => WatchEvent::Error(Box::new(error_status(object.bytes()))),
        _ => return Err(malformed("its type is not one of a watch event")),
    })
}

/// A bookmark is an otherwise empty object, and may not fit the type of the others.
fn bookmark(object: &[u8], origin: &Origin) -> Result<Bookmark, DecodeError> {
    const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
    #[derive(Deserialize)]
    struct Envelope {
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Metadata {
        resource_version: String,
        annotations: Option<BTreeMap<String, String>>,
    }
    let found: Envelope = decode_bytes(object)
        .map_err(|error| DecodeError::new(format!("a bookmark of {}", origin.resource), error))
        .map_err(|error| error.of_one(Found::default()))?;
    let annotations = found.metadata.annotations.unwrap_or_default();
    let end = annotations.get(INITIAL_EVENTS_END);
    Ok(Bookmark {
        initial_events_end: end.is_some_and(|value| value == "true"),
        resource_version: found.metadata.resource_version,
    })
}

/// The server's account; an error event without one is an internal error.
fn error_status(object: &[u8]) -> Status {
    match decode_bytes::<Status>(object) {
        Ok(status) if status.code != 0 || !status.reason.is_empty() => status,
        _ => {
            let text = String::from_utf8_lossy(&object[..object.len().min(200)]);
            Status::failure(500, "InternalError", format!("error event without a status: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiResource, DynamicObject, json::outline::Outline};

    fn event(frame: &str) -> Result<WatchEvent<DynamicObject>> {
        let pods = ApiResource::namespaced("v1", "Pod", "pods");
        let (outline, range) = Outline::of(frame.as_bytes()).unwrap();
        let frame = outline.value(frame.as_bytes(), range);
        parse(frame, &Arc::new(Origin::new(pods, "".into())))
    }

    #[test]
    fn all_five_types_are_read() {
        let object = r#"{"metadata":{"name":"a","resourceVersion":"7"}}"#;
        for (kind, expected) in
            [("ADDED", "Added"), ("MODIFIED", "Modified"), ("DELETED", "Deleted")]
        {
            let event = event(&format!(r#"{{"type":"{kind}","object":{object}}}"#)).unwrap();
            assert!(format!("{event:?}").starts_with(expected), "{event:?}");
        }
        let reversed = event(&format!(r#"{{"object":{object},"x":1,"type":"ADDED"}}"#)).unwrap();
        assert!(matches!(reversed, WatchEvent::Added(object) if object.resource_version() == "7"));
        let error =
            event(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#);
        assert!(matches!(error.unwrap(), WatchEvent::Error(status) if status.code == 410));
    }

    #[test]
    fn a_bookmark_need_not_look_like_the_objects() {
        let frame = r#"{"type":"BOOKMARK","object":{"kind":"Pod","spec":{"containers":null},
            "metadata":{"resourceVersion":"9","creationTimestamp":null,
            "annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        let WatchEvent::Bookmark(bookmark) = event(frame).unwrap() else { panic!() };
        assert_eq!((bookmark.resource_version.as_str(), bookmark.initial_events_end), ("9", true));
        let other = event(&frame.replace("\"true\"", "\"false\"")).unwrap();
        assert!(matches!(other, WatchEvent::Bookmark(bookmark) if !bookmark.initial_events_end));
    }

    #[test]
    fn an_error_event_that_is_no_status_is_an_internal_error() {
        let error = event(r#"{"type":"ERROR","object":{"kind":"Pod","metadata":{"name":"a"}}}"#);
        let WatchEvent::Error(status) = error.unwrap() else { panic!() };
        assert_eq!((status.code, status.reason.as_str()), (500, "InternalError"));
    }

    #[test]
    fn a_bare_status_in_the_stream_is_an_error_event() {
        let bare = "{\n  \"kind\": \"Status\",\n  \"status\": \"Failure\",\n  \"code\": 401\n}";
        assert!(matches!(event(bare).unwrap(), WatchEvent::Error(status) if status.code == 401));
    }

    #[test]
    fn what_is_not_an_event_is_a_decode_error() {
        for bad in [
            "{}",
            r#"{"type":"NEW","object":{}}"#,
            r#"{"type":"ADDED"}"#,
            r#"{"type":"ADDED","object":{"metadata":{}}}"#,
            r#"{"type":"BOOKMARK","object":3}"#,
            r#"{"type":3}"#,
        ] {
            assert!(matches!(event(bad), Err(Error::Decode(_))), "{bad}");
        }
    }
}
