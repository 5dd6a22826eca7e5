use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::client::{Http, Watch, ask, eventually, get, patch};

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "i"}]}})
}

const PODS: &str = "/api/v1/namespaces/default/pods";

#[test]
fn replicas_are_read_and_set_through_the_scale() {
    let server = ApiServer::start().unwrap();
    server
        .create(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}},
                "status": {"replicas": 1}}))
        .unwrap();
    let target = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    let (code, mut scale) = get(&server, target);
    assert_eq!((code, &scale["kind"]), (200, &json!("Scale")));
    assert_eq!(scale["apiVersion"], "autoscaling/v1");
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "a=b"}));
    scale["spec"]["replicas"] = 5.into();
    let (code, scaled) = ask(&server, "PUT", target, &scale);
    assert_eq!((code, &scaled["spec"]["replicas"]), (200, &json!(5)));
    assert_eq!(ask(&server, "PUT", target, &scale).0, 409, "the old resource version");
    let change = json!({"spec": {"replicas": 6}});
    assert_eq!(patch(&server, target, "merge-patch+json", &change).0, 200);
    let object = server.object("apps/v1", "Deployment", "default/d").unwrap();
    assert_eq!(
        (&object["spec"]["replicas"], &object["metadata"]["generation"]),
        (&json!(6), &json!(3))
    );
    let negative = json!({"spec": {"replicas": -1}});
    assert_eq!(patch(&server, target, "merge-patch+json", &negative).0, 422);
}

#[test]
fn a_binding_gives_a_pod_its_node_once() {
    let server = ApiServer::start().unwrap();
    server.create(pod("p")).unwrap();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"}});
    assert_eq!(ask(&server, "POST", &format!("{PODS}/p/binding"), &binding).0, 201);
    assert_eq!(server.object("v1", "Pod", "default/p").unwrap()["spec"]["nodeName"], "n");
    assert_eq!(ask(&server, "POST", &format!("{PODS}/p/binding"), &binding).0, 409);
    server.create(pod("q")).unwrap();
    let mut binding = binding;
    binding["metadata"]["name"] = "q".into();
    assert_eq!(ask(&server, "POST", "/api/v1/namespaces/default/bindings", &binding).0, 201);
    assert_eq!(server.object("v1", "Pod", "default/q").unwrap()["spec"]["nodeName"], "n");
}

#[test]
fn an_eviction_deletes() {
    let server = ApiServer::start().unwrap();
    server.create(pod("p")).unwrap();
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    assert_eq!(ask(&server, "POST", &format!("{PODS}/p/eviction"), &eviction).0, 201);
    assert_eq!(get(&server, &format!("{PODS}/p")).0, 404);
    assert_eq!(ask(&server, "POST", &format!("{PODS}/p/eviction"), &eviction).0, 404);
}

#[test]
fn a_log_has_lines_and_can_be_followed() {
    let server = ApiServer::start().unwrap();
    let mut with_log = pod("p");
    with_log["metadata"]["annotations"] = json!({"testing.kinformer/log": "one\ntwo\nthree\n"});
    server.create(with_log).unwrap();
    let log = |query: &str| {
        let answer = Http::connect(&server).ask("GET", &format!("{PODS}/p/log{query}"), "", b"");
        assert_eq!(answer.header("content-type"), Some("text/plain"));
        String::from_utf8(answer.body).unwrap()
    };
    assert_eq!(log(""), "one\ntwo\nthree\n");
    assert_eq!(log("?tailLines=1&container=main"), "three\n");
    assert_eq!(log("?limitBytes=5"), "one\nt");
    assert_eq!(get(&server, &format!("{PODS}/p/log?container=x")).0, 400);

    let mut follow = Watch::start(&server, &format!("{PODS}/p/log?follow=true"));
    let mut seen = String::new();
    while !seen.contains("line 5") {
        seen.push_str(std::str::from_utf8(&follow.http.chunk().unwrap()).unwrap());
    }
    assert!(seen.starts_with("one\ntwo\nthree\np main line 4\n"), "{seen}");
    server.delete("v1", "Pod", "default/p").unwrap();
    while !follow.http.chunk().unwrap().is_empty() {}
}

#[test]
fn a_follower_that_leaves_is_noticed() {
    let server = ApiServer::start().unwrap();
    server.create(pod("p")).unwrap();
    let follow = Watch::start(&server, &format!("{PODS}/p/log?follow=true"));
    drop(follow);
    eventually("the connection is gone", || server.connections() == 0);
}

#[test]
fn reviews_allow_everything() {
    let server = ApiServer::start().unwrap();
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}});
    let target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, answer) = ask(&server, "POST", target, &review);
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(true)));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": "t"}});
    let target = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (code, answer) = ask(&server, "POST", target, &review);
    assert_eq!((code, &answer["status"]["authenticated"]), (201, &json!(true)));
    assert_eq!(get(&server, target).0, 405, "there is nothing to list");
}

#[test]
fn what_nothing_runs_behind_is_a_status() {
    let server = ApiServer::start().unwrap();
    server.create(pod("p")).unwrap();
    let (code, status) = get(&server, &format!("{PODS}/p/exec?command=ls"));
    assert_eq!((code, &status["kind"]), (501, &json!("Status")));
    assert_eq!(get(&server, &format!("{PODS}/p/poetry")).0, 404);
    assert_eq!(ask(&server, "DELETE", &format!("{PODS}/p/status"), &Value::Null).0, 405);
}
