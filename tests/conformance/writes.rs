//! Create, replace, patch, apply, and the answers to what cannot be done.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kinformer::{Object, Patch};
use serde_json::{Value, json};

use crate::server::{Scope, config_map, deployment};

#[test]
fn what_is_created_comes_back_with_what_the_server_adds() {
    let scope = Scope::new();
    let made = scope.maps().create(&config_map("a", "1")).unwrap();
    assert!(!made.uid().is_empty() && !made.resource_version().is_empty());
    assert!(made.creation_timestamp().is_some());
    assert_eq!((made.kind(), made.api_version()), ("ConfigMap", "v1"));
    assert_eq!(made.namespace(), Some(scope.name.as_str()));
    let got = scope.maps().get("a").unwrap();
    assert_eq!((got.uid(), got.resource_version()), (made.uid(), made.resource_version()));
    assert_eq!(got.get().unwrap().data.as_ref().unwrap()["value"], "1");
}

#[test]
fn names_can_be_left_to_the_server() {
    let scope = Scope::new();
    let object = json!({"metadata": {"generateName": "made-"}});
    let names = [(); 2].map(|()| scope.maps().create(&object).unwrap().name().to_owned());
    assert!(names.iter().all(|name| name.starts_with("made-") && name.len() > 5), "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn each_refusal_has_its_predicate() {
    let scope = Scope::new();
    let maps = scope.maps();
    let first = maps.create(&config_map("a", "1")).unwrap();
    assert!(maps.create(&config_map("a", "1")).unwrap_err().is_already_exists());
    assert!(maps.get("b").unwrap_err().is_not_found());
    assert!(maps.find("b").unwrap().is_none());
    assert!(maps.delete("b").unwrap_err().is_not_found());
    scope.put("a", "2");
    let mut old: ConfigMap = first.decode().unwrap();
    old.immutable = Some(false);
    assert!(maps.replace("a", &old).unwrap_err().is_conflict());
    let error = maps.create(&json!({"metadata": {"name": "Not A Name"}})).unwrap_err();
    assert!(error.is_invalid(), "{error}");
    let causes = &error.status().unwrap().details.as_ref().unwrap().causes;
    assert_eq!(causes[0].field, "metadata.name");
}

#[test]
fn a_replacement_without_a_version_wins_and_with_the_right_one_too() {
    let scope = Scope::new();
    let maps = scope.maps();
    maps.create(&config_map("a", "1")).unwrap();
    let second = maps.replace("a", &config_map("a", "2")).unwrap();
    let mut body: ConfigMap = second.decode().unwrap();
    body.data.as_mut().unwrap().insert("value".into(), "3".into());
    let third = maps.replace("a", &body).unwrap();
    assert_eq!(value(&third), "3");
    // Nothing changes: nothing is written.
    let again: ConfigMap = third.decode().unwrap();
    assert_eq!(maps.replace("a", &again).unwrap().resource_version(), third.resource_version());
}

#[test]
fn each_kind_of_patch_does_its_own() {
    let scope = Scope::new();
    let deployments = scope.api::<Deployment>();
    deployments.create(&deployment("d", 1)).unwrap();
    let sidecar = json!([{"name": "sidecar", "image": "example.com/sidecar:1"}]);
    let with =
        |containers: &Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});

    let merged = deployments.patch("d", &Patch::Strategic(with(&sidecar))).unwrap();
    assert_eq!(containers(&merged), ["sidecar", "main"], "merged by name, new ones first");
    let replaced = deployments.patch("d", &Patch::Merge(with(&sidecar))).unwrap();
    assert_eq!(containers(&replaced), ["sidecar"], "lists are replaced whole");
    let replicas = json!([{"op": "test", "path": "/spec/replicas", "value": 1},
        {"op": "replace", "path": "/spec/replicas", "value": 3}]);
    let patched = deployments.patch("d", &Patch::Json(&replicas)).unwrap();
    assert_eq!(patched.get().unwrap().spec.replicas, Some(3));
    let error = deployments.patch("d", &Patch::Json(&replicas)).unwrap_err();
    assert!(error.is_invalid(), "the test in it fails: {error}");
}

#[test]
fn what_another_manager_applied_is_a_conflict_until_it_is_forced() {
    let scope = Scope::new();
    let maps = scope.maps();
    maps.field_manager("one").apply("a", &config_map("a", "1")).unwrap();
    let error = maps.field_manager("two").apply("a", &config_map("a", "2")).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("\"one\""), "{error}");
    let forced = maps.field_manager("two").force().apply("a", &config_map("a", "2")).unwrap();
    assert_eq!(value(&forced), "2");
    // What a manager no longer applies and nobody else does is removed.
    let fewer = json!({"metadata": {"name": "a", "labels": {"app": "a"}}});
    let left = maps.field_manager("two").apply("a", &fewer).unwrap();
    assert!(left.get().unwrap().data.is_none(), "{}", left.json());
}

#[test]
fn status_and_the_rest_are_written_apart() {
    let scope = Scope::new();
    let deployments = scope.api::<Deployment>();
    let made = deployments.create(&deployment("d", 1)).unwrap();
    let both = json!({"spec": {"replicas": 5}, "status": {"replicas": 7, "observedGeneration": 1}});
    let by_status = deployments.status().patch("d", &Patch::Merge(&both)).unwrap();
    let body = by_status.get().unwrap();
    assert_eq!(body.spec.replicas, Some(1));
    assert_eq!(body.status.as_ref().unwrap().replicas, Some(7));
    assert_eq!(generation(&by_status), generation(&made), "a status is no new generation");
    let by_spec = deployments
        .patch(
            "d",
            &Patch::Merge(json!({"spec": {"replicas": 2},
        "status": {"replicas": 9}})),
        )
        .unwrap();
    assert_eq!(by_spec.get().unwrap().status.as_ref().unwrap().replicas, Some(7));
    assert_eq!(generation(&by_spec), generation(&made) + 1);
}

#[test]
fn scale_is_a_view_of_the_replicas() {
    let scope = Scope::new();
    let deployments = scope.api::<Deployment>();
    deployments.create(&deployment("d", 1)).unwrap();
    let scale = deployments.scale().get("d").unwrap().decode().unwrap();
    assert_eq!(scale.spec.replicas, 1);
    deployments.scale().patch("d", &Patch::Merge(json!({"spec": {"replicas": 4}}))).unwrap();
    let body = deployments.get("d").unwrap().get().unwrap();
    assert_eq!(body.spec.replicas, Some(4));
}

#[test]
fn a_dry_run_answers_and_stores_nothing() {
    let scope = Scope::new();
    let made = scope.maps().dry_run().create(&config_map("a", "1")).unwrap();
    assert!(!made.uid().is_empty());
    assert!(scope.maps().find("a").unwrap().is_none());
}

fn value(object: &Object<ConfigMap>) -> String {
    object.get().unwrap().data.as_ref().unwrap()["value"].clone()
}

fn containers(object: &Object<Deployment>) -> Vec<String> {
    let body = object.get().unwrap();
    let spec = body.spec.template.spec.as_ref().unwrap();
    spec.containers.iter().map(|container| container.name.clone()).collect()
}

fn generation<K>(object: &Object<K>) -> i64 {
    let body: Value = serde_json::from_str(&object.json()).unwrap();
    body["metadata"]["generation"].as_i64().unwrap()
}
