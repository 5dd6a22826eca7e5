//! Watches: what comes, in which order, and how they end.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{ListOptions, Patch, ResourceVersionMatch, Watch, WatchEvent, labels};
use serde_json::json;

use crate::server::Scope;

#[test]
fn a_watch_goes_on_from_a_version_with_every_change_in_order() {
    let scope = Scope::new();
    let from = scope.put("a", "1");
    scope.put("a", "2");
    scope.put("b", "1");
    scope.maps().delete("a").unwrap();
    let mut watch = scope.maps().watch(&ListOptions::new().resource_version(from)).unwrap();
    assert_eq!(texts(&mut watch, 3), ["~a 2", "+b 1", "-a 2"]);
    scope.put("c", "1");
    assert_eq!(texts(&mut watch, 1), ["+c 1"]);
}

#[test]
fn a_deletion_has_a_version_of_its_own() {
    let scope = Scope::new();
    let from = scope.put("a", "1");
    let mut watch = scope.maps().watch(&ListOptions::new().resource_version(&from)).unwrap();
    scope.maps().delete("a").unwrap();
    let WatchEvent::Deleted(object) = watch.next().unwrap().unwrap() else { panic!("a deletion") };
    assert!(number(object.resource_version()) > number(&from));
}

#[test]
fn coming_to_match_is_added_and_ceasing_to_is_deleted() {
    let scope = Scope::new();
    let from = scope.put("a", "1");
    let options =
        ListOptions::new().labels(labels::parse("pick=me").unwrap()).resource_version(from);
    let mut watch = scope.maps().watch(&options).unwrap();
    let label = |value: Option<&str>| {
        let patch = json!({"metadata": {"labels": {"pick": value}}});
        scope.maps().patch("a", &Patch::Merge(patch)).unwrap();
    };
    label(Some("me"));
    scope.put("a", "2");
    label(Some("other"));
    scope.put("a", "3");
    label(Some("me"));
    assert_eq!(texts(&mut watch, 4), ["+a 1", "~a 2", "-a 2", "+a 3"]);
}

#[test]
fn a_streamed_list_ends_with_a_bookmark_and_goes_on_as_a_watch() {
    let scope = Scope::new();
    scope.put("a", "1");
    let last = scope.put("b", "1");
    let options = ListOptions::new()
        .send_initial_events(true)
        .labels(labels::parse("app").unwrap())
        .resource_version_match(ResourceVersionMatch::NotOlderThan)
        .bookmarks(true);
    let mut watch = scope.maps().watch(&options).unwrap();
    let mut initial = texts(&mut watch, 2);
    initial.sort();
    assert_eq!(initial, ["+a 1", "+b 1"]);
    let WatchEvent::Bookmark(end) = watch.next().unwrap().unwrap() else { panic!("the end") };
    assert!(end.initial_events_end);
    assert!(number(&end.resource_version) >= number(&last));
    scope.put("a", "2");
    assert_eq!(texts(&mut watch, 1), ["~a 2"]);
}

#[test]
fn a_watch_ends_when_it_was_asked_to_and_says_first_how_far_it_came() {
    let scope = Scope::new();
    let from = scope.put("a", "1");
    // What others write comes before the bookmark, which comes two seconds before the end.
    let options = ListOptions::new().resource_version(&from).timeout_seconds(8).bookmarks(true);
    let elsewhere = Scope::new();
    let start = Instant::now();
    let watch = scope.maps().watch(&options).unwrap();
    // Others write meanwhile, in other namespaces.
    let later = elsewhere.put("x", "1");
    let events: Vec<_> = watch.map(|event| event.unwrap()).collect();
    assert!(start.elapsed() >= Duration::from_secs(7), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let Some(WatchEvent::Bookmark(bookmark)) = events.last() else { panic!("{events:?}") };
    assert!(number(&bookmark.resource_version) >= number(&later), "{bookmark:?} {later}");
}

/// So a client that waits on one hears nothing, not even the bookmark before its end: after a restore of the
/// server from a backup, say.
#[test]
fn a_watch_from_a_version_of_the_future_is_silent() {
    let scope = Scope::new();
    let future = number(&scope.put("a", "1")) + 1_000_000;
    let options = ListOptions::new().resource_version(future.to_string()).timeout_seconds(4);
    let watch = scope.maps().watch(&options.bookmarks(true)).unwrap();
    scope.put("a", "2");
    let events: Vec<_> = watch.map(|event| event.unwrap()).collect();
    assert!(events.is_empty(), "{events:?}");
}

#[test]
fn only_metadata_is_watched_where_it_is_asked_for() {
    let scope = Scope::new();
    let from = scope.put("a", "1");
    let metadata = scope.client.metadata::<ConfigMap>().namespace(&scope.name);
    let mut watch = metadata.watch(&ListOptions::new().resource_version(from)).unwrap();
    scope.put("a", &"x".repeat(100));
    let WatchEvent::Modified(object) = watch.next().unwrap().unwrap() else { panic!("a change") };
    assert_eq!(object.name(), "a");
    assert!(!object.json().contains("xxx"));
}

/// So many events as `+a 1`, `~a 2`, `-a 2`; bookmarks are left out.
fn texts(watch: &mut Watch<ConfigMap>, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    while found.len() < count {
        let (sign, object) = match watch.next().expect("the watch goes on").unwrap() {
            WatchEvent::Added(object) => ('+', object),
            WatchEvent::Modified(object) => ('~', object),
            WatchEvent::Deleted(object) => ('-', object),
            WatchEvent::Bookmark(_) => continue,
            other => panic!("{other:?}"),
        };
        let body = object.get().unwrap();
        found.push(format!("{sign}{} {}", object.name(), body.data.as_ref().unwrap()["value"]));
    }
    found
}

fn number(version: &str) -> u64 {
    version.parse().unwrap()
}
