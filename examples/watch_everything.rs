//! Scenario 11: everything that can be watched, in several clusters at once.
//!
//! ```text
//! cargo run --release --example watch_everything -- --context staging --context production
//! ```

mod common;

use std::time::Duration;

use kinformer::{DynamicObject, Event, Result, SharedInformerFactory};

use self::common::{Arguments, Cluster};

fn main() -> common::Result {
    let mut arguments = Arguments::of_process();
    let mut clusters = vec![Cluster::named_by(&mut arguments)?];
    if clusters[0].embedded.is_some() {
        clusters.push(Cluster::embedded("another")?);
    }
    while arguments.name_a_cluster() {
        clusters.push(Cluster::named_by(&mut arguments)?);
    }
    arguments.finish()?;

    let mut factories = Vec::new();
    for cluster in &clusters {
        let factory = SharedInformerFactory::new(cluster.client.clone());
        let count = add_everything(cluster, &factory)?;
        factory.start()?;
        println!("{}: {count} resources", cluster.client.config().cluster());
        factories.push(factory);
    }
    for (cluster, factory) in clusters.iter().zip(&factories) {
        let name = cluster.client.config().cluster();
        match factory.wait_for_cache_sync(Duration::from_secs(30)) {
            Ok(()) => println!("{name}: all caches are complete"),
            // A kind that one may not list does not keep the others from working.
            Err(error) => println!("{name}: {error}"),
        }
    }
    clusters[0].linger(4);
    for factory in &factories {
        factory.shutdown()?;
    }
    Ok(())
}

/// An informer for every resource that can be watched, in the version that the server prefers.
fn add_everything(cluster: &Cluster, factory: &SharedInformerFactory) -> Result<usize> {
    let resources = cluster.client.discovery().preferred_resources()?;
    let mut count = 0;
    for found in resources.iter().filter(|found| found.supports(&["list", "watch"])) {
        let informer = factory.informer_for::<DynamicObject>(&found.resource);
        informer.on_event(|event| {
            if !matches!(event, Event::Added { initial: true, .. }) {
                println!("{}: {event}", event.cluster());
            }
        })?;
        count += 1;
    }
    Ok(count)
}
