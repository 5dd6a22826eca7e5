//! Scenario 9: one cache of Pods and one watch for several handlers, with an index by node.

mod common;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kinformer::{ListWatch, Object, SharedInformer, cache::Indexers, labels};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    // One value of each pod, and nothing else of it is decoded.
    let node = |pod: &Object<Pod>| {
        let name = pod.pointer("/spec/nodeName");
        name.and_then(|name| serde_json::from_str(&name).ok()).into_iter().collect()
    };
    let pods = SharedInformer::builder(ListWatch::<Pod>::from_client(&cluster.client, None))
        .indexers(Indexers::new().with("node", node))
        .build()?;

    pods.on_event(|event| println!("first: {event}"))?;
    let second = pods
        .handlers()
        .on_add(|pod, initial| {
            println!("second: {pod} is {}", if initial { "there" } else { "new" });
        })
        .on_delete(|deleted| println!("second: {:?} is gone", deleted.object().map(Object::name)));
    let second = pods.add_event_handler(second)?;
    pods.start()?;
    pods.wait_for_sync(Duration::from_secs(60))?;

    print!("{}", pods.status());
    for node in pods.indexer().list_index_func_values("node") {
        let there = pods.lister().by_index("node", &node)?;
        println!("node {node} has {} pods", there.len());
    }
    let lister = pods.lister().namespace("kube-system");
    println!("kube-system has {} pods", lister.list(&labels::everything()).len());

    cluster.linger(4);
    second.remove();
    pods.stop();
    println!("stopped with {} pods in the cache", pods.store().len());
    Ok(())
}
