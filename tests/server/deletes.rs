use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::{
    client::{Watch, ask, get, names},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn delete(server: &ApiServer, target: &str) -> (u16, Value) {
    ask(server, "DELETE", target, &Value::Null)
}

fn owned_by(name: &str, owner: &Value) -> Value {
    let mut object = map(name);
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]);
    object
}

#[test]
fn a_deletion_is_answered_with_a_status_or_the_object() {
    let server = ApiServer::start().unwrap();
    let made = server.create(map("a")).unwrap();
    let (code, status) = delete(&server, &format!("{MAPS}/a"));
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    assert_eq!(status["details"]["uid"], made["metadata"]["uid"]);
    assert_eq!(delete(&server, &format!("{MAPS}/a")).0, 404);
    server.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})).unwrap();
    let (_, pod) = delete(&server, "/api/v1/namespaces/default/pods/p");
    assert_eq!(pod["kind"], "Pod");
}

#[test]
fn preconditions_hold_or_nothing_happens() {
    let server = ApiServer::start().unwrap();
    let made = server.create(map("a")).unwrap();
    let target = format!("{MAPS}/a");
    for preconditions in [json!({"uid": "x"}), json!({"resourceVersion": "1"})] {
        let (code, status) =
            ask(&server, "DELETE", &target, &json!({"preconditions": preconditions}));
        assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
        assert!(status["message"].as_str().unwrap().contains("in the precondition"));
    }
    let good = json!({"uid": made["metadata"]["uid"],
        "resourceVersion": made["metadata"]["resourceVersion"]});
    assert_eq!(ask(&server, "DELETE", &target, &json!({"preconditions": good})).0, 200);
}

#[test]
fn finalizers_keep_an_object_until_they_are_gone() {
    let server = ApiServer::start().unwrap();
    let mut object = map("a");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.create(object).unwrap();
    let target = format!("{MAPS}/a");
    let mut watch = Watch::start(
        &server,
        &format!("{MAPS}?watch=1&resourceVersion={}", server.resource_version()),
    );
    let (code, mut object) = delete(&server, &target);
    assert_eq!(code, 200);
    assert!(object["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(watch.brief(), "MODIFIED a");
    let revision = server.resource_version();
    assert_eq!(delete(&server, &target).0, 200, "again, to no effect");
    assert_eq!(server.resource_version(), revision);
    let mut more = object.clone();
    more["metadata"]["finalizers"] = json!(["example.com/hold", "example.com/more"]);
    assert_eq!(ask(&server, "PUT", &target, &more).0, 422, "no new finalizers by now");
    object["metadata"]["finalizers"] = json!([]);
    assert_eq!(ask(&server, "PUT", &target, &object).0, 200);
    assert_eq!(get(&server, &target).0, 404);
    let last = watch.next().unwrap();
    assert_eq!(
        (&last["type"], &last["object"]["metadata"]["name"]),
        (&json!("DELETED"), &json!("a"))
    );
    assert_eq!(last["object"]["metadata"]["resourceVersion"], server.resource_version());
}

#[test]
fn dependents_go_with_their_last_owner() {
    let server = ApiServer::start().unwrap();
    let (a, b) = (server.create(map("a")).unwrap(), server.create(map("b")).unwrap());
    let child = server.create(owned_by("child", &a)).unwrap();
    server.create(owned_by("grandchild", &child)).unwrap();
    let mut shared = owned_by("shared", &a);
    let other = owned_by("x", &b)["metadata"]["ownerReferences"][0].clone();
    shared["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
    server.create(shared).unwrap();
    delete(&server, &format!("{MAPS}/a"));
    assert_eq!(names(&get(&server, MAPS).1), ["b", "shared"]);
    let left = server.object("v1", "ConfigMap", "default/shared").unwrap();
    assert_eq!(left["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    delete(&server, &format!("{MAPS}/b"));
    assert_eq!(names(&get(&server, MAPS).1), Vec::<&str>::new());
}

#[test]
fn orphans_stay_and_lose_their_owner() {
    let server = ApiServer::start().unwrap();
    let owner = server.create(map("a")).unwrap();
    server.create(owned_by("child", &owner)).unwrap();
    let (_, answer) = delete(&server, &format!("{MAPS}/a?propagationPolicy=Orphan"));
    assert_eq!(answer["metadata"]["finalizers"], json!(["orphan"]), "as it was for a moment");
    assert_eq!(get(&server, &format!("{MAPS}/a")).0, 404);
    let child = server.object("v1", "ConfigMap", "default/child").unwrap();
    assert!(child["metadata"].get("ownerReferences").is_none());
    let (code, _) = delete(&server, &format!("{MAPS}/child?propagationPolicy=Sideways"));
    assert_eq!(code, 422);
}

#[test]
fn in_the_foreground_an_owner_waits_for_its_dependents() {
    let server = ApiServer::start().unwrap();
    let owner = server.create(map("a")).unwrap();
    let mut child = owned_by("child", &owner);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.create(child).unwrap();
    let options = json!({"propagationPolicy": "Foreground"});
    let (_, pending) = ask(&server, "DELETE", &format!("{MAPS}/a"), &options);
    assert_eq!(pending["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(names(&get(&server, MAPS).1), ["a", "child"]);
    let mut child = server.object("v1", "ConfigMap", "default/child").unwrap();
    assert!(child["metadata"]["deletionTimestamp"].is_string());
    child["metadata"]["finalizers"] = json!([]);
    server.update(child).unwrap();
    assert_eq!(names(&get(&server, MAPS).1), Vec::<&str>::new());
}

#[test]
fn a_namespace_takes_its_content_along() {
    let server = ApiServer::start().unwrap();
    server
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}))
        .unwrap();
    let (_, namespace) = get(&server, "/api/v1/namespaces/n");
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
    let mut held = map("held");
    held["metadata"]["namespace"] = "n".into();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.create(held).unwrap();
    let mut free = map("free");
    free["metadata"]["namespace"] = "n".into();
    server.create(free).unwrap();

    let (_, namespace) = delete(&server, "/api/v1/namespaces/n");
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let maps = "/api/v1/namespaces/n/configmaps";
    assert_eq!(names(&get(&server, maps).1), ["held"]);
    let (code, status) = ask(&server, "POST", maps, &map("late"));
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");

    let mut held = server.object("v1", "ConfigMap", "n/held").unwrap();
    held["metadata"]["finalizers"] = json!([]);
    server.update(held).unwrap();
    assert_eq!(get(&server, "/api/v1/namespaces/n").0, 404);
}

#[test]
fn a_collection_is_deleted_by_selector() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c"] {
        server.create(map(name)).unwrap();
    }
    let (code, list) = delete(&server, &format!("{MAPS}?labelSelector=n+in+(a,b)"));
    assert_eq!((code, &list["kind"]), (200, &json!("ConfigMapList")));
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(names(&get(&server, MAPS).1), ["c"]);
}

#[test]
fn a_pod_on_a_node_is_shown_terminating_before_it_goes() {
    let server = ApiServer::start().unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "n"}});
    server.create(pod).unwrap();
    let revision = server.resource_version();
    delete(&server, "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=5");
    let mut watch =
        Watch::start(&server, &format!("/api/v1/pods?watch=1&resourceVersion={revision}"));
    let shown = watch.next().unwrap();
    assert_eq!(shown["type"], "MODIFIED");
    assert_eq!(shown["object"]["metadata"]["deletionGracePeriodSeconds"], 5);
    assert_eq!(watch.brief(), "DELETED p");
}
