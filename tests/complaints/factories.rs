//! What a factory says about all its informers, and informers of some namespaces.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{
    NamespaceSet, SharedInformerFactory,
    testing::{ApiServer, Fault, When},
};
use serde_json::json;

use crate::support::{LIMIT, client, quick, wait_until};

/// With the usual pauses, ten attempts take minutes.
#[test]
fn the_back_off_of_a_factory_is_that_of_its_informers() {
    let server = ApiServer::start().unwrap();
    server.inject(When::any().resource("configmaps"), Fault::status(500));
    let factory = SharedInformerFactory::builder(client(&server)).backoff(quick()).build();
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    wait_until("ten attempts", || maps.status().failures >= 10);
}

#[test]
fn some_namespaces_are_watched_without_permission_for_all() {
    let server = ApiServer::start().unwrap();
    for namespace in ["red", "green", "blue"] {
        let named =
            json!({"metadata": {"name": namespace}, "apiVersion": "v1", "kind": "Namespace"});
        server.create(named).unwrap();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": namespace}});
        server.create(map).unwrap();
    }
    let tenants = NamespaceSet::new(["red", "green"]).unwrap();
    let factory = SharedInformerFactory::builder(client(&server)).namespaces(&tenants).build();
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let keys = || {
        let mut keys: Vec<_> = maps.store().list_keys().iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(), ["green/a", "red/a"]);
    tenants.insert("blue").unwrap();
    wait_until("the new one", || keys() == ["blue/a", "green/a", "red/a"]);
    let asked: Vec<_> = server.requests().into_iter().map(|seen| seen.path).collect();
    let in_one = |path: &String| path.starts_with("/api/v1/namespaces/");
    assert!(!asked.is_empty() && asked.iter().all(in_one), "{asked:?}");
}

#[test]
fn what_is_counted_goes_with_its_informer() {
    let server = ApiServer::start().unwrap();
    let factory = SharedInformerFactory::new(client(&server));
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    maps.on_event(|_| ()).unwrap();
    secrets.on_event(|_| ()).unwrap();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let metrics = || {
        let mut text = String::new();
        factory.status().metrics(|metric| text += &metric.to_string());
        text
    };
    let both = metrics();
    assert!(both.contains("configmaps") && both.contains("secrets"), "{both}");
    assert!(factory.stop_informer(&maps));
    let left = metrics();
    assert!(!left.contains("configmaps") && left.contains("secrets"), "{left}");
}
