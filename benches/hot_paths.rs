//! A fixed amount of work on each path that every event takes, for `benches/hot_paths/check`, which counts the
//! instructions of it.
//!
//! `cargo bench --bench hot_paths` lists the paths; with the name of one it does that.

use std::hint::black_box;

use k8s_openapi::api::core::v1::Pod;
use kinformer::{
    ApiResource, Client, Object,
    cache::{DeltaFifo, Deltas, Indexer, Indexers, Lister, meta_namespace_key},
    fuzzing::{objects_of_list, pruned_objects_of_list},
    labels,
    testing::ApiServer,
};

const PODS: usize = 200;
const REPEATS: usize = 50;

type Work = Box<dyn FnOnce()>;
type Prepare = fn(&[u8]) -> Work;

/// Each path with its name and what prepares it.
const PATHS: [(&str, Prepare); 12] = [
    ("ingest", ingest),
    ("ingest_pruned", ingest_pruned),
    ("json", json),
    ("decode_lean", decode_lean),
    ("decode_full", decode_full),
    ("queue_add_pop", queue_add_pop),
    ("queue_replace_pop", queue_replace_pop),
    ("queue_relist", queue_relist),
    ("event_to_store", event_to_store),
    ("store_update", store_update),
    ("lister_get", lister_get),
    ("lister_by_label", lister_by_label),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let Some((_, prepare)) = PATHS.iter().find(|(name, _)| Some(*name) == wanted.as_deref()) else {
        PATHS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let server = ApiServer::start()?;
    server.create_sample_workloads(PODS, 5)?;
    let body = Client::new(server.config())?.get_raw("/api/v1/pods")?;
    drop(server);
    measured(prepare(&body));
    Ok(())
}

/// What is counted: its name is known to the script.
#[inline(never)]
fn measured(work: Work) {
    work();
}

fn pods(body: &[u8]) -> Vec<Object<Pod>> {
    objects_of_list(&ApiResource::of::<Pod>(), body)
}

fn filled(body: &[u8]) -> Indexer<Object<Pod>> {
    let indexer = Indexer::of_objects(Indexers::new());
    indexer.replace(pods(body), "1");
    indexer
}

/// From the text of a list to objects.
fn ingest(body: &[u8]) -> Work {
    let body = body.to_vec();
    Box::new(move || {
        black_box(pods(&body));
    })
}

/// The same with parts left out: these have to be found.
fn ingest_pruned(body: &[u8]) -> Work {
    const PATHS: [&str; 3] =
        ["/metadata/annotations", "/spec/containers/*/env", "/status/conditions"];
    let body = body.to_vec();
    Box::new(move || {
        black_box(pruned_objects_of_list::<Pod>(&ApiResource::of::<Pod>(), &body, &PATHS));
    })
}

/// From objects to their text, most of which is kept as differences.
fn json(body: &[u8]) -> Work {
    let pods = pods(body);
    Box::new(move || {
        for pod in &pods {
            black_box(pod.json());
        }
    })
}

/// What a handler wants to know of a pod.
#[derive(serde::Deserialize)]
struct OnNode {
    spec: Spec,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

/// From objects to a type of a few fields.
fn decode_lean(body: &[u8]) -> Work {
    let pods: Vec<_> = pods(body).into_iter().map(Object::into_cast::<OnNode>).collect();
    Box::new(move || {
        for pod in &pods {
            black_box(pod.get().expect("a pod").spec.node_name.as_deref());
        }
    })
}

/// From objects to the type that has all fields.
fn decode_full(body: &[u8]) -> Work {
    let pods = pods(body);
    Box::new(move || {
        for pod in &pods {
            black_box(pod.decode().expect("a pod"));
        }
    })
}

fn queue_add_pop(body: &[u8]) -> Work {
    let (pods, fifo) = (pods(body), DeltaFifo::new(meta_namespace_key::<Pod>));
    Box::new(move || {
        for pod in pods.iter().cycle().take(REPEATS * PODS) {
            fifo.add(pod.clone()).expect("no transform");
            fifo.pop_with(|popped| drop(black_box(popped)));
        }
    })
}

fn queue_replace_pop(body: &[u8]) -> Work {
    let listed = pods(body);
    let builder = DeltaFifo::builder(meta_namespace_key::<Pod>);
    let fifo = builder.known_objects(filled(body)).emit_replaced(true).build();
    Box::new(move || {
        for _ in 0..REPEATS {
            fifo.replace(listed.iter().cloned()).expect("no transform");
            for _ in 0..PODS {
                fifo.pop_with(|popped| drop(black_box(popped)));
            }
        }
    })
}

/// A list of objects that have not changed, as informers take it: one by one as they come, and then from the queue
/// into the store.
fn queue_relist(body: &[u8]) -> Work {
    let (listed, indexer) = (pods(body), filled(body));
    let fifo = DeltaFifo::builder(meta_namespace_key::<Pod>)
        .known_objects(indexer.clone())
        .emit_replaced(true)
        .unchanged(|known, listed| known.resource_version() == listed.resource_version())
        .build();
    Box::new(move || {
        for _ in 0..REPEATS {
            let mut list = fifo.begin_replace();
            for pod in &listed {
                list.item(pod.clone()).expect("no transform");
            }
            list.finish();
            while fifo.try_pop().map(|popped| apply(&indexer, popped.deltas)).is_some() {}
        }
    })
}

/// A change, from its text to the store.
fn event_to_store(body: &[u8]) -> Work {
    let indexer = filled(body);
    let fifo = DeltaFifo::builder(meta_namespace_key::<Pod>).known_objects(indexer.clone()).build();
    let texts: Vec<_> = pods(body).iter().map(|pod| pod.json().into_owned()).collect();
    Box::new(move || {
        let pods = ApiResource::of::<Pod>();
        for text in texts {
            let pod = Object::from_json(&pods, text.as_bytes()).expect("a pod");
            fifo.update(pod).expect("no transform");
            fifo.pop_with(|popped| apply(&indexer, popped.deltas));
        }
    })
}

fn apply(indexer: &Indexer<Object<Pod>>, deltas: Deltas<Object<Pod>>) {
    for delta in deltas {
        if let Some(pod) = delta.object() {
            black_box(indexer.update(pod.clone()));
        }
    }
}

fn store_update(body: &[u8]) -> Work {
    let (pods, indexer) = (pods(body), filled(body));
    Box::new(move || {
        for pod in pods.iter().cycle().take(REPEATS * PODS) {
            black_box(indexer.update(pod.clone()));
        }
    })
}

fn lister_get(body: &[u8]) -> Work {
    let (pods, lister) = (pods(body), Lister::new(filled(body), ApiResource::of::<Pod>()));
    let namespaces: Vec<_> =
        pods.iter().map(|pod| lister.namespace(pod.namespace().unwrap_or_default())).collect();
    Box::new(move || {
        for (pod, namespace) in pods.iter().zip(&namespaces).cycle().take(REPEATS * PODS) {
            black_box(namespace.get(pod.name())).expect("it is there");
        }
    })
}

fn lister_by_label(body: &[u8]) -> Work {
    let lister = Lister::new(filled(body), ApiResource::of::<Pod>());
    let pod = pods(body).swap_remove(0);
    let (key, value) = pod.labels().iter().next().expect("a label");
    let selector = labels::parse(&format!("{key}={value}")).expect("a selector");
    assert!(!lister.list(&selector).is_empty());
    Box::new(move || {
        for _ in 0..REPEATS {
            black_box(lister.list(&selector));
        }
    })
}
