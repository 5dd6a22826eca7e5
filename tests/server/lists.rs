use std::{
    thread,
    time::{Duration, Instant},
};

use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::client::{Http, get, get_as, names};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"n": name}}, "data": {"k": "v"}})
}

fn server_with(names: &[&str]) -> ApiServer {
    let server = ApiServer::start().unwrap();
    for name in names {
        server.create(map(name)).unwrap();
    }
    server
}

#[test]
fn a_list_is_sorted_and_carries_the_revision_and_no_kind_on_items() {
    let server = server_with(&["b", "a", "c"]);
    let (code, list) = get(&server, MAPS);
    assert_eq!(code, 200);
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ConfigMapList"), &json!("v1")));
    assert_eq!(list["metadata"]["resourceVersion"], server.resource_version());
    assert!(list["items"][0].get("kind").is_none());
    let (_, all) = get(&server, "/api/v1/configmaps");
    assert_eq!(all["items"], list["items"]);
    let (code, empty) = get(&server, "/api/v1/namespaces/nowhere/configmaps");
    assert_eq!((code, &empty["items"]), (200, &json!([])));
}

#[test]
fn selectors_select_and_bad_ones_are_refused() {
    let server = server_with(&["a", "b", "c"]);
    for (query, expected) in [
        ("labelSelector=n%3Da", vec!["a"]),
        ("labelSelector=n+in+(a,c)", vec!["a", "c"]),
        ("labelSelector=n!%3Da", vec!["b", "c"]),
        ("labelSelector=!n", vec![]),
        ("fieldSelector=metadata.name%3Db", vec!["b"]),
        ("fieldSelector=metadata.name!%3Db,metadata.namespace%3Ddefault", vec!["a", "c"]),
    ] {
        assert_eq!(names(&get(&server, &format!("{MAPS}?{query}")).1), expected, "{query}");
    }
    for query in ["labelSelector=a+b", "fieldSelector=data.k%3Dv", "fieldSelector=x"] {
        let (code, status) = get(&server, &format!("{MAPS}?{query}"));
        assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{query}");
    }
}

#[test]
fn pods_are_selected_by_node_and_phase() {
    let server = ApiServer::start().unwrap();
    for (name, node, phase) in
        [("a", "n1", "Running"), ("b", "n2", "Running"), ("c", "n1", "Failed")]
    {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": node}, "status": {"phase": phase}});
        server.create(pod).unwrap();
    }
    let pods = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,status.phase%3DRunning";
    assert_eq!(names(&get(&server, pods).1), ["a"]);
}

#[test]
fn pages_are_of_one_snapshot_and_say_what_remains() {
    let server = server_with(&["a", "b", "c", "d", "e"]);
    let (_, first) = get(&server, &format!("{MAPS}?limit=2"));
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let revision = first["metadata"]["resourceVersion"].clone();

    // None of this shows on the later pages.
    server.delete("v1", "ConfigMap", "default/c").unwrap();
    server.create(map("bb")).unwrap();
    server.create(map("z")).unwrap();
    let mut changed = map("d");
    changed["data"]["k"] = "new".into();
    server.update(changed).unwrap();

    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = get(&server, &format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"]["resourceVersion"], revision);
    assert_eq!(second["items"][1]["data"]["k"], "v");
    let token = second["metadata"]["continue"].as_str().unwrap();
    let (_, last) = get(&server, &format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&last), ["e"]);
    assert!(last["metadata"].get("continue").is_none());
    assert!(last["metadata"].get("remainingItemCount").is_none());
}

#[test]
fn with_a_selector_nobody_counts_what_remains() {
    let server = server_with(&["a", "b", "c"]);
    let (_, page) = get(&server, &format!("{MAPS}?limit=1&labelSelector=n"));
    assert_eq!(names(&page), ["a"]);
    assert!(page["metadata"].get("continue").is_some());
    assert!(page["metadata"].get("remainingItemCount").is_none());
}

#[test]
fn an_expired_token_is_410_with_a_token_to_go_on_from() {
    let server = server_with(&["a", "b", "c"]);
    let (_, first) = get(&server, &format!("{MAPS}?limit=1"));
    let token = first["metadata"]["continue"].as_str().unwrap();
    server.create(map("bb")).unwrap();
    server.compact();
    let (code, status) = get(&server, &format!("{MAPS}?limit=1&continue={token}"));
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let token = status["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = get(&server, &format!("{MAPS}?continue={token}"));
    assert_eq!(names(&rest), ["b", "bb", "c"]);
}

#[test]
fn a_token_from_the_future_is_refused() {
    let server = server_with(&["a", "b"]);
    let other = server_with(&["a", "b", "c", "d"]);
    let (_, page) = get(&other, &format!("{MAPS}?limit=1"));
    let token = page["metadata"]["continue"].as_str().unwrap();
    let (code, status) = get(&server, &format!("{MAPS}?limit=1&continue={token}"));
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
}

#[test]
fn zero_ignores_the_limit_and_exact_reads_the_past() {
    let server = server_with(&["a", "b"]);
    let past = server.resource_version();
    server.create(map("c")).unwrap();
    assert_eq!(names(&get(&server, &format!("{MAPS}?resourceVersion=0&limit=1")).1).len(), 3);
    let not_older = format!("{MAPS}?resourceVersion={past}");
    assert_eq!(names(&get(&server, &not_older).1), ["a", "b", "c"]);
    let exact = format!("{MAPS}?resourceVersion={past}&resourceVersionMatch=Exact");
    let (_, list) = get(&server, &exact);
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(list["metadata"]["resourceVersion"], past);
    let legacy = format!("{MAPS}?resourceVersion={past}&limit=10");
    assert_eq!(names(&get(&server, &legacy).1), ["a", "b"], "a limit makes it exact");
    let paged = format!("{not_older}&resourceVersionMatch=NotOlderThan&limit=2");
    let (_, page) = get(&server, &paged);
    assert_eq!(page["metadata"]["resourceVersion"], server.resource_version());
    assert_eq!(
        (names(&page), &page["metadata"]["remainingItemCount"]),
        (vec!["a", "b"], &json!(1))
    );
    server.compact();
    assert_eq!(get(&server, &exact).0, 410);
    assert_eq!(get(&server, &paged).0, 200, "whatever is there now is not older");
}

#[test]
fn a_revision_of_the_future_is_waited_for_and_then_refused() {
    let server = server_with(&["a"]);
    let next: u64 = server.resource_version().parse::<u64>().unwrap() + 1;
    thread::scope(|scope| {
        let list = scope.spawn(|| get(&server, &format!("{MAPS}?resourceVersion={next}")));
        server.create(map("b")).unwrap();
        assert_eq!(names(&list.join().unwrap().1), ["a", "b"]);
    });
    let start = Instant::now();
    let mut http = Http::connect(&server);
    let answer = http.ask("GET", &format!("{MAPS}?resourceVersion=99999"), "", b"");
    assert!(start.elapsed() >= Duration::from_secs(3));
    assert_eq!((answer.code, answer.header("retry-after")), (504, Some("1")));
    let status = answer.json();
    assert_eq!(status["reason"], "Timeout");
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

#[test]
fn parameters_are_validated() {
    let server = server_with(&["a"]);
    for (query, expected) in [
        ("resourceVersion=x", 400),
        ("limit=x", 400),
        ("continue=x", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("sendInitialEvents=true", 422),
        ("watch=true&resourceVersionMatch=NotOlderThan", 422),
        ("watch=true&sendInitialEvents=true", 422),
    ] {
        let (code, status) = get(&server, &format!("{MAPS}?{query}"));
        assert_eq!((code, &status["kind"]), (expected, &json!("Status")), "{query}");
    }
}

#[test]
fn the_form_follows_the_accept_header() {
    let server = server_with(&["a"]);
    let metadata =
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let (_, list) = get_as(&server, MAPS, metadata);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    assert!(list["items"][0].get("data").is_none());

    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let (_, list) = get_as(&server, MAPS, table);
    assert_eq!(list["kind"], "Table");
    assert_eq!(list["rows"][0]["cells"][0], "a");
    assert_eq!(list["columnDefinitions"][0]["name"], "Name");
    assert_eq!(list["metadata"]["resourceVersion"], server.resource_version());

    let (_, one) = get_as(&server, &format!("{MAPS}/a"), table);
    assert_eq!(one["kind"], "Table");
    let unknown = "application/json;as=Poem;g=meta.k8s.io;v=v1,application/json";
    assert_eq!(get_as(&server, MAPS, unknown).1["kind"], "ConfigMapList");
    let protobuf = "application/vnd.kubernetes.protobuf";
    let (code, status) = get_as(&server, MAPS, protobuf);
    assert_eq!((code, &status["reason"]), (406, &json!("NotAcceptable")));
}

#[test]
fn yaml_is_served_to_those_who_want_it() {
    let server = server_with(&["a"]);
    let answer = Http::connect(&server).ask("GET", MAPS, "Accept: application/yaml\r\n", b"");
    assert_eq!((answer.code, answer.header("content-type")), (200, Some("application/yaml")));
    assert_eq!(names(&answer.json()), ["a"], "JSON is YAML");
}

#[test]
fn large_bodies_are_compressed_for_clients_that_ask() {
    let server = ApiServer::start().unwrap();
    server.create_sample_pods(30).unwrap();
    let plain = Http::connect(&server).ask("GET", "/api/v1/pods", "", b"");
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.body.len() > 128 * 1024);
    let mut http = Http::connect(&server);
    let gzip = http.ask("GET", "/api/v1/pods", "Accept-Encoding: gzip\r\n", b"");
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(&gzip.body[..2], [0x1f, 0x8b]);
    assert!(gzip.body.len() < plain.body.len() / 2);
    let small = http.ask("GET", "/api/v1/namespaces", "Accept-Encoding: gzip\r\n", b"");
    assert_eq!(small.header("content-encoding"), None);
}
