//! Scenario 1: an informer of StatefulSets whose changes are printed, and a lister over its cache.
//!
//! `cargo run --release --example quickstart`: talks to your cluster, or to the embedded API server if
//! there is none.

mod common;

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kinformer::{ListWatch, Result, SharedInformer, StopToken, labels};

fn main() -> Result<()> {
    let cluster = common::Cluster::find()?;
    let source = ListWatch::<StatefulSet>::from_client(&cluster.client, None);
    let sets = SharedInformer::builder(source).resync(Duration::from_secs(30)).build()?;
    sets.on_event(|event| println!("{event}"))?;
    sets.start()?;
    sets.wait_for_sync(Duration::from_secs(30))?;

    for set in sets.lister().namespace("default").list(&labels::everything()) {
        println!("{} {} {}", set.api_version(), set.name(), set.get()?.spec.replicas.unwrap_or(1));
    }

    // On the embedded server there is nobody to press Ctrl-C.
    let limit = if cluster.embedded.is_some() { Duration::from_secs(3) } else { Duration::MAX };
    let _ = StopToken::new().wait_timeout(limit);
    println!("{}", sets.status());
    sets.stop();
    Ok(())
}
