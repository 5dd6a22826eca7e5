//! Scenario 2: the Deployments of `kube-system`, with a handler for each kind of event: what is scaled,
//! from how many replicas to how many.

mod common;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kinformer::{Object, SharedInformerFactory, labels};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let factory = SharedInformerFactory::builder(cluster.client.clone())
        .resync(Duration::from_secs(30))
        .namespace("kube-system")
        .build();
    let deployments = factory.apps().v1().deployments();
    let handler = deployments
        .handlers()
        .on_add(|new, _| println!("added {new} with {} replicas", replicas(&new)))
        .on_update(|old, new| {
            let (before, now) = (replicas(&old), replicas(&new));
            if old.resource_version() == new.resource_version() {
                println!("still there: {new}"); // a resync tells of what the cache has, unchanged
            } else if before != now {
                println!("scaled {new} from {before} to {now} replicas");
            } else {
                println!("updated {new}, still at {now} replicas");
            }
        })
        .on_delete(|deleted| println!("deleted {:?}", deleted.object().map(Object::name)));
    deployments.add_event_handler(handler)?;
    factory.start()?;
    factory.wait_for_cache_sync(Duration::from_secs(60))?;

    let there = deployments.lister().namespace("kube-system").list(&labels::everything());
    println!("{} deployments in kube-system", there.len());

    cluster.linger(5);
    factory.shutdown()?;
    Ok(())
}

/// What a handler is given has its body as the server sent it; it is decoded when somebody asks.
fn replicas(deployment: &Object<Deployment>) -> i32 {
    deployment.get().ok().and_then(|deployment| deployment.spec.replicas).unwrap_or(1)
}
