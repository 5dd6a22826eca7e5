//! Scenario 11: everything that can be watched, in several clusters at once, custom resources that come and
//! go included.
//!
//! ```text
//! cargo run --release --example watch_everything -- --context staging --context production
//! ```

mod common;

use std::time::Duration;

use kinformer::{Event, SharedInformerFactory};

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

    let mut watched = Vec::new();
    for cluster in &clusters {
        let factory = SharedInformerFactory::new(cluster.client.clone());
        let everything = factory.everything().watch(report)?;
        watched.push((cluster.client.config().cluster(), factory, everything));
    }
    for (name, factory, everything) in &watched {
        match factory.wait_for_cache_sync(Duration::from_secs(60)) {
            Ok(()) => println!("{name}: all caches are complete"),
            // A kind that one may not list does not keep the others from working.
            Err(error) => println!("{name}: {error}"),
        }
        let informers = everything.informers();
        let objects: usize = informers.iter().map(|informer| informer.store().len()).sum();
        println!("{name}: {objects} objects of {} resources", informers.len());
    }
    clusters[0].linger(5);
    for (_, factory, _) in &watched {
        factory.shutdown()?;
    }
    Ok(())
}

fn report(event: Event) {
    if !matches!(event, Event::Added { initial: true, .. }) {
        println!("{}: {event}", event.cluster());
    }
}
