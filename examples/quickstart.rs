//! Scenario 1: a factory, an informer of StatefulSets, its events printed, its cache read.
//!
//! ```text
//! cargo run --release --example quickstart
//! ```

mod common;

use std::time::Duration;

use kinformer::{SharedInformerFactory, labels};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let factory = SharedInformerFactory::builder(cluster.client.clone())
        .resync(Duration::from_secs(30))
        .build();
    let sets = factory.apps().v1().stateful_sets(); // = factory.informer::<StatefulSet>()
    sets.on_event(|event| println!("{event}"))?;
    factory.start()?;
    factory.wait_for_cache_sync(Duration::from_secs(30))?; // the error says who is missing and why

    for set in sets.lister().namespace("default").list(&labels::everything()) {
        println!("{} {} {}", set.api_version(), set.name(), set.get()?.spec.replicas.unwrap_or(1));
    }

    cluster.linger(3);
    print!("{}", factory.status()); // a small table
    factory.shutdown()?; // dropping it does the same
    Ok(())
}
