//! Parts of objects that are read and written on their own.

use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kinformer::{ApiResource, DeleteOptions, Deletion, DynamicObject, Object, Patch};
use serde_json::{Value, json};

use crate::server::{Scope, pod_spec};

#[test]
fn a_binding_puts_a_pod_on_a_node_and_then_it_goes_gracefully() {
    let scope = Scope::new();
    let pods = scope.api::<Pod>();
    pods.create(&json!({"metadata": {"name": "p"}, "spec": pod_spec()})).unwrap();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}});
    pods.subresource("binding").create(&binding).unwrap();
    let bound = pods.get("p").unwrap().get().unwrap();
    assert_eq!(bound.spec.as_ref().unwrap().node_name.as_deref(), Some("n1"));
    let error = pods.subresource("binding").create(&binding).unwrap_err();
    assert!(error.is_conflict(), "{error}");

    // The answer is that it is going: a kubelet has to end it first. The embedded server has one.
    let Deletion::Pending(pending) = pods.delete("p").unwrap() else { panic!("it has a grace") };
    assert!(pending.deletion_timestamp().is_some());
    let body: Value = serde_json::from_str(&pending.json()).unwrap();
    assert_eq!(body["metadata"]["deletionGracePeriodSeconds"], 30);
    match pods.delete_with("p", &DeleteOptions::new().grace_period_seconds(0)) {
        Err(error) => assert!(error.is_not_found(), "{error}"),
        Ok(Deletion::Done(_) | Deletion::Pending(_)) => {}
        Ok(other) => panic!("{other:?}"),
    }
    assert!(pods.find("p").unwrap().is_none());
}

#[test]
fn a_token_is_asked_for_as_a_subresource() {
    let scope = Scope::new();
    let accounts = scope.api::<ServiceAccount>();
    accounts.create(&json!({"metadata": {"name": "robot"}})).unwrap();
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "metadata": {"name": "robot"}, "spec": {"audiences": [], "expirationSeconds": 3600}});
    let made = accounts.subresource("token").create(&request).unwrap();
    let body: Value = serde_json::from_str(&made.json()).unwrap();
    let token = body["status"]["token"].as_str().unwrap();
    assert!(!token.is_empty());
}

#[test]
fn a_review_is_answered_and_kept_nowhere() {
    let scope = Scope::new();
    let resource = ApiResource::cluster(
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
    );
    let review = json!({"spec": {"resourceAttributes":
        {"verb": "list", "resource": "pods", "namespace": scope.name}}});
    let answer = scope.client.dynamic(&resource).create(&review).unwrap();
    let body: Value = serde_json::from_str(&answer.json()).unwrap();
    assert_eq!(body["status"]["allowed"], true, "{body}");
    assert_eq!(answer.name(), "", "it is kept nowhere");
}

#[test]
fn a_status_is_replaced_and_applied_on_its_own() {
    let scope = Scope::new();
    let nodes = scope.client.api::<Node>();
    let name = &scope.name;
    nodes.create(&json!({"metadata": {"name": name}})).unwrap();
    let phase = |object: &Object<Node>| -> Value {
        let body: Value = serde_json::from_str(&object.json()).unwrap();
        body["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].clone()
    };
    let status = |port: u16| json!({"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}});
    let mut body: Value = serde_json::from_str(&nodes.get(name).unwrap().json()).unwrap();
    body["status"] = status(1);
    body["metadata"]["labels"] = json!({"by": "status"});
    let replaced = nodes.status().replace(name, &body).unwrap();
    assert_eq!(phase(&replaced), 1);
    let applied = json!({"metadata": {"name": name}, "status": status(2)});
    let mine = nodes.status().field_manager("kubelet").force();
    assert_eq!(phase(&mine.apply(name, &applied).unwrap()), 2);
    assert_eq!(phase(&nodes.status().get(name).unwrap()), 2);
    nodes.delete(name).unwrap();
}

#[test]
fn a_subresource_that_there_is_not_is_not_found() {
    let scope = Scope::new();
    let pods = scope.client.dynamic(&ApiResource::of::<Pod>()).namespace(&scope.name);
    pods.create(&json!({"metadata": {"name": "p"}, "spec": pod_spec()})).unwrap();
    let nonsense = pods.subresource("nonsense");
    let error = nonsense.get("p").unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let error: kinformer::Error =
        nonsense.patch("p", &patch).map(|_: Object<DynamicObject>| ()).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
