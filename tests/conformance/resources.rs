//! Discovery, and every resource that it finds.

use std::collections::BTreeMap;

use kinformer::{DynamicObject, ListOptions, ListWatch, SharedInformer, kinds};

use crate::server::{LIMIT, client};

#[test]
fn discovery_knows_the_built_in_resources() {
    let discovery = client().discovery();
    let pods = discovery.find_resource("pods").unwrap();
    assert!(pods.resource.is_namespaced());
    assert_eq!((pods.resource.kind(), pods.singular.as_str()), ("Pod", "pod"));
    assert!(pods.short_names.iter().any(|name| name == "po"), "{pods:?}");
    assert!(pods.supports(&["get", "list", "watch", "create", "delete", "patch"]));
    assert!(pods.subresources.iter().any(|name| name == "status"), "{pods:?}");
    assert_eq!(discovery.find_kind("Deployment").unwrap().resource.api_version(), "apps/v1");
    assert!(!discovery.find_resource("nodes").unwrap().resource.is_namespaced());
    let error = discovery.find_resource("nonsense").unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
}

/// A server may be older than the table, and may not serve what is in alpha.
#[test]
fn the_table_of_kinds_says_what_the_server_says() {
    let served = client().discovery().resources().unwrap();
    let mut compared = 0;
    for kind in kinds::all() {
        let resource = kind.resource();
        let Some(found) = served.iter().find(|found| found.resource.gvr() == resource.gvr()) else {
            continue;
        };
        assert_eq!(found.resource, resource);
        assert!(found.supports(&["list"]), "{resource}");
        assert_eq!(found.supports(&["watch"]), kind.is_watchable(), "{resource}");
        compared += 1;
    }
    assert!(compared >= 55, "{compared}");
    println!("{compared} kinds compared");
}

#[test]
fn every_watchable_resource_is_listed_and_watched() {
    let client = client();
    let found = client.discovery().resources().unwrap();
    let watchable: Vec<_> =
        found.into_iter().filter(|found| found.supports(&["list", "watch"])).collect();
    assert!(watchable.len() >= 60, "{}", watchable.len());
    let informers: BTreeMap<_, _> = watchable
        .iter()
        .map(|found| {
            let source = ListWatch::<DynamicObject>::of_resource(&client, &found.resource, None);
            let informer = SharedInformer::builder(source).build().unwrap();
            informer.start().unwrap();
            (found.resource.gvr().to_string(), informer)
        })
        .collect();
    for (name, informer) in &informers {
        informer.wait_for_sync(LIMIT).unwrap_or_else(|error| panic!("{name}: {error}"));
        for object in informer.store().list() {
            assert_eq!(object.kind(), informer.resource().kind());
        }
    }
}

#[test]
fn every_listable_resource_is_listed() {
    let client = client();
    for found in client.discovery().resources().unwrap() {
        if found.supports(&["list"]) {
            let list = client.dynamic(&found.resource).list(&ListOptions::new().limit(5));
            list.unwrap_or_else(|error| panic!("{}: {error}", found.resource));
        }
    }
}
