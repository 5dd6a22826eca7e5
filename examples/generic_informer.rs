//! Scenario 10: informers by group, version and resource, in one namespace: for programs that learn at run
//! time what to watch.

mod common;

use std::time::Duration;

use kinformer::{GroupVersionResource, Object, SharedInformerFactory, labels};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let factory =
        SharedInformerFactory::builder(cluster.client.clone()).namespace("kube-system").build();
    let maps = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"))?;
    let pods = factory.for_resource(&GroupVersionResource::new("", "v1", "pods"))?;
    if let Err(error) = factory.for_resource(&GroupVersionResource::new("", "v1", "podz")) {
        println!("error: {error}");
    }
    pods.on_event(|event| println!("{event}"))?;
    factory.start()?;
    factory.wait_for_cache_sync(Duration::from_secs(60))?;

    for map in maps.lister().list(&labels::everything()) {
        let keys = map.get()?["data"].as_object().map_or(0, serde_json::Map::len);
        println!("{} {} with {keys} keys", map.kind(), map.key());
    }
    for pod in pods.lister().list(&labels::everything()) {
        println!("{} {} is {}", pod.kind(), pod.key(), phase(&pod));
    }
    // The same watch and the same cache, seen as another type.
    let typed = factory.core().v1().pods().lister().list(&labels::everything());
    println!("{} pods in kube-system, typed or not", typed.len());

    cluster.linger(3);
    factory.shutdown()?;
    Ok(())
}

fn phase(pod: &Object) -> String {
    pod.get()
        .ok()
        .and_then(|pod| Some(pod["status"]["phase"].as_str()?.to_owned()))
        .unwrap_or_default()
}
