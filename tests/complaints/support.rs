//! Informers of ConfigMaps on the embedded server.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Backoff, Client, ListWatch, SharedInformer, SharedInformerBuilder, StopToken,
    testing::{ApiServer, Fault, Verb, When},
};
use serde_json::json;

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.config()).unwrap()
}

pub(crate) fn builder(server: &ApiServer) -> SharedInformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::from_client(&client(server), None);
    SharedInformer::builder(source).backoff(quick())
}

/// Started and synced.
pub(crate) fn started<K: 'static>(builder: SharedInformerBuilder<K>) -> SharedInformer<K> {
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    informer
}

pub(crate) fn quick() -> Backoff {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(5);
    backoff.cap = Duration::from_millis(20);
    backoff
}

pub(crate) fn put(server: &ApiServer, name: &str, value: &str) -> String {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}}, "data": {"value": value}});
    let stored = server.put(object).unwrap();
    stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// Ends the watch of an informer in a way that makes it list again, and waits until it has.
pub(crate) fn relist<K: 'static>(server: &ApiServer, informer: &SharedInformer<K>) {
    wait_until("a watch to end", || server.watches() > 0);
    let lists = informer.status().lists;
    server.inject(When::any().verb(Verb::Watch).once(), Fault::expired_after(0));
    server.drop_connections();
    wait_until("another list", || informer.status().lists > lists);
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
    }
}
