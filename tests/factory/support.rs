//! A server with objects, factories on it, and waiting.

use std::time::{Duration, Instant};

use kinformer::{
    Backoff, Client, Event, SharedInformer, SharedInformerFactory, SharedInformerFactoryBuilder,
    StopToken, testing::ApiServer,
};
use serde_json::{Value, json};

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Long enough for what must not happen to have happened.
pub(crate) const A_WHILE: Duration = Duration::from_millis(100);

pub(crate) fn server() -> ApiServer {
    ApiServer::start().unwrap()
}

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.config()).unwrap()
}

pub(crate) fn builder(server: &ApiServer) -> SharedInformerFactoryBuilder {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(5);
    backoff.cap = Duration::from_millis(20);
    SharedInformerFactory::builder(client(server)).backoff(backoff)
}

pub(crate) fn factory(server: &ApiServer) -> SharedInformerFactory {
    builder(server).build()
}

/// Starts what there is and waits for it.
pub(crate) fn sync(factory: &SharedInformerFactory) {
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
}

/// A ConfigMap in the namespace, which is made too.
pub(crate) fn put(server: &ApiServer, namespace: &str, name: &str) -> Value {
    put_labelled(server, namespace, name, json!({}))
}

pub(crate) fn put_labelled(
    server: &ApiServer,
    namespace: &str,
    name: &str,
    labels: Value,
) -> Value {
    add_namespace(server, namespace);
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": {"value": name}});
    server.put(map).unwrap()
}

pub(crate) fn add_namespace(server: &ApiServer, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    server.put(namespace).unwrap();
}

pub(crate) fn delete(server: &ApiServer, namespace: &str, name: &str) {
    server.delete("v1", "ConfigMap", &format!("{namespace}/{name}")).unwrap();
}

/// The keys in the cache, in order.
pub(crate) fn keys<K: 'static>(informer: &SharedInformer<K>) -> Vec<String> {
    let mut keys: Vec<_> = informer.store().list_keys().iter().map(ToString::to_string).collect();
    keys.sort();
    keys
}

/// Where the events of an informer arrive.
pub(crate) fn listen<K: 'static>(
    informer: &SharedInformer<K>,
) -> crossbeam_channel::Receiver<Event<K>> {
    let (send, receive) = crossbeam_channel::unbounded();
    informer.add_event_handler(send).unwrap();
    receive
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
    }
}

/// Adds a kind to the server.
pub(crate) fn add_crd(server: &ApiServer, kind: &str, plural: &str) {
    let singular = kind.to_lowercase();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    server.put(crd).unwrap();
}

/// How many requests with this in their path and query the server has seen.
pub(crate) fn requests(server: &ApiServer, part: &str) -> usize {
    let seen = server.requests();
    seen.iter().filter(|request| format!("{request:?}").contains(part)).count()
}
