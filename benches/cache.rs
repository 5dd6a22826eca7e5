//! What the operations of the cache cost: `cargo bench --bench cache`.
//!
//! One line for each: its name, nanoseconds, allocations. `benches/peers/cache/` prints the same for
//! client-go, and `benches/peers/cache/run` compares the two.

#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Pod;
use kinformer::{
    ApiResource, Object,
    cache::{DeltaFifo, Indexer, Indexers, Lister, meta_namespace_key},
    labels,
};

const NAMESPACES: usize = 50;
const APPS: usize = 100;
const LARGE: usize = 100_000;
const SMALL: usize = 20_000;
const BURST: usize = 1_000;

/// For how long each operation is repeated.
const TIME: Duration = Duration::from_millis(500);

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, run) in [
        ("fifo_add_pop", fifo_add_pop as fn(&str)),
        ("fifo_add_pop_with", fifo_add_pop_with),
        ("fifo_add_update_pop_1000", fifo_burst),
        ("fifo_replace_pop_20000", fifo_replace),
        ("indexer_update_20000", indexer_update),
        ("lister_get_100000", lister_get),
        ("lister_get_100000_shuffled", lister_get_shuffled),
        ("list_by_label_100000", list_by_label),
        ("list_namespace_100000", list_namespace),
        ("list_all_100000", list_all),
    ] {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            run(name);
        }
    }
}

fn fifo_add_pop(name: &str) {
    let pod = pods(1, 1).remove(0);
    let fifo = DeltaFifo::new(meta_namespace_key::<Pod>);
    measure(name, BURST, || {
        for _ in 0..BURST {
            fifo.add(pod.clone()).expect("no transform");
            drop(black_box(fifo.pop()));
        }
    });
}

/// The same with a callback, while which the object counts as known. client-go has only that.
fn fifo_add_pop_with(name: &str) {
    let pod = pods(1, 1).remove(0);
    let fifo = DeltaFifo::new(meta_namespace_key::<Pod>);
    measure(name, BURST, || {
        for _ in 0..BURST {
            fifo.add(pod.clone()).expect("no transform");
            fifo.pop_with(|popped| drop(black_box(popped)));
        }
    });
}

fn fifo_burst(name: &str) {
    let (first, second) = (pods(BURST, 1), pods(BURST, 2));
    let fifo = DeltaFifo::new(meta_namespace_key::<Pod>);
    measure(name, 3 * BURST, || {
        for pod in &first {
            fifo.add(pod.clone()).expect("no transform");
        }
        for pod in &second {
            fifo.update(pod.clone()).expect("no transform");
        }
        for _ in 0..BURST {
            fifo.pop_with(|popped| drop(black_box(popped)));
        }
    });
}

fn fifo_replace(name: &str) {
    let indexer = indexer(pods(SMALL, 1));
    let listed = pods(SMALL, 2);
    let builder = DeltaFifo::builder(meta_namespace_key::<Pod>);
    let fifo = builder.known_objects(indexer).emit_replaced(true).build();
    measure(name, SMALL, || {
        fifo.replace(listed.iter().cloned()).expect("no transform");
        for _ in 0..SMALL {
            fifo.pop_with(|popped| drop(black_box(popped)));
        }
    });
}

fn indexer_update(name: &str) {
    let indexer = indexer(pods(SMALL, 1));
    let versions = [pods(SMALL, 2), pods(SMALL, 3)];
    let mut round = 0;
    measure(name, SMALL, || {
        for pod in &versions[round % 2] {
            black_box(indexer.update(pod.clone()));
        }
        round += 1;
    });
}

fn lister_get(name: &str) {
    get_all(name, &(0..LARGE).collect::<Vec<_>>());
}

fn lister_get_shuffled(name: &str) {
    get_all(name, &shuffled(LARGE));
}

fn get_all(name: &str, order: &[usize]) {
    let lister = lister(pods(LARGE, 1));
    let names: Vec<_> = (0..LARGE).map(|n| format!("pod-{n}")).collect();
    let namespaces: Vec<_> =
        (0..NAMESPACES).map(|n| lister.namespace(&format!("namespace-{n}"))).collect();
    measure(name, LARGE, || {
        for &n in order {
            let found = namespaces[n % NAMESPACES].get(&names[n]);
            black_box(found).expect("it is there");
        }
    });
}

fn list_by_label(name: &str) {
    let lister = lister(pods_with_labels(LARGE, 1, chart_labels));
    let selector = labels::parse("app=app-7").expect("a selector");
    measure(name, 1, || assert_eq!(black_box(lister.list(&selector)).len(), LARGE / APPS));
}

fn list_namespace(name: &str) {
    let lister = lister(pods(LARGE, 1)).namespace("namespace-7");
    measure(name, 1, || {
        assert_eq!(black_box(lister.list(&labels::everything())).len(), LARGE / NAMESPACES);
    });
}

fn list_all(name: &str) {
    let lister = lister(pods(LARGE, 1));
    measure(name, 1, || {
        assert_eq!(black_box(lister.list(&labels::everything())).len(), LARGE);
    });
}

/// Repeats what does `count` operations, and prints what one of them costs.
fn measure(name: &str, count: usize, mut operations: impl FnMut()) {
    operations();
    let allocated = ALLOCATIONS.load(Ordering::Relaxed);
    let (start, on_cpu, mut repeats) = (Instant::now(), time_on_cpu(), 0);
    while start.elapsed() < TIME {
        operations();
        repeats += 1;
    }
    // On a busy machine others take a part of the time that has passed.
    let passed = start.elapsed().as_nanos() as f64;
    let nanoseconds = on_cpu.and_then(|on_cpu| Some(time_on_cpu()? - on_cpu)).unwrap_or(passed);
    let allocations = (ALLOCATIONS.load(Ordering::Relaxed) - allocated) as f64;
    let all = (repeats * count) as f64;
    println!("{name} {:.1} ns {:.2} allocs", nanoseconds / all, allocations / all);
}

/// The nanoseconds that this thread has run so far, where the system tells.
fn time_on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

fn indexer(pods: Vec<Object<Pod>>) -> Indexer<Object<Pod>> {
    let indexer = Indexer::of_objects(Indexers::new());
    indexer.replace(pods, "1");
    indexer
}

fn lister(pods: Vec<Object<Pod>>) -> Lister<Pod> {
    Lister::new(indexer(pods), ApiResource::of::<Pod>())
}

/// What charts add.
fn chart_labels(n: usize) -> String {
    let (app, version, team) = (n % APPS, n % 3, n % 20);
    format!(
        r#","app.kubernetes.io/name":"app-{app}","app.kubernetes.io/instance":"app-{app}-{version}",
        "app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/version":"1.{version}","team":"team-{team}""#
    )
}

fn pods(count: usize, version: usize) -> Vec<Object<Pod>> {
    pods_with_labels(count, version, |_| String::new())
}

fn pods_with_labels(count: usize, version: usize, more: fn(usize) -> String) -> Vec<Object<Pod>> {
    let text = |n: usize| {
        let (namespace, app, tier, more) = (n % NAMESPACES, n % APPS, n % 3, more(n));
        format!(
            r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{n}","namespace":"namespace-{namespace}",
            "uid":"00000000-0000-0000-0000-{n:012}","resourceVersion":"{version}",
            "labels":{{"app":"app-{app}","tier":"tier-{tier}","pod-template-hash":"hash-{n}"{more}}}}},
            "spec":{{"nodeName":"node-{}"}}}}"#,
            n % 500
        )
    };
    kinformer::fuzzing::objects(&ApiResource::of::<Pod>(), (0..count).map(text))
}

/// The numbers below `count` in an order that no cache foresees, the same every time.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    let mut state = 1_u64;
    for at in (1..count).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, (state >> 33) as usize % (at + 1));
    }
    order
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
