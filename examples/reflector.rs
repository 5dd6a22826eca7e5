//! Scenario 6: the parts of an informer wired by hand: a reflector fills a queue, a loop empties it into
//! a store.

mod common;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kinformer::{
    ListWatch, Object, Reflector, StopToken,
    cache::{Delta, DeltaFifo, Popped, Store},
};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let store = Store::new(|pod: &Object<Pod>| pod.key().clone());
    // The queue looks into the store, to find out what a later list leaves out.
    let fifo = DeltaFifo::builder(|pod: &Object<Pod>| pod.key().clone())
        .known_objects(store.clone())
        .emit_replaced(true)
        .build();
    let fifo = Arc::new(fifo);
    let source = ListWatch::<Pod>::from_client(&cluster.client, None);
    let reflector = Reflector::new(source, fifo.clone());

    let stop = StopToken::new();
    std::thread::scope(|scope| {
        scope.spawn(|| reflector.run(&stop));
        scope.spawn(|| while fifo.pop_with(|popped| apply(&store, popped)).is_some() {});
        cluster.linger(6);
        stop.stop();
        fifo.close();
    });
    println!("{} pods at resource version {}", store.len(), reflector.last_sync_resource_version());
    Ok(())
}

fn apply(store: &Store<Object<Pod>>, popped: Popped<Object<Pod>>) {
    for delta in popped.deltas {
        match delta {
            Delta::Deleted(_) => {
                store.delete_by_key(popped.key.as_str());
                println!("deleted {}", popped.key);
            }
            Delta::Added(pod) | Delta::Updated(pod) | Delta::Replaced(pod) | Delta::Sync(pod) => {
                let what = if store.add(pod).is_some() { "changed" } else { "new" };
                println!("{what} {}", popped.key);
            }
        }
    }
}
