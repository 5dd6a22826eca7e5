//! What the tests have in common: waiting, pauses, objects, errors, events.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Backoff, Bookmark, Client, Config, DynamicObject, Error, ListMeta, ListOptions,
    Object, Result, Status, WatchEvent, testing::ApiServer,
};
use serde_json::json;

use crate::raw::Reserved;

/// No wait in these tests lasts this long unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A list with nothing in it.
pub(crate) const EMPTY: &str =
    r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}"#;

/// Blocks until `done`, for at most [`LIMIT`].
#[track_caller]
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < limit, "waited too long for: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Pauses too short to wait for.
pub(crate) fn short_pauses() -> Backoff {
    pauses(1, 2.0, 20)
}

/// One pause that is short; a second one outlasts the test.
pub(crate) fn one_pause() -> Backoff {
    pauses(1, 1e9, 3_600_000)
}

/// Every pause outlasts the test: there must be none.
pub(crate) fn no_pause() -> Backoff {
    pauses(3_600_000, 1.0, 3_600_000)
}

pub(crate) fn pauses(initial_ms: u64, factor: f64, cap_ms: u64) -> Backoff {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(initial_ms);
    backoff.cap = Duration::from_millis(cap_ms);
    backoff.factor = factor;
    backoff.jitter = 0.0;
    backoff
}

pub(crate) fn config_maps() -> ApiResource {
    ApiResource::namespaced("v1", "ConfigMap", "configmaps")
}

pub(crate) fn object(name: &str, version: &str) -> Object {
    let json = json!({"metadata": {"name": name, "namespace": "default", "uid": name,
        "resourceVersion": version}});
    Object::from_json(&config_maps(), json.to_string().as_bytes()).unwrap()
}

/// What an object without a name is read as.
pub(crate) fn unusable() -> Error {
    Object::<DynamicObject>::from_json(&config_maps(), b"{\"metadata\":{}}").unwrap_err()
}

pub(crate) type Event = Result<WatchEvent<DynamicObject>>;

pub(crate) fn added(name: &str, version: &str) -> Event {
    Ok(WatchEvent::Added(object(name, version)))
}

pub(crate) fn modified(name: &str, version: &str) -> Event {
    Ok(WatchEvent::Modified(object(name, version)))
}

pub(crate) fn deleted(name: &str, version: &str) -> Event {
    Ok(WatchEvent::Deleted(object(name, version)))
}

pub(crate) fn bookmark(version: &str) -> Event {
    Ok(WatchEvent::Bookmark(bookmark_at(version, false)))
}

/// The end of a streamed list.
pub(crate) fn marker(version: &str) -> Event {
    Ok(WatchEvent::Bookmark(bookmark_at(version, true)))
}

pub(crate) fn error_event(code: u16, reason: &str) -> Event {
    let Error::Api(status) = api(code, reason) else { unreachable!() };
    Ok(WatchEvent::Error(status))
}

fn bookmark_at(version: &str, initial_events_end: bool) -> Bookmark {
    // There is no other way to make one than to receive one.
    static RECEIVED: LazyLock<Bookmark> = LazyLock::new(|| {
        let server = ApiServer::start().unwrap();
        let client = Client::new(server.config()).unwrap();
        let options = ListOptions::new()
            .send_initial_events(true)
            .resource_version_match(kinformer::ResourceVersionMatch::NotOlderThan);
        let watch = client.api_for::<DynamicObject>(&config_maps()).watch(&options).unwrap();
        let found = watch.filter_map(|event| match event {
            Ok(WatchEvent::Bookmark(bookmark)) => Some(bookmark),
            _ => None,
        });
        found.take(1).next().unwrap()
    });
    let mut bookmark = RECEIVED.clone();
    bookmark.resource_version = version.to_owned();
    bookmark.initial_events_end = initial_events_end;
    bookmark
}

pub(crate) fn api(code: u16, reason: &str) -> Error {
    let mut status = Status::default();
    status.status = "Failure".into();
    status.code = code;
    status.reason = reason.into();
    Error::Api(Box::new(status))
}

pub(crate) fn expired() -> Error {
    api(410, "Expired")
}

/// A failure as a server wrote it.
pub(crate) fn api_json(json: &str) -> Error {
    Error::Api(Box::new(serde_json::from_str(json).unwrap()))
}

/// What it is like when nobody listens.
pub(crate) fn refused() -> Error {
    let nobody = Reserved::new();
    let url = format!("http://{}", nobody.address);
    let config = Config::builder(url).no_proxy().build().unwrap();
    let client = Client::new(config).unwrap();
    let error = client.api_for::<DynamicObject>(&config_maps()).watch(&ListOptions::new());
    let error = error.unwrap_err();
    assert!(error.is_connection_refused(), "{error}");
    error
}

pub(crate) fn list_meta(version: &str, continue_token: &str) -> ListMeta {
    let mut meta = ListMeta::default();
    meta.resource_version = version.to_owned();
    meta.continue_token = continue_token.to_owned();
    meta
}
