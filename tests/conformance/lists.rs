//! Lists: pages, versions, selectors, metadata alone.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kinformer::{ListOptions, Object, ResourceVersionMatch, fields, labels};
use serde_json::json;

use crate::server::{Scope, pod_spec};

#[test]
fn pages_have_everything_once_in_the_state_of_the_first() {
    let scope = Scope::new();
    for n in 0..7 {
        scope.put(&format!("m{n}"), "1");
    }
    let mine = ListOptions::new().labels(labels::parse("app").unwrap()).limit(3);
    let first = scope.maps().list(&mine).unwrap();
    assert_eq!(first.items.len(), 3);
    scope.put("m3", "2");
    scope.put("m9", "1");
    let mut names: Vec<_> = first.items.iter().map(|object| object.name().to_owned()).collect();
    let (mut token, mut pages) = (first.metadata.continue_token.clone(), 1);
    while !token.is_empty() {
        let page = scope.maps().list(&mine.clone().continue_token(token)).unwrap();
        assert_eq!(page.metadata.resource_version, first.metadata.resource_version);
        for object in &page.items {
            let body = object.get().unwrap();
            assert_eq!(body.data.as_ref().unwrap()["value"], "1", "as at the first page");
            names.push(object.name().to_owned());
        }
        token = page.metadata.continue_token;
        pages += 1;
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    assert_eq!(pages, 3);
}

#[test]
fn the_first_page_says_how_many_are_left_unless_it_is_filtered() {
    let scope = Scope::new();
    for n in 0..5 {
        scope.put(&format!("m{n}"), "1");
    }
    // A kube-apiserver with controllers would add one of its own.
    let all = scope.maps().list(&ListOptions::new()).unwrap().items.len() as u64;
    let page = scope.maps().list(&ListOptions::new().limit(2)).unwrap();
    assert_eq!(page.metadata.remaining_item_count, Some(all - 2));
    let filtered = ListOptions::new().limit(2).labels(labels::parse("app").unwrap());
    let page = scope.maps().list(&filtered).unwrap();
    assert_eq!(page.metadata.remaining_item_count, None);
}

#[test]
fn list_all_goes_through_the_pages() {
    let scope = Scope::new();
    for n in 0..7 {
        scope.put(&format!("m{n}"), "1");
    }
    let options = ListOptions::new().limit(2).labels(labels::parse("app").unwrap());
    let names: Vec<_> =
        scope.maps().list_all(&options).map(|object| object.unwrap().name().to_owned()).collect();
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
}

#[test]
fn a_token_that_is_none_is_a_bad_request() {
    let scope = Scope::new();
    let options = ListOptions::new().limit(2).continue_token("nonsense");
    let error = scope.maps().list(&options).unwrap_err();
    assert!(error.is_bad_request(), "{error}");
}

#[test]
fn a_version_is_met_exactly_or_at_least() {
    let scope = Scope::new();
    let first = scope.put("a", "1");
    let second = scope.put("b", "1");
    let names = |exactness, version: &str| {
        let options = ListOptions::new().labels(labels::parse("app").unwrap());
        let options = options.resource_version(version).resource_version_match(exactness);
        let list = scope.maps().list(&options).unwrap();
        list.items.iter().map(|object| object.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(ResourceVersionMatch::Exact, &first), ["a"]);
    assert_eq!(names(ResourceVersionMatch::Exact, &second), ["a", "b"]);
    assert_eq!(names(ResourceVersionMatch::NotOlderThan, &second), ["a", "b"]);
}

#[test]
fn a_version_of_the_future_is_too_large() {
    let scope = Scope::new();
    let version = scope.put("a", "1").parse::<u64>().unwrap() + 1_000_000;
    let options = ListOptions::new()
        .resource_version(version.to_string())
        .resource_version_match(ResourceVersionMatch::NotOlderThan);
    let error = scope.maps().list(&options).unwrap_err();
    assert!(error.is_too_large_resource_version(), "{error}");
}

#[test]
fn labels_and_fields_select() {
    let scope = Scope::new();
    let pods = scope.api::<Pod>();
    for (name, app, node) in
        [("a", "x", "n1"), ("b", "y", "n1"), ("c", "x", "n2"), ("d", "z", "n2")]
    {
        let mut spec = pod_spec();
        spec["nodeName"] = json!(node);
        let labels = json!({"app": app, format!("only-{name}"): ""});
        pods.create(&json!({"metadata": {"name": name, "labels": labels}, "spec": spec})).unwrap();
    }
    let by_labels = |text: &str| {
        let options = ListOptions::new().labels(labels::parse(text).unwrap());
        joined(pods.list(&options).unwrap().items.iter().map(Object::name))
    };
    assert_eq!(by_labels("app=x"), "a c");
    assert_eq!(by_labels("app!=x"), "b d");
    assert_eq!(by_labels("app in (x, y)"), "a b c");
    assert_eq!(by_labels("app notin (x, y)"), "d");
    assert_eq!(by_labels("only-b"), "b");
    assert_eq!(by_labels("!only-b"), "a c d");
    assert_eq!(by_labels("app=x, !only-a"), "c");
    let by_fields = |text: &str| {
        let options = ListOptions::new().fields(fields::parse(text).unwrap());
        joined(pods.list(&options).unwrap().items.iter().map(Object::name))
    };
    assert_eq!(by_fields("metadata.name=b"), "b");
    assert_eq!(by_fields("spec.nodeName=n1"), "a b");
    assert_eq!(by_fields("spec.nodeName!=n1,metadata.name!=d"), "c");
    let unknown = ListOptions::new().fields(fields::parse("spec.nonsense=1").unwrap());
    let error = pods.list(&unknown).unwrap_err();
    assert!(error.is_bad_request(), "{error}");
}

#[test]
fn metadata_comes_alone_where_it_is_asked_for() {
    let scope = Scope::new();
    scope.put("a", &"x".repeat(1_000));
    let metadata = scope.client.metadata::<ConfigMap>().namespace(&scope.name);
    let object = metadata.get("a").unwrap();
    assert_eq!(object.labels().get("app").as_deref(), Some("a"));
    assert!(!object.json().contains("xxx"));
    let listed = metadata.list(&ListOptions::new()).unwrap();
    assert!(listed.items.iter().any(|object| object.name() == "a"));
    assert!(listed.items.iter().all(|object| !object.json().contains("xxx")));
}

#[test]
fn every_object_of_a_list_has_its_kind() {
    let scope = Scope::new();
    scope.put("a", "1");
    let kinds: BTreeSet<_> = scope
        .maps()
        .list(&ListOptions::new())
        .unwrap()
        .into_iter()
        .map(|object| format!("{} {}", object.api_version(), object.kind()))
        .collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["v1 ConfigMap"]);
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(" ")
}
