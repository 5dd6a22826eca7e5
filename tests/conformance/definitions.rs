//! Custom resources: defined, used, and gone again under a running informer.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kinformer::{ApiResource, Client, DynamicObject, ListWatch, SharedInformer};
use serde_json::json;

use crate::server::{LIMIT, Scope, wait_until};

#[test]
fn an_informer_survives_the_end_of_its_kind_and_its_return() {
    let scope = Scope::new();
    let group = format!("{}.example.com", scope.name);
    let resource = ApiResource::namespaced(&format!("{group}/v1"), "Gizmo", "gizmos");
    define(&scope.client, &group);
    let gizmos = scope.client.dynamic(&resource).namespace(&scope.name);
    let object = json!({"metadata": {"name": "a"}, "spec": {"size": 1}});
    // A definition is established before it is served everywhere.
    wait_until("the kind is served", || gizmos.create(&object).is_ok());
    let source =
        ListWatch::<DynamicObject>::of_resource(&scope.client, &resource, Some(&scope.name));
    let informer = SharedInformer::builder(source).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(informer.store().len(), 1);
    assert_eq!(informer.store().list()[0].kind(), "Gizmo");

    let definitions = scope.client.api::<CustomResourceDefinition>();
    let name = format!("gizmos.{group}");
    definitions.delete(&name).unwrap();
    wait_until("the definition is gone", || definitions.find(&name).unwrap().is_none());
    wait_until("its objects are gone from the cache", || informer.store().is_empty());

    define(&scope.client, &group);
    wait_until("the kind is served again", || gizmos.create(&object).is_ok());
    wait_until("the informer is back", || informer.store().len() == 1);
}

fn define(client: &Client, group: &str) {
    let schema = json!({"openAPIV3Schema": {"type": "object",
        "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "metadata": {"name": format!("gizmos.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    client.api::<CustomResourceDefinition>().create(&definition).unwrap();
}
