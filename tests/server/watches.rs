use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::{
    client::{Watch, eventually, get},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps?watch=true";

fn labelled(name: &str, label: &str) -> Value {
    let mut object = map(name);
    object["metadata"]["labels"] = json!({"l": label});
    object
}

#[test]
fn a_watch_from_nothing_begins_with_what_is_there() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    for start in ["", "&resourceVersion=0"] {
        let mut watch = Watch::start(&server, &format!("{MAPS}{start}"));
        assert_eq!(watch.brief(), "ADDED a");
        server.put(labelled("b", "1")).unwrap();
        assert_eq!(watch.brief(), "ADDED b");
        server.delete("v1", "ConfigMap", "default/b").unwrap();
        assert_eq!(watch.brief(), "DELETED b");
    }
}

#[test]
fn a_watch_from_a_revision_has_every_change_after_it_in_order() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let from = server.resource_version();
    server.create(map("b")).unwrap();
    server.update(labelled("a", "1")).unwrap();
    server.delete("v1", "ConfigMap", "default/a").unwrap();
    server
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}))
        .unwrap();
    server.create(map("c")).unwrap();
    let mut watch = Watch::start(&server, &format!("{MAPS}&resourceVersion={from}"));
    let events: Vec<Value> = (0..4).map(|_| watch.next().unwrap()).collect();
    let brief: Vec<_> = events
        .iter()
        .map(|event| format!("{} {}", event["type"], event["object"]["metadata"]["name"]))
        .collect();
    assert_eq!(
        brief,
        ["\"ADDED\" \"b\"", "\"MODIFIED\" \"a\"", "\"DELETED\" \"a\"", "\"ADDED\" \"c\""]
    );
    let revisions: Vec<u64> = events
        .iter()
        .map(|event| {
            event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
        })
        .collect();
    assert!(revisions.is_sorted() && revisions[0] > from.parse().unwrap());
    let deleted = &events[2]["object"];
    assert_eq!(deleted["metadata"]["labels"]["l"], "1", "the last state");
    assert_eq!((&deleted["kind"], &deleted["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
}

#[test]
fn objects_that_enter_or_leave_a_selection_are_added_or_deleted() {
    let server = ApiServer::start().unwrap();
    let mut watch = Watch::start(&server, &format!("{MAPS}&labelSelector=l%3Dyes"));
    server.create(labelled("a", "no")).unwrap();
    server.update(labelled("a", "yes")).unwrap();
    assert_eq!(watch.brief(), "ADDED a");
    let mut changed = labelled("a", "yes");
    changed["data"]["k"] = "new".into();
    server.update(changed).unwrap();
    assert_eq!(watch.brief(), "MODIFIED a");
    server.update(labelled("a", "no")).unwrap();
    let left = watch.next().unwrap();
    assert_eq!(left["type"], "DELETED");
    assert_eq!(left["object"]["metadata"]["labels"]["l"], "yes", "the previous content");
    assert_eq!(left["object"]["data"]["k"], "new");
    assert_eq!(left["object"]["metadata"]["resourceVersion"], server.resource_version());
    server.delete("v1", "ConfigMap", "default/a").unwrap();
    server.create(labelled("b", "yes")).unwrap();
    assert_eq!(watch.brief(), "ADDED b", "what happens outside is not seen");
}

#[test]
fn one_object_is_watched_by_its_name() {
    let server = ApiServer::start().unwrap();
    let by_field = format!("{MAPS}&fieldSelector=metadata.name%3Db");
    let old_form = "/api/v1/watch/namespaces/default/configmaps/b";
    let mut watches = [&by_field, old_form].map(|target| Watch::start(&server, target));
    server.create(map("a")).unwrap();
    server.create(map("b")).unwrap();
    for watch in &mut watches {
        assert_eq!(watch.brief(), "ADDED b");
    }
}

#[test]
fn a_watch_from_outside_the_window_gets_410_in_the_stream() {
    let server = ApiServer::builder().history(3).start().unwrap();
    let from = server.resource_version();
    for name in ["a", "b", "c"] {
        server.create(map(name)).unwrap();
    }
    let target = format!("{MAPS}&resourceVersion={from}");
    assert_eq!(Watch::start(&server, &target).brief(), "ADDED a", "still in the window");
    server.create(map("d")).unwrap();
    let mut watch = Watch::start(&server, &target);
    let error = watch.next().unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (&error["object"]["code"], &error["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert_eq!(error["object"]["kind"], "Status");
    assert!(watch.next().is_none(), "and ends");
    let now = server.resource_version();
    server.compact();
    let mut watch = Watch::start(&server, &format!("{MAPS}&resourceVersion={now}"));
    server.create(map("e")).unwrap();
    assert_eq!(watch.brief(), "ADDED e", "a compaction does not hurt a watch from now");
}

#[test]
fn a_watch_of_the_future_begins_there() {
    let server = ApiServer::start().unwrap();
    let future = server.resource_version().parse::<u64>().unwrap() + 1;
    let mut watch = Watch::start(&server, &format!("{MAPS}&resourceVersion={future}"));
    server.create(map("a")).unwrap();
    server.create(map("b")).unwrap();
    assert_eq!(watch.brief(), "ADDED b");
}

#[test]
fn a_streamed_list_ends_with_the_marked_bookmark() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    server.create(map("b")).unwrap();
    let query =
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = Watch::start(&server, &format!("{MAPS}{query}"));
    assert_eq!(watch.brief(), "ADDED a");
    assert_eq!(watch.brief(), "ADDED b");
    let bookmark = watch.next().unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let object = &bookmark["object"];
    assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert_eq!(object["metadata"]["resourceVersion"], server.resource_version());
    assert_eq!(object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    server.create(map("c")).unwrap();
    assert_eq!(watch.brief(), "ADDED c");

    let query = "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = Watch::start(&server, &format!("{MAPS}{query}"));
    server.create(map("d")).unwrap();
    assert_eq!(watch.brief(), "ADDED d", "no initial events");

    let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9999";
    let error = Watch::start(&server, &format!("{MAPS}{query}")).next().unwrap();
    assert_eq!(error["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

#[test]
fn bookmarks_come_to_those_who_allow_them_and_carry_the_newest_revision() {
    let server = ApiServer::builder().bookmark_interval(Duration::from_millis(50)).start().unwrap();
    server
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}))
        .unwrap();
    let mut watch = Watch::start(&server, &format!("{MAPS}&allowWatchBookmarks=true"));
    let bookmark = watch.next().unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], server.resource_version());
    assert!(bookmark["object"]["metadata"].get("annotations").is_none());
    let mut silent = Watch::start(&server, MAPS);
    watch.next().unwrap();
    watch.next().unwrap();
    server.create(map("a")).unwrap();
    assert_eq!(silent.brief(), "ADDED a", "no bookmark before it");
}

#[test]
fn a_watch_ends_in_peace_when_its_time_is_up() {
    let server = ApiServer::start().unwrap();
    let start = Instant::now();
    let mut watch = Watch::start(&server, &format!("{MAPS}&timeoutSeconds=1"));
    assert_eq!(watch.http.chunk(), Some(Vec::new()), "the chunk that ends a body");
    assert!(start.elapsed() >= Duration::from_secs(1));
    // The connection can be used again.
    let answer = watch.http.ask("GET", "/version", "", b"");
    assert_eq!(answer.code, 200);
}

#[test]
fn times_that_no_clock_reaches_never_come() {
    let server = ApiServer::builder().bookmark_interval(Duration::MAX).start().unwrap();
    for seconds in [u64::MAX, i64::MAX.unsigned_abs()] {
        let target = format!("{MAPS}&allowWatchBookmarks=1&timeoutSeconds={seconds}");
        let mut watch = Watch::start(&server, &target);
        let name = format!("n{seconds}");
        server.create(labelled(&name, "x")).unwrap();
        while watch.next().expect("an event")["object"]["metadata"]["name"] != *name {}
    }
}

#[test]
fn a_last_bookmark_comes_before_the_time_is_up() {
    let server = ApiServer::start().unwrap();
    let target = format!("{MAPS}&timeoutSeconds=3&allowWatchBookmarks=true");
    assert_eq!(Watch::start(&server, &target).brief(), "BOOKMARK -");
}

#[test]
fn events_take_the_form_of_the_accept_header() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    server.create(map("b")).unwrap();
    let metadata = "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n";
    let event = Watch::with(&server, MAPS, metadata).next().unwrap();
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(event["object"]["metadata"]["name"], "a");
    assert!(event["object"].get("data").is_none());
    let table = "Accept: application/json;as=Table;g=meta.k8s.io;v=v1\r\n";
    let mut watch = Watch::with(&server, MAPS, table);
    let (first, second) = (watch.next().unwrap(), watch.next().unwrap());
    assert_eq!(first["object"]["columnDefinitions"][0]["name"], "Name");
    assert_eq!(second["object"]["rows"][0]["cells"][0], "b");
    assert!(second["object"]["columnDefinitions"].is_null(), "only the first has a header");
}

#[test]
fn the_server_notices_that_a_watcher_has_left() {
    let server = ApiServer::start().unwrap();
    let watch = Watch::start(&server, MAPS);
    eventually("the watch runs", || server.watches() == 1);
    drop(watch);
    eventually("the watch is gone", || server.watches() == 0 && server.connections() == 0);
}

#[test]
fn a_streamed_list_can_come_in_gzip_members() {
    use std::io::Read;
    let server = ApiServer::builder().compressed_streams(true).start().unwrap();
    server.create(map("a")).unwrap();
    let query =
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let gzip = "Accept-Encoding: gzip\r\n";
    let mut watch = Watch::with(&server, &format!("{MAPS}{query}"), gzip);
    let first = watch.http.chunk().unwrap();
    server.create(map("b")).unwrap();
    let second = watch.http.chunk().unwrap();
    for (member, expected) in [(&first, "initial-events-end"), (&second, "\"name\":\"b\"")] {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&member[..]).read_to_string(&mut text).unwrap();
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(get(&server, "/version").0, 200);
}

#[test]
fn the_demo_is_alive() {
    let server = ApiServer::demo().unwrap();
    let mut maps = Watch::start(&server, MAPS);
    assert_eq!(maps.brief(), "ADDED banner");
    assert_eq!(maps.brief(), "ADDED settings");
    assert_eq!(maps.brief(), "MODIFIED settings");
    let mut pods = Watch::start(&server, "/api/v1/namespaces/kube-system/pods?watch=1");
    let mut expected =
        BTreeSet::from(["ADDED coredns-a", "ADDED coredns-b", "ADDED metrics-server-a"]);
    // Pods come, before this watch or in it, and go.
    expected.extend(["ADDED coredns-c", "DELETED coredns-c"]);
    while !expected.is_empty() {
        let seen = pods.brief();
        assert!(expected.remove(&*seen) || seen.ends_with(" coredns-c"), "{seen}");
    }
    assert_eq!(server.list("apps/v1", "StatefulSet").len(), 2);
    assert!(!server.list("apps/v1", "Deployment").is_empty());
}
