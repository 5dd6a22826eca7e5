use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use crate::{
    client::{Http, ask, get, patch},
    lists::map,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}},
        "status": {"replicas": 7}})
}

#[test]
fn creation_fills_in_what_is_the_servers_to_say() {
    let server = ApiServer::start().unwrap();
    let mut sent = deployment();
    sent["metadata"]["uid"] = "mine".into();
    sent["metadata"]["creationTimestamp"] = Value::Null;
    sent["metadata"]["generation"] = 7.into();
    let (code, made) = ask(&server, "POST", &format!("{DEPLOYMENTS}?fieldManager=me"), &sent);
    assert_eq!(code, 201);
    let metadata = &made["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(metadata["creationTimestamp"].as_str().unwrap().len(), 20);
    assert_eq!(metadata["resourceVersion"], server.resource_version());
    assert_eq!(metadata["managedFields"][0]["manager"], "me");
    assert_eq!(made["status"], json!({}), "the status is not the creator's to set");
    assert_eq!(get(&server, &format!("{DEPLOYMENTS}/d")).1, made);
}

#[test]
fn what_cannot_be_created_is_refused_in_the_usual_words() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let with = |field: &str, value: &str| {
        let mut object = map("b");
        object["metadata"][field] = value.into();
        object
    };
    let mut unnamed = map("b");
    unnamed["metadata"].as_object_mut().unwrap().remove("name");
    let mut other = map("b");
    other["kind"] = "Secret".into();
    let mut group = map("b");
    group["apiVersion"] = "apps/v1".into();
    for (target, object, code, reason, message) in [
        (MAPS, map("a"), 409, "AlreadyExists", "configmaps \"a\" already exists"),
        (MAPS, with("name", "B_B"), 422, "Invalid", "ConfigMap \"B_B\" is invalid: metadata.name"),
        (MAPS, unnamed, 422, "Invalid", "name or generateName is required"),
        (MAPS, with("namespace", "x"), 400, "BadRequest", "does not match the namespace"),
        (MAPS, other, 400, "BadRequest", "cannot be handled as a ConfigMap"),
        (
            MAPS,
            group,
            400,
            "BadRequest",
            "no kind \"ConfigMap\" is registered for version \"apps/v1\"",
        ),
        (MAPS, with("resourceVersion", "5"), 500, "", "resourceVersion should not be set"),
        (MAPS, json!({"metadata": {"name": true}}), 400, "BadRequest", "metadata.name"),
        (MAPS, json!([]), 400, "BadRequest", "not a JSON object"),
        (
            "/api/v1/namespaces/nowhere/configmaps",
            map("b"),
            404,
            "NotFound",
            "namespaces \"nowhere\" not found",
        ),
        ("/api/v1/namespaces/default/nothings", map("b"), 404, "NotFound", "could not find"),
        ("/api/v1/configmaps", map("b"), 405, "MethodNotAllowed", "does not allow"),
    ] {
        let (found, status) = ask(&server, "POST", target, &object);
        assert_eq!(found, code, "{status}");
        assert_eq!(status["reason"].as_str().unwrap_or_default(), reason, "{status}");
        assert!(status["message"].as_str().unwrap().contains(message), "{status}");
        assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Failure")));
    }
}

#[test]
fn a_name_is_made_from_its_prefix() {
    let server = ApiServer::start().unwrap();
    let object = json!({"metadata": {"generateName": "x-"}});
    let name = |_| {
        let (code, made) = ask(&server, "POST", MAPS, &object);
        assert_eq!((code, &made["metadata"]["generateName"]), (201, &json!("x-")));
        made["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let names: Vec<String> = (0..2).map(name).collect();
    assert!(names.iter().all(|name| name.starts_with("x-") && name.len() == 7));
    assert_ne!(names[0], names[1]);
}

#[test]
fn an_update_needs_the_current_resource_version_if_it_has_one() {
    let server = ApiServer::start().unwrap();
    let first = server.create(map("a")).unwrap();
    let target = format!("{MAPS}/a");
    let mut object = first.clone();
    object["data"]["k"] = "1".into();
    let (code, second) = ask(&server, "PUT", &target, &object);
    assert_eq!(code, 200);
    assert_ne!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    object["data"]["k"] = "2".into();
    let (code, status) = ask(&server, "PUT", &target, &object);
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    assert_eq!(ask(&server, "PUT", &target, &object).0, 200, "without one it overwrites");
    object["metadata"]["uid"] = "other".into();
    assert_eq!(ask(&server, "PUT", &target, &object).0, 409, "another UID is another object");
    object["metadata"]["name"] = "b".into();
    assert_eq!(ask(&server, "PUT", &target, &object).0, 400, "another name than the path's");
    assert_eq!(ask(&server, "PUT", &format!("{MAPS}/b"), &object).0, 404);
}

#[test]
fn an_update_that_changes_nothing_is_no_change() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let before = server.resource_version();
    let (_, object) = get(&server, &format!("{MAPS}/a"));
    let (code, same) = ask(&server, "PUT", &format!("{MAPS}/a?fieldManager=testing"), &object);
    assert_eq!((code, same), (200, object));
    assert_eq!(server.resource_version(), before);
}

#[test]
fn only_a_change_of_the_specification_is_a_new_generation() {
    let server = ApiServer::start().unwrap();
    let target = format!("{DEPLOYMENTS}/d");
    let (_, mut object) = ask(&server, "POST", DEPLOYMENTS, &deployment());
    object["metadata"]["labels"] = json!({"x": "y"});
    object["status"] = json!({"replicas": 9});
    let (_, mut object) = ask(&server, "PUT", &target, &object);
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(object["status"], json!({}), "the status has its own path");
    object["spec"]["replicas"] = 3.into();
    let (_, mut object) = ask(&server, "PUT", &target, &object);
    assert_eq!(object["metadata"]["generation"], 2);

    object["status"] = json!({"replicas": 3});
    object["spec"]["replicas"] = 4.into();
    let (code, object) = ask(&server, "PUT", &format!("{target}/status"), &object);
    assert_eq!(code, 200);
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(object["status"]["replicas"], 3);
    assert_eq!(object["spec"]["replicas"], 3, "a status update leaves the rest alone");
    assert_eq!(get(&server, &format!("{target}/status")).1, object);
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let server = ApiServer::start().unwrap();
    server.create(map("a")).unwrap();
    let before = server.resource_version();
    let mut object = map("a");
    object["data"]["k"] = "new".into();
    assert_eq!(ask(&server, "POST", &format!("{MAPS}?dryRun=All"), &map("b")).0, 201);
    let (code, changed) = ask(&server, "PUT", &format!("{MAPS}/a?dryRun=All"), &object);
    assert_eq!((code, &changed["data"]["k"]), (200, &json!("new")));
    assert_eq!(ask(&server, "DELETE", &format!("{MAPS}/a?dryRun=All"), &Value::Null).0, 200);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]});
    assert_eq!(ask(&server, "DELETE", &format!("{MAPS}/a"), &options).0, 200);
    assert_eq!(server.resource_version(), before);
    assert_eq!(ask(&server, "POST", &format!("{MAPS}?dryRun=Some"), &map("b")).0, 422);
}

#[test]
fn custom_resources_exist_as_long_as_their_definition() {
    let server = ApiServer::start().unwrap();
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(get(&server, widgets).0, 404);
    let (code, made) = ask(&server, "POST", crds, &crd);
    assert_eq!(code, 201, "{made}");
    let (_, made) = get(&server, &format!("{crds}/widgets.example.com"));
    let conditions = made["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True"));
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"size": 1}, "status": {"no": "no"}});
    let (code, made) = ask(&server, "POST", widgets, &widget);
    assert_eq!((code, &made["metadata"]["generation"]), (201, &json!(1)), "{made}");
    assert!(made.get("status").is_none());
    let (_, list) = get(&server, widgets);
    assert_eq!(list["kind"], "WidgetList");
    assert_eq!(list["items"][0]["kind"], "Widget", "custom resources have their kind in lists");
    let mut unversioned = made;
    unversioned["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    assert_eq!(ask(&server, "PUT", &format!("{widgets}/w"), &unversioned).0, 422);
    let (code, _) = ask(&server, "DELETE", &format!("{crds}/widgets.example.com"), &Value::Null);
    assert_eq!(code, 200);
    assert_eq!(get(&server, widgets).0, 404);
}

#[test]
fn custom_resources_are_held_to_their_schema() {
    let server = ApiServer::start().unwrap();
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer"}, "color": {"type": "string",
                            "default": "red"}}}}}}}]}});
    server.create(crd).unwrap();
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = |name: &str, spec: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name}, "spec": spec})
    };
    let object = widget("a", json!({"size": 1, "nope": 2})).to_string();
    let mut http = Http::connect(&server);
    let answer = http.ask("POST", widgets, "", object.as_bytes());
    assert_eq!(answer.code, 201);
    assert_eq!(answer.header("warning"), Some("299 - \"unknown field \\\"spec.nope\\\"\""));
    assert_eq!(answer.json()["spec"], json!({"size": 1, "color": "red"}));
    let strict = format!("{widgets}?fieldValidation=Strict");
    let (code, status) = ask(&server, "POST", &strict, &widget("b", json!({"nope": 2})));
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
    let (code, status) = ask(&server, "POST", widgets, &widget("b", json!({"size": "big"})));
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    assert_eq!(status["details"]["causes"][0]["field"], "spec.size");
}

#[test]
fn built_in_kinds_have_the_members_they_have() {
    let server = ApiServer::start().unwrap();
    let mut odd = map("a");
    odd["nope"] = 1.into();
    let answer = Http::connect(&server).ask("POST", MAPS, "", odd.to_string().as_bytes());
    assert_eq!(answer.code, 201);
    assert_eq!(answer.header("warning"), Some("299 - \"unknown field \\\"nope\\\"\""));
    assert!(answer.json().get("nope").is_none());
    odd["metadata"]["name"] = "b".into();
    let (code, status) = ask(&server, "POST", &format!("{MAPS}?fieldValidation=Strict"), &odd);
    assert_eq!(code, 400);
    assert!(status["message"].as_str().unwrap().contains("unknown field \"nope\""), "{status}");
    let mut wrong = deployment();
    wrong["spec"]["replicas"] = "two".into();
    let (code, status) = ask(&server, "POST", DEPLOYMENTS, &wrong);
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")));
}

#[test]
fn what_is_deprecated_is_answered_with_a_warning() {
    let server = ApiServer::start().unwrap();
    let answer = Http::connect(&server).ask("GET", "/api/v1/endpoints", "", b"");
    assert!(answer.header("warning").unwrap().starts_with("299 - \"v1 Endpoints is deprecated"));
}

#[test]
fn an_object_is_read_in_the_words_of_each_version() {
    let server = ApiServer::start().unwrap();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p"}, "message": "hello"});
    server.create(event).unwrap();
    let (_, list) = get(&server, "/apis/events.k8s.io/v1/namespaces/default/events");
    assert_eq!(list["kind"], "EventList");
    assert_eq!(list["items"][0]["note"], "hello");
    assert_eq!(list["items"][0]["regarding"]["name"], "p");
    let (_, event) = get(&server, "/api/v1/namespaces/default/events/e");
    assert_eq!(event["message"], "hello");
}

#[test]
fn protobuf_bodies_are_refused_with_a_status() {
    let server = ApiServer::start().unwrap();
    let headers = "Content-Type: application/vnd.kubernetes.protobuf\r\n";
    let answer = Http::connect(&server).ask("POST", MAPS, headers, b"k8s\0");
    assert_eq!((answer.code, &answer.json()["reason"]), (415, &json!("UnsupportedMediaType")));
}

#[test]
fn yaml_bodies_are_read() {
    let server = ApiServer::start().unwrap();
    let headers = "Content-Type: application/yaml\r\n";
    let body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: v\n";
    let answer = Http::connect(&server).ask("POST", MAPS, headers, body);
    assert_eq!((answer.code, &answer.json()["data"]["k"]), (201, &json!("v")));
}

fn deep_pod(levels: usize) -> Value {
    let deep = (0..levels).fold(json!({}), |inside, _| json!({ "a": inside }));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "deep"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "x": deep}})
}

#[test]
fn what_is_stored_can_be_read_again_however_deep_it_is() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const POD: &str = "/api/v1/namespaces/default/pods/deep";
    let server = ApiServer::start().unwrap();
    for levels in [98, 121, 123] {
        let (code, status) = ask(&server, "POST", PODS, &deep_pod(levels));
        assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{levels}");
        assert!(status["message"].as_str().unwrap().contains("100 levels"), "{status}");
    }
    let (code, stored) = ask(&server, "POST", PODS, &deep_pod(97));
    assert_eq!(code, 201);
    assert_eq!(ask(&server, "PUT", POD, &stored).0, 200, "with its managers, which are deeper");
    assert_eq!(ask(&server, "PUT", POD, &deep_pod(98)).0, 422);
    let further = json!({"spec": deep_pod(98)["spec"]});
    assert_eq!(patch(&server, POD, "merge-patch+json", &further).0, 422);
    assert_eq!(patch(&server, POD, "strategic-merge-patch+json", &further).0, 422);
    let applied = format!("{POD}?fieldManager=m&force=true");
    assert_eq!(patch(&server, &applied, "apply-patch+yaml", &deep_pod(98)).0, 422);
    let copy = json!([{"op": "copy", "from": "/spec/x", "path": "/spec/x/a"}]);
    assert_eq!(patch(&server, POD, "json-patch+json", &copy).0, 422);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(patch(&server, POD, "merge-patch+json", &label).0, 200);
    assert_eq!(get(&server, POD).1["spec"]["x"], deep_pod(97)["spec"]["x"]);
    assert_eq!(ask(&server, "DELETE", POD, &Value::Null).1["metadata"]["name"], "deep");
}

#[test]
fn an_object_does_not_grow_beyond_what_a_request_may_bring() {
    let server = ApiServer::start().unwrap();
    server.create(map("m")).unwrap();
    let target = format!("{MAPS}/m");
    let grow = |key: &str| json!({"data": {key: "x".repeat(2_000_000)}});
    assert_eq!(patch(&server, &target, "merge-patch+json", &grow("a")).0, 200);
    let (code, status) = patch(&server, &target, "merge-patch+json", &grow("b"));
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")));
    let copies: Vec<Value> = (0..2)
        .map(|n| json!({"op": "copy", "from": "/data/a", "path": format!("/data/c{n}")}))
        .collect();
    let (code, status) = patch(&server, &target, "json-patch+json", &json!(copies));
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")));
    assert!(get(&server, &target).1["data"].get("c0").is_none(), "all or nothing");
}

#[test]
fn objects_are_reached_without_http_too() {
    let server = ApiServer::start().unwrap();
    let made = server.create(deployment()).unwrap();
    assert_eq!(made["status"]["replicas"], 7, "a fixture keeps its status");
    assert_eq!(server.list("apps/v1", "Deployment"), std::slice::from_ref(&made));
    assert_eq!(server.object("apps/v1", "Deployment", "default/d"), Some(made.clone()));
    assert!(server.create(deployment()).unwrap_err().is_already_exists());
    let mut changed = made;
    changed["status"]["replicas"] = 8.into();
    server.update(changed.clone()).unwrap();
    assert!(server.update(changed).unwrap_err().is_conflict());
    server.delete("apps/v1", "Deployment", "default/d").unwrap();
    assert!(server.delete("apps/v1", "Deployment", "default/d").unwrap_err().is_not_found());
    assert!(server.create(json!({"apiVersion": "x/v1", "kind": "Y"})).unwrap_err().is_not_found());
}
