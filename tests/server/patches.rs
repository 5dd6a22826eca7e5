use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::client::{Http, get, patch};

const TARGET: &str = "/apis/apps/v1/namespaces/default/deployments/d";

fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    server
        .create(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "labels": {"a": "1", "b": "2"}},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "x", "image": "x:1"}, {"name": "y", "image": "y:1"}]}}}}))
        .unwrap();
    server
}

#[test]
fn a_merge_patch_merges_and_removes() {
    let server = server();
    let change = json!({"metadata": {"labels": {"a": null, "c": "3"}}, "spec": {"replicas": 2}});
    let (code, object) = patch(&server, TARGET, "merge-patch+json", &change);
    assert_eq!(code, 200);
    assert_eq!(object["metadata"]["labels"], json!({"b": "2", "c": "3"}));
    assert_eq!(object["metadata"]["generation"], 2);
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 3}});
    assert_eq!(patch(&server, TARGET, "merge-patch+json", &stale).0, 409);
}

#[test]
fn a_json_patch_goes_by_path() {
    let server = server();
    let change = json!([{"op": "replace", "path": "/spec/replicas", "value": 5},
        {"op": "remove", "path": "/metadata/labels/a"}]);
    let (code, object) = patch(&server, TARGET, "json-patch+json", &change);
    assert_eq!((code, &object["spec"]["replicas"]), (200, &json!(5)));
    let misses = json!([{"op": "test", "path": "/spec/replicas", "value": 6}]);
    assert_eq!(patch(&server, TARGET, "json-patch+json", &misses).0, 422);
    assert_eq!(patch(&server, TARGET, "json-patch+json", &json!({})).0, 400);
}

#[test]
fn a_strategic_patch_knows_the_keys_of_lists() {
    let server = server();
    let change =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "y", "image": "y:2"}]}}}});
    let (code, object) = patch(&server, TARGET, "strategic-merge-patch+json", &change);
    assert_eq!(code, 200);
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let images: Vec<&Value> = containers.iter().map(|one| &one["image"]).collect();
    assert_eq!(images.len(), 2, "{containers:?}");
    assert!(images.contains(&&json!("y:2")) && images.contains(&&json!("x:1")));
}

#[test]
fn an_apply_creates_owns_and_conflicts() {
    let server = ApiServer::start().unwrap();
    let target = "/api/v1/namespaces/default/configmaps/c";
    let config = |value: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c"}, "data": {"k": value}})
    };
    let by = |who: &str, more: &str| format!("{target}?fieldManager={who}{more}");
    let apply = "apply-patch+yaml";
    let (code, object) = patch(&server, &by("one", ""), apply, &config("1"));
    assert_eq!(code, 201, "{object}");
    assert_eq!(object["metadata"]["managedFields"][0]["operation"], "Apply");
    let revision = server.resource_version();
    assert_eq!(patch(&server, &by("one", ""), apply, &config("1")).0, 200);
    assert_eq!(server.resource_version(), revision, "the same again is no change");
    let (code, status) = patch(&server, &by("two", ""), apply, &config("2"));
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldManagerConflict");
    let (code, object) = patch(&server, &by("two", "&force=true"), apply, &config("2"));
    assert_eq!((code, &object["data"]["k"]), (200, &json!("2")));
    assert_eq!(patch(&server, target, apply, &config("3")).0, 422, "a manager is required");
    let merge = format!("{target}?force=true");
    assert_eq!(patch(&server, &merge, "merge-patch+json", &config("3")).0, 422);
}

#[test]
fn an_apply_may_come_in_yaml() {
    let server = ApiServer::start().unwrap();
    let target = "/api/v1/namespaces/default/configmaps/c?fieldManager=m";
    let body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: v\n";
    let headers = "Content-Type: application/apply-patch+yaml\r\n";
    let answer = Http::connect(&server).ask("PATCH", target, headers, body);
    assert_eq!((answer.code, &answer.json()["data"]["k"]), (201, &json!("v")));
}

#[test]
fn the_status_is_patched_on_its_own() {
    let server = server();
    let change = json!({"status": {"replicas": 4}, "spec": {"replicas": 9}});
    let (code, object) = patch(&server, &format!("{TARGET}/status"), "merge-patch+json", &change);
    assert_eq!(code, 200);
    assert_eq!(
        (&object["status"]["replicas"], &object["spec"]["replicas"]),
        (&json!(4), &json!(1))
    );
    let (_, object) =
        patch(&server, TARGET, "merge-patch+json", &json!({"status": {"replicas": 5}}));
    assert_eq!(object["status"]["replicas"], 4);
}

#[test]
fn other_kinds_of_patch_and_missing_objects_are_refused() {
    let server = server();
    let (code, status) = patch(&server, TARGET, "poem+json", &json!({}));
    assert_eq!((code, &status["reason"]), (415, &json!("UnsupportedMediaType")));
    let nobody = "/apis/apps/v1/namespaces/default/deployments/nobody";
    assert_eq!(patch(&server, nobody, "merge-patch+json", &json!({})).0, 404);
    let renamed = json!({"metadata": {"name": "e"}});
    assert_eq!(patch(&server, TARGET, "merge-patch+json", &renamed).0, 400);
    assert_eq!(get(&server, TARGET).0, 200);
}
