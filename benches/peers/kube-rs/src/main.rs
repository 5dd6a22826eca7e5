//! kube-rs as its users would use it: a watcher that feeds a reflector's store, and a look at every object.
//!
//! Prints `synced N` when the store is ready, then answers `count` on its input with how many objects it
//! has looked at, until the input ends.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{Stream, StreamExt, TryStreamExt, future::ready};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, reflector, watcher},
};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let config = watcher::Config::default();
    match arguments.first().map(String::as_str) {
        Some("sync") => follow(client, config, |_| ()).await,
        Some("streaming") => follow(client, config.streaming_lists(), |_| ()).await,
        Some("pruned") => {
            follow(client, config.streaming_lists(), |pod| pod.managed_fields_mut().clear()).await
        }
        Some("first") => first(Api::namespaced(client, &arguments[1])).await,
        _ => panic!("sync, streaming, pruned or first NAMESPACE"),
    }
}

async fn follow(client: Client, config: watcher::Config, prune: fn(&mut Pod)) -> Result<()> {
    let (reader, writer) = reflector::store();
    let seen = Arc::new(AtomicU64::new(0));
    let pods = watcher(Api::<Pod>::all(client), config).default_backoff();
    let pods = pods.modify(prune).reflect(writer);
    tokio::spawn(look_at(pods.touched_objects(), seen.clone()));
    reader.wait_until_ready().await?;
    while seen.load(Ordering::Relaxed) < reader.len() as u64 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    println!("synced {}", reader.len());
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "count" {
            println!("events {}", seen.load(Ordering::Relaxed));
        }
    }
    Ok(())
}

async fn look_at(
    pods: impl Stream<Item = std::result::Result<Pod, watcher::Error>>,
    seen: Arc<AtomicU64>,
) {
    let look = |pod: Pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).map(String::len);
        black_box((pod.name_any(), pod.namespace(), pod.labels().len(), node));
        seen.fetch_add(1, Ordering::Relaxed);
        ready(())
    };
    pods.filter_map(|pod| ready(pod.ok())).for_each(look).await;
}

/// From nothing to the first event.
async fn first(maps: Api<ConfigMap>) -> Result<()> {
    let maps = watcher(maps, watcher::Config::default()).default_backoff().applied_objects();
    let mut maps = std::pin::pin!(maps);
    if let Some(map) = maps.try_next().await? {
        println!("first {}", map.name_any());
    }
    let mut lines = BufReader::new(stdin()).lines();
    while lines.next_line().await?.is_some() {}
    Ok(())
}
