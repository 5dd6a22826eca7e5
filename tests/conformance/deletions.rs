//! Deletions: finalizers, preconditions, propagation, collections, evictions.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kinformer::{DeleteOptions, Deletion, ListOptions, Object, Patch, PropagationPolicy, labels};
use serde_json::json;

use crate::server::{Scope, config_map, deployment, pod_spec};

#[test]
fn a_finalizer_holds_an_object_back_until_it_is_removed() {
    let scope = Scope::new();
    let maps = scope.maps();
    let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
    maps.create(&held).unwrap();
    let Deletion::Pending(pending) = maps.delete("a").unwrap() else { panic!("it is held") };
    assert!(pending.deletion_timestamp().is_some());
    assert!(maps.get("a").unwrap().deletion_timestamp().is_some());
    let more = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/more"]}}));
    let error = maps.patch("a", &more).unwrap_err();
    assert!(error.is_invalid(), "no finalizer is added to what is being deleted: {error}");
    maps.patch("a", &Patch::Merge(json!({"metadata": {"finalizers": null}}))).unwrap();
    assert!(maps.find("a").unwrap().is_none());
}

#[test]
fn a_deletion_can_be_meant_for_one_object_in_one_state() {
    let scope = Scope::new();
    let maps = scope.maps();
    let made = maps.create(&config_map("a", "1")).unwrap();
    let other = DeleteOptions::new().uid("00000000-0000-0000-0000-000000000000");
    assert!(maps.delete_with("a", &other).unwrap_err().is_conflict());
    let newer = scope.put("a", "2");
    let old = DeleteOptions::new().resource_version(made.resource_version());
    assert!(maps.delete_with("a", &old).unwrap_err().is_conflict());
    maps.delete_with("a", &DeleteOptions::new().uid(made.uid()).resource_version(newer)).unwrap();
    assert!(maps.find("a").unwrap().is_none());
}

#[test]
fn foreground_and_orphan_are_finalizers_for_the_collector() {
    let scope = Scope::new();
    let deployments = scope.api::<Deployment>();
    for (policy, finalizer) in [
        (PropagationPolicy::Foreground, "foregroundDeletion"),
        (PropagationPolicy::Orphan, "orphan"),
    ] {
        deployments.create(&deployment(&finalizer.to_lowercase(), 1)).unwrap();
        let options = DeleteOptions::new().propagation(policy);
        let name = finalizer.to_lowercase();
        let Deletion::Pending(pending) = deployments.delete_with(&name, &options).unwrap() else {
            panic!("it waits for the collector")
        };
        assert!(pending.json().contains(finalizer), "{}", pending.json());
    }
}

#[test]
fn a_collection_is_deleted_by_selector() {
    let scope = Scope::new();
    for name in ["a", "b", "c"] {
        scope.put(name, "1");
    }
    let some = ListOptions::new().labels(labels::parse("app in (a, c)").unwrap());
    scope.maps().delete_collection(&DeleteOptions::new(), &some).unwrap();
    let left = scope.maps().list(&ListOptions::new()).unwrap();
    let names = left.items.iter().map(Object::name).filter(|name| name.len() == 1);
    assert_eq!(names.collect::<Vec<_>>(), ["b"]);
}

#[test]
fn an_eviction_deletes_the_pod() {
    let scope = Scope::new();
    let pods = scope.api::<Pod>();
    pods.create(&json!({"metadata": {"name": "p"}, "spec": pod_spec()})).unwrap();
    pods.evict("p", &DeleteOptions::new().grace_period_seconds(0)).unwrap();
    assert!(pods.find("p").unwrap().is_none());
    let error = pods.evict("p", &DeleteOptions::new()).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
