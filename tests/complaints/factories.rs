//! What a factory says about all its informers, and informers of some namespaces.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{
    ApiResource, Selection, SharedInformerFactory,
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
    let factory = SharedInformerFactory::new(client(&server));
    let (send, told) = crossbeam_channel::unbounded();
    let maps = ApiResource::of::<ConfigMap>();
    let informers = ["red", "green"].map(|namespace| {
        let here = Selection::new().namespace(namespace);
        let informer = factory.informer_of::<ConfigMap>(&maps, &here);
        informer.add_event_handler(send.clone()).unwrap();
        informer
    });
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let keys = informers.map(|informer| informer.store().list_keys().remove(0).to_string());
    assert_eq!(keys, ["red/a", "green/a"]);
    let mut events: Vec<_> = told.try_iter().map(|event| event.key().to_string()).collect();
    events.sort();
    assert_eq!(events, ["green/a", "red/a"], "one place to be told");
    let everywhere = |path: &str| path == "/api/v1/configmaps";
    assert!(!server.requests().iter().any(|seen| everywhere(&seen.path)));
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
