//! Custom resources: defined, used, and gone again under a running informer.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kinformer::{
    ApiResource, Client, DynamicObject, Event, GroupVersionResource, ListWatch, Object, Patch,
    SharedInformer, SharedInformerFactory,
};
use serde_json::{Value, json};

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

#[test]
fn a_dynamic_factory_follows_a_definition_as_it_changes() {
    let scope = Scope::new();
    let group = format!("{}.example.com", scope.name);
    define(&scope.client, &group);
    let gizmos = |version: &str| {
        let resource = ApiResource::namespaced(&format!("{group}/{version}"), "Gizmo", "gizmos");
        scope.client.dynamic(&resource).namespace(&scope.name)
    };
    let object = |name: &str| json!({"metadata": {"name": name}, "spec": {"size": 1}});
    wait_until("the kind is served", || gizmos("v1").create(&object("a")).is_ok());
    let factory = SharedInformerFactory::builder(scope.client.clone()).dynamic();
    let place = |version: &str| GroupVersionResource::new(&group, version, "gizmos");
    let first = factory.for_resource(&place("v1")).unwrap();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert_eq!(first.store().len(), 1);
    assert!(factory.for_resource(&place("v2")).is_err(), "there is no v2");

    // A second version, which becomes the one that is stored.
    change(&scope.client, &group, &json!([version("v1", true, false), version("v2", true, true)]));
    wait_until("the second version is served", || gizmos("v2").create(&object("b")).is_ok());
    let second = factory.for_resource(&place("v2")).unwrap();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    wait_until("both have both", || first.store().len() == 2 && second.store().len() == 2);
    for (informer, version) in [(&first, "v1"), (&second, "v2")] {
        for object in informer.store().list() {
            assert_eq!(object.api_version(), format!("{group}/{version}"));
        }
    }

    // The first version is not served any more: what was known of it stays, and the status says why.
    change(&scope.client, &group, &json!([version("v1", false, false), version("v2", true, true)]));
    wait_until("the status says that it is not there", || {
        first.status().last_error.is_some_and(|error| error.contains("find"))
    });
    assert_eq!(first.store().len(), 2);
    wait_until("the other goes on", || gizmos("v2").create(&object("c")).is_ok());
    wait_until("and is told", || second.store().len() == 3);
    assert!(second.status().last_error.is_none());
    factory.shutdown().unwrap();
}

#[test]
fn everything_follows_definitions_that_come_and_go() {
    let scope = Scope::new();
    let group = format!("{}.example.com", scope.name);
    let factory = SharedInformerFactory::new(scope.client.clone());
    let (send, events) = crossbeam_channel::unbounded();
    let ours = group.clone();
    let all = factory
        .everything()
        .look_every(Duration::from_secs(5))
        .filter(move |found| {
            let group = found.resource.group();
            group == ours || group == "apiextensions.k8s.io"
        })
        .watch(send)
        .unwrap();
    let place = GroupVersionResource::new(&group, "v1", "gizmos");
    assert!(!all.resources().contains(&place));
    define(&scope.client, &group);
    wait_until("the new kind is watched", || all.resources().contains(&place));
    let resource = ApiResource::namespaced(&format!("{group}/v1"), "Gizmo", "gizmos");
    let gizmos = scope.client.dynamic(&resource).namespace(&scope.name);
    let object = json!({"metadata": {"name": "a"}, "spec": {"size": 1}});
    wait_until("the kind is served", || gizmos.create(&object).is_ok());
    let told = |wanted: fn(&Event) -> bool| {
        let mut events = std::iter::repeat_with(|| events.recv_timeout(LIMIT).unwrap());
        let is_ours = |event: &Event| event.key().to_string() == format!("{}/a", scope.name);
        assert!(events.any(|event| is_ours(&event) && wanted(&event)));
    };
    told(|event| matches!(event, Event::Added { .. }));
    gizmos.patch("a", &Patch::Merge(json!({"spec": {"size": 2}}))).unwrap();
    told(|event| matches!(event, Event::Updated { .. }));
    let definitions = scope.client.api::<CustomResourceDefinition>();
    definitions.delete(&format!("gizmos.{group}")).unwrap();
    told(|event| matches!(event, Event::Deleted(_)));
    wait_until("the kind is not watched any more", || !all.resources().contains(&place));
    drop(all);
    factory.shutdown().unwrap();
}

#[test]
fn custom_resources_have_the_subresources_of_their_definition() {
    let scope = Scope::new();
    let group = format!("{}.example.com", scope.name);
    let mut one = version("v1", true, true);
    one["subresources"] = json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas"}});
    let definition = definition(&group, &json!([one]));
    scope.client.api::<CustomResourceDefinition>().create(&definition).unwrap();
    let resource = ApiResource::namespaced(&format!("{group}/v1"), "Gizmo", "gizmos");
    let gizmos = scope.client.dynamic(&resource).namespace(&scope.name);
    let object =
        json!({"metadata": {"name": "a"}, "spec": {"replicas": 2}, "status": {"replicas": 9}});
    wait_until("the kind is served", || gizmos.create(&object).is_ok());
    let body =
        |object: &Object<DynamicObject>| -> Value { serde_json::from_str(&object.json()).unwrap() };
    assert_eq!(body(&gizmos.get("a").unwrap())["status"], Value::Null, "status is dropped");
    let both = json!({"spec": {"replicas": 7}, "status": {"replicas": 1}});
    let patched = gizmos.status().patch("a", &Patch::Merge(both)).unwrap();
    assert_eq!(body(&patched)["spec"]["replicas"], 2);
    assert_eq!(body(&patched)["status"]["replicas"], 1);
    let scale = gizmos.scale().get("a").unwrap().decode().unwrap();
    assert_eq!((scale.spec.replicas, scale.status.replicas), (2, 1));
    gizmos.scale().patch("a", &Patch::Merge(json!({"spec": {"replicas": 3}}))).unwrap();
    assert_eq!(body(&gizmos.get("a").unwrap())["spec"]["replicas"], 3);
    let strategic = Patch::Strategic(json!({"spec": {"replicas": 4}}));
    let error = gizmos.patch("a", &strategic).unwrap_err();
    assert_eq!(error.status().unwrap().code, 415, "{error}");
}

fn define(client: &Client, group: &str) {
    let definition = definition(group, &json!([version("v1", true, true)]));
    client.api::<CustomResourceDefinition>().create(&definition).unwrap();
}

fn change(client: &Client, group: &str, versions: &Value) {
    let patch = Patch::Merge(json!({"spec": {"versions": versions}}));
    client.api::<CustomResourceDefinition>().patch(&format!("gizmos.{group}"), &patch).unwrap();
}

fn definition(group: &str, versions: &Value) -> Value {
    json!({
        "metadata": {"name": format!("gizmos.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
            "versions": versions,
        },
    })
}

fn version(name: &str, served: bool, storage: bool) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object",
        "x-kubernetes-preserve-unknown-fields": true}});
    json!({"name": name, "served": served, "storage": storage, "schema": schema})
}
