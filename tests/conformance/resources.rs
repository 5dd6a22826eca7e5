//! Discovery, and every resource that it finds.

use std::collections::{BTreeMap, BTreeSet};

use kinformer::{DiscoveredResource, DynamicObject, ListOptions, ListWatch, SharedInformer, kinds};
use serde_json::Value;

use crate::server::{LIMIT, asked_by, client, client_named, wait_until};

/// What other tests define comes and goes.
fn is_lasting(found: &DiscoveredResource) -> bool {
    !found.resource.group().contains("example.com")
}

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

/// Each group would be asked for otherwise.
#[test]
fn discovery_is_two_aggregated_documents() {
    const AGENT: &str = "discovers";
    assert!(client_named(AGENT).discovery().resources().unwrap().len() > 50);
    wait_until("both are known", || asked_by(AGENT).len() >= 2);
    assert_eq!(asked_by(AGENT), ["/api", "/apis"]);
}

/// As clients before Kubernetes 1.26 find it: a request for each group version.
#[test]
fn aggregated_discovery_says_what_the_documents_of_each_group_say() {
    let client = client();
    let document =
        |path: &str| -> Value { serde_json::from_slice(&client.get_raw(path).unwrap()).unwrap() };
    let mut expected = BTreeSet::new();
    let mut versions = vec![("/api/v1".to_owned(), "v1".to_owned())];
    for group in document("/apis")["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let version = version["groupVersion"].as_str().unwrap();
            versions.push((format!("/apis/{version}"), version.to_owned()));
        }
    }
    // What other tests define comes and goes.
    versions.retain(|(path, _)| !path.contains("example.com"));
    for (path, version) in &versions {
        for resource in document(path)["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if !name.contains('/') {
                let namespaced = resource["namespaced"].as_bool().unwrap();
                let mut verbs: Vec<_> = resource["verbs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_str().unwrap())
                    .collect();
                verbs.sort_unstable();
                expected.insert(format!("{version} {name} {namespaced} {}", verbs.join(",")));
            }
        }
    }
    let discovery = client.discovery();
    assert!(discovery.failures().unwrap().is_empty());
    let found: BTreeSet<_> = discovery
        .resources()
        .unwrap()
        .into_iter()
        .filter(is_lasting)
        .map(|mut found| {
            found.verbs.sort_unstable();
            let resource = &found.resource;
            let (version, plural) = (resource.api_version(), resource.plural());
            format!("{version} {plural} {} {}", resource.is_namespaced(), found.verbs.join(","))
        })
        .collect();
    assert_eq!(found, expected);
    let group = discovery.groups().unwrap().into_iter().find(|group| group.name == "apps").unwrap();
    assert_eq!((group.preferred_version.as_str(), group.versions), ("v1", vec!["v1".to_owned()]));
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

/// Without exception: a server serves nothing in alpha unless it is told to.
#[test]
fn what_the_server_serves_is_in_the_table_of_kinds() {
    let served = client().discovery().resources().unwrap().into_iter().filter(is_lasting);
    let listable = served.filter(|found| found.supports(&["list"]));
    let known: BTreeSet<_> = kinds::all().map(|kind| kind.resource().gvr().to_string()).collect();
    let listable: BTreeSet<_> = listable.map(|found| found.resource.gvr().to_string()).collect();
    // An older server has fewer.
    assert!(listable.len() >= 59, "{}", listable.len());
    assert_eq!(listable.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn every_watchable_resource_is_listed_and_watched() {
    let client = client();
    let found = client.discovery().resources().unwrap().into_iter().filter(is_lasting);
    let watchable: Vec<_> = found.filter(|found| found.supports(&["list", "watch"])).collect();
    // An older server has fewer.
    let minor: String = client.server_version().unwrap().minor;
    let least = if minor.trim_end_matches('+').parse::<u32>().unwrap() <= 34 { 58 } else { 60 };
    assert!(watchable.len() >= least, "{} of {least}", watchable.len());
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
    for found in client.discovery().resources().unwrap().into_iter().filter(is_lasting) {
        if found.supports(&["list"]) {
            let list = client.dynamic(&found.resource).list(&ListOptions::new().limit(5));
            list.unwrap_or_else(|error| panic!("{}: {error}", found.resource));
        }
    }
}
