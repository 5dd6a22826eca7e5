//! kinformer as its users would use it: what `benches/peers/run` measures.
//!
//! Prints `synced N` when cache and handler have everything, then answers `count` on its input with how
//! many events the handler has had, `lists` with how often it has listed, and `drop` by giving back the
//! cache, until the input ends.

use std::{
    hint::black_box,
    io::{self, BufRead},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kinformer::{
    Client, Config, Decoded, Event, Object, Resource, Result, SharedInformerFactory,
    SharedInformerFactoryBuilder,
};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LIMIT: Duration = Duration::from_secs(600);

/// What the handler wants to know of a pod.
#[derive(serde::Deserialize)]
struct OnNode {
    spec: Spec,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

kinformer::resource!(OnNode, "v1", "Pod", "pods");

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let client = Client::try_default()?;
    let factory = SharedInformerFactory::builder(client);
    match arguments.first().map(String::as_str) {
        Some("sync") => follow(factory.build(), 1, node_name),
        Some("compressed") => follow(compressed()?.build(), 1, node_name),
        Some("handlers10") => follow(factory.build(), 10, node_name),
        Some("typed") => follow(factory.build(), 1, node_name_of_pod),
        Some("typed10") => follow(factory.build(), 10, node_name_of_pod),
        Some("keep") => follow(factory.decoded(Decoded::Keep).build(), 1, node_name_of_pod),
        Some("namespace") => follow(factory.namespace(&arguments[1]).build(), 1, node_name),
        Some("first") => first(factory.namespace(&arguments[1]).build()),
        Some("idle") => idle(factory.build(), arguments[1].parse().expect("a number")),
        _ => panic!(
            "sync, compressed, handlers10, typed, typed10, keep, namespace NAME, first NAME or idle N"
        ),
    }
}

/// As a server gets it that is not on this machine.
fn compressed() -> Result<SharedInformerFactoryBuilder> {
    let config = Config::infer()?.to_builder().compression(true).build()?;
    Ok(SharedInformerFactory::builder(Client::new(config)?))
}

fn node_name(pod: &Object<OnNode>) -> Option<usize> {
    Some(pod.get().ok()?.spec.node_name.as_ref()?.len())
}

fn node_name_of_pod(pod: &Object<Pod>) -> Option<usize> {
    Some(pod.get().ok()?.spec.as_ref()?.node_name.as_ref()?.len())
}

fn follow<K: Resource>(
    factory: SharedInformerFactory,
    handlers: usize,
    node_name: fn(&Object<K>) -> Option<usize>,
) -> Result<()> {
    let pods = factory.informer::<K>();
    let seen = Arc::new(AtomicU64::new(0));
    for _ in 0..handlers {
        let seen = seen.clone();
        pods.on_event(move |event: Event<K>| {
            let Some(pod) = event.object() else { return };
            black_box((pod.name(), pod.namespace(), pod.labels().iter().count(), node_name(pod)));
            seen.fetch_add(1, Ordering::Relaxed);
        })?;
    }
    factory.start()?;
    factory.wait_for_cache_sync(LIMIT)?;
    println!("synced {}", pods.store().len());
    for line in io::stdin().lock().lines().map_while(io::Result::ok) {
        match line.as_str() {
            "count" => println!("events {}", seen.load(Ordering::Relaxed)),
            "lists" => println!("lists {}", pods.status().lists),
            "drop" => println!("dropped {}", factory.stop_informer(&pods)),
            _ => {}
        }
    }
    factory.shutdown()
}

/// From nothing to the first event.
fn first(factory: SharedInformerFactory) -> Result<()> {
    let maps = factory.informer::<ConfigMap>();
    maps.on_event(|event| println!("first {}", event.key()))?;
    factory.start()?;
    for _ in io::stdin().lock().lines() {}
    factory.shutdown()
}

/// Informers that have nothing to do, and how long it takes to stop them.
fn idle(factory: SharedInformerFactory, informers: usize) -> Result<()> {
    let maps = kinformer::ApiResource::of::<ConfigMap>();
    for n in 0..informers {
        let nothing = kinformer::Selection::new().namespace(format!("idle-{n}"));
        factory
            .informer_of::<ConfigMap>(&maps, &nothing)
            .on_event(|event| drop(black_box(event)))?;
    }
    factory.start()?;
    factory.wait_for_cache_sync(LIMIT)?;
    println!("synced {informers}");
    for _ in io::stdin().lock().lines() {}
    let start = Instant::now();
    factory.shutdown()?;
    println!("stopped {}", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
