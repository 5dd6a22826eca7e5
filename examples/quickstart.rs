//! Lists the StatefulSets of a cluster and watches them for a while.
//!
//! `cargo run --release --example quickstart`: talks to your cluster, or to the embedded API server if
//! there is none.

mod common;

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use kinformer::{ListOptions, Result, WatchEvent};

fn main() -> Result<()> {
    let cluster = common::Cluster::find()?;
    let client = &cluster.client;
    println!("Kubernetes {}", client.server_version()?.git_version);

    let sets = client.api::<StatefulSet>();
    let list = sets.list(&ListOptions::new())?;
    for set in &list.items {
        let replicas = set.get()?.spec.replicas.unwrap_or(1);
        println!("{} {} {} replicas", set.api_version(), set, replicas);
    }

    let mut from = ListOptions::new().resource_version(list.metadata.resource_version);
    if cluster.embedded.is_some() {
        // There is nobody to press Ctrl-C: the server ends the watch.
        from = from.timeout_seconds(3);
    }
    let mut seen = BTreeMap::new();
    for event in sets.watch(&from)? {
        let (what, set) = match event? {
            WatchEvent::Added(set) => ("added", set),
            WatchEvent::Modified(set) => ("modified", set),
            WatchEvent::Deleted(set) => ("deleted", set),
            _ => continue,
        };
        println!("{what} {set} at {}", set.resource_version());
        *seen.entry(what).or_insert(0) += 1;
    }
    println!("watched: {seen:?}");
    Ok(())
}
