//! kube-rs as its users would use it: a watcher that feeds a reflector's store, and a look at every object.
//!
//! Prints `synced N` when the store is ready, then answers `count` on its input with how many objects it
//! has looked at, until the input ends.

use std::{
    borrow::Cow,
    fmt::Debug,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{Stream, StreamExt, TryStreamExt, future::ready};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    runtime::{WatchStreamExt, reflector, watcher},
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let config = watcher::Config::default();
    match arguments.first().map(String::as_str) {
        Some("sync") => follow(client, config, |_| (), node_name_of_pod).await,
        Some("streaming") => {
            follow(client, config.streaming_lists(), |_| (), node_name_of_pod).await
        }
        Some("pruned") => follow(client, config.streaming_lists(), prune, node_name_of_pod).await,
        Some("lean") => follow(client, config.streaming_lists(), prune, node_name).await,
        Some("first") => first(Api::namespaced(client, &arguments[1])).await,
        _ => panic!("sync, streaming, pruned, lean or first NAMESPACE"),
    }
}

/// What the handler wants to know of a pod, and no more.
#[derive(Clone, Debug, Deserialize)]
struct OnNode {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

impl Resource for OnNode {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

fn node_name(pod: &OnNode) -> Option<usize> {
    pod.spec.node_name.as_ref().map(String::len)
}

fn node_name_of_pod(pod: &Pod) -> Option<usize> {
    pod.spec.as_ref()?.node_name.as_ref().map(String::len)
}

fn prune<K: Resource>(object: &mut K) {
    object.managed_fields_mut().clear();
}

async fn follow<K>(
    client: Client,
    config: watcher::Config,
    prune: fn(&mut K),
    node_name: fn(&K) -> Option<usize>,
) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (reader, writer) = reflector::store();
    let seen = Arc::new(AtomicU64::new(0));
    let pods = watcher(Api::<K>::all(client), config).default_backoff();
    let pods = pods.modify(prune).reflect(writer);
    tokio::spawn(look_at(pods.touched_objects(), node_name, seen.clone()));
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

async fn look_at<K: Resource>(
    pods: impl Stream<Item = std::result::Result<K, watcher::Error>>,
    node_name: fn(&K) -> Option<usize>,
    seen: Arc<AtomicU64>,
) {
    let look = |pod: K| {
        black_box((pod.name_any(), pod.namespace(), pod.labels().len(), node_name(&pod)));
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
