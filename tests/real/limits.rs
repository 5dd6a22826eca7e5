//! How much there can be, with figures: `tests/real/run --load`.
//!
//! `KINF_LOAD_PODS` says how many pods, 100,000 if it does not.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kinformer::{
    Client, DeleteOptions, DynamicObject, ListWatch, SharedInformer, SharedInformerFactory,
    StopToken, kinds,
};
use serde_json::{Value, json};

use crate::{
    chaos::proxy::{Proxy, Spoil, server_of},
    cluster::{Cluster, LIMIT, wait_until},
    process,
};

const LONG: Duration = Duration::from_secs(600);

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run --load"]
fn a_hundred_thousand_pods_are_listed_listed_again_and_kept() {
    let asked = std::env::var("KINF_LOAD_PODS").ok();
    let count = asked.map_or(100_000, |text| text.parse().expect("KINF_LOAD_PODS is a number"));
    let cluster = Cluster::start();
    let client = cluster.client();
    create_pods(&client, count);

    let before = process::resident();
    let proxy = Proxy::start(&server_of(&client));
    let through = cluster.client_through(&proxy);
    let informer = SharedInformer::builder(ListWatch::<Pod>::from_client(&through, None));
    let informer = informer.build().unwrap();
    let start = Instant::now();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).unwrap();
    let synced = start.elapsed();
    assert_eq!(informer.store().len() as u64, count);
    let bytes: usize = informer.store().list().iter().map(|pod| pod.json().len()).sum();
    println!(
        "{count} pods, {} MB of JSON: synced in {synced:.1?}, resident {before} MB before, {} MB after",
        bytes / 1_000_000,
        process::resident()
    );

    // Away for so long that only a list helps.
    proxy.refuse();
    proxy.spoil(Spoil::Reset);
    client
        .api::<Pod>()
        .namespace("load")
        .delete_with("pod-0", &DeleteOptions::new().grace_period_seconds(0))
        .unwrap();
    cluster.compact();
    cluster.kill();
    cluster.start_again();
    let lists = informer.status().lists;
    let peak = Peak::default();
    std::thread::scope(|scope| {
        scope.spawn(|| peak.watch());
        proxy.listen();
        let start = Instant::now();
        let _stop = Stop(&peak);
        while informer.store().len() as u64 != count - 1 || informer.status().lists == lists {
            assert!(start.elapsed() < LONG, "{:?}", informer.status());
            let _ = StopToken::new().wait_timeout(Duration::from_millis(10));
        }
        println!("listed again {:.1?} after the server could be reached", start.elapsed());
    });
    println!(
        "resident {} MB at the most meanwhile, {} MB after it",
        peak.most(),
        process::resident()
    );
    let start = Instant::now();
    informer.stop();
    println!("stopped in {:.1?}", start.elapsed());
}

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run --load"]
fn informers_of_all_built_in_kinds_at_once() {
    let cluster = Cluster::start();
    let client = cluster.client();
    let served = client.discovery().resources().unwrap();
    let before = (process::threads_and_descriptors(), process::resident());
    let factory = SharedInformerFactory::new(client);
    let informers: Vec<SharedInformer<DynamicObject>> = kinds::all()
        .filter(|kind| kind.is_watchable())
        .map(kinds::Kind::resource)
        .filter(|resource| served.iter().any(|found| found.resource == *resource))
        .map(|resource| factory.informer_for(&resource))
        .collect();
    assert!(informers.len() >= 55, "{}", informers.len());
    for informer in &informers {
        informer.on_event(|_| ()).unwrap();
    }
    let start = Instant::now();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let synced = start.elapsed();
    let after = process::threads_and_descriptors();
    let objects: usize = informers.iter().map(|informer| informer.store().len()).sum();
    println!(
        "{} informers, {objects} objects: synced in {synced:.2?}; {} threads, {} descriptors, {} MB more",
        informers.len(),
        after.0 - before.0.0,
        after.1 - before.0.1,
        process::resident() - before.1
    );
    let start = Instant::now();
    factory.shutdown().unwrap();
    let stopped = start.elapsed();
    println!("stopped in {stopped:.2?}");
    assert!(stopped < Duration::from_secs(1), "{stopped:?}");
    drop((factory, informers));
    wait_until("nothing is left behind", || {
        let now = process::threads_and_descriptors();
        now.0 <= before.0.0 && now.1 <= before.0.1
    });
}

fn create_pods(client: &Client, count: u64) {
    client.api::<Namespace>().create(&json!({"metadata": {"name": "load"}})).unwrap();
    let (next, start) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let (pods, next) = (client.api::<Pod>().namespace("load"), &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        break;
                    }
                    pods.create(&pod(n)).unwrap();
                }
            });
        }
    });
    println!("{count} pods made, {:.0}/s", count as f64 / start.elapsed().as_secs_f64());
}

/// Small, as pods go: two containers, and what the server adds.
fn pod(n: u64) -> Value {
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry.example.com/team-{}/{name}:1.{n}", n % 50),
            "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "REGION", "value": "north"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "ports": [{"containerPort": 8080, "name": name}]})
    };
    json!({
        "metadata": {"name": format!("pod-{n}"), "labels": {"app": format!("app-{}", n % 200), "tier": "web"},
            "annotations": {"example.com/checksum": format!("{n:064x}")}},
        "spec": {"nodeName": format!("node-{}", n % 500), "containers": [container("main"), container("proxy")]},
    })
}

/// The most memory that was resident, in MB.
#[derive(Default)]
struct Peak {
    most: AtomicU64,
    over: AtomicBool,
}

impl Peak {
    fn watch(&self) {
        while !self.over.load(Ordering::Relaxed) {
            self.most.fetch_max(process::resident(), Ordering::Relaxed);
            let _ = StopToken::new().wait_timeout(Duration::from_millis(20));
        }
    }

    fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

/// Ends a watch of memory, also if something fails.
struct Stop<'a>(&'a Peak);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}
