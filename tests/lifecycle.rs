//! Informers that have stopped leave nothing behind. Alone in its process, to count.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{Client, ListWatch, SharedInformer, StopToken, testing::ApiServer};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(120);
const TENTH: Duration = Duration::from_millis(100);

/// One test, because each counts what the whole process has.
#[test]
fn stopping_leaves_nothing_behind_and_is_quick() {
    let server = ApiServer::start().unwrap();
    for n in 0..20 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("m{n}"), "namespace": "default"},
            "data": {"value": "x".repeat(4_000)}});
        server.create(object).unwrap();
    }
    let client = Client::new(server.config()).unwrap();
    a_thousand_cycles_leave_threads_descriptors_and_memory_where_they_were(&server, &client);
    sixty_idle_informers_stop_within_a_tenth_of_a_second(&client);
}

fn informer(client: &Client) -> SharedInformer<ConfigMap> {
    let source = ListWatch::<ConfigMap>::from_client(client, None);
    let informer = SharedInformer::builder(source).build().unwrap();
    informer.on_event(|_| ()).unwrap();
    informer.on_event(|_| ()).unwrap();
    informer
}

fn a_thousand_cycles_leave_threads_descriptors_and_memory_where_they_were(
    server: &ApiServer,
    client: &Client,
) {
    // A thread has its name when it has begun: that of the server that accepts has, when it has answered.
    client.server_version().unwrap();
    let alone = threads();
    let cycles = |count: usize| {
        for n in 0..count {
            let informer = informer(client);
            informer.start().unwrap();
            // Every third is stopped while it starts.
            if n % 3 != 0 {
                informer.wait_for_sync(LIMIT).unwrap();
                assert_eq!(informer.store().len(), 20);
            }
            if n % 2 == 0 {
                informer.stop();
            }
            drop(informer);
            server.clear_requests();
        }
        // The server may not have noticed yet that nobody is connected any more, and a thread that was
        // joined is there until the kernel has taken it away.
        wait_until(|| server.watches() == 0 && threads() == alone);
        assert_eq!(threads(), alone);
    };
    // What is made once, such as pools and arenas, is made now.
    cycles(200);
    let before = Left::now();
    cycles(1_000);
    let fewest = before.descriptors + 2;
    wait_until(|| Left::now().descriptors <= fewest);
    let after = Left::now();
    println!("before: {before:?}\nafter:  {after:?}");
    assert!(after.descriptors <= fewest, "{before:?} {after:?}");
    // 80 KB of objects in each of a thousand would be 80 MB.
    assert!(after.kilobytes < before.kilobytes + 8_192, "{before:?} {after:?}");
}

fn sixty_idle_informers_stop_within_a_tenth_of_a_second(client: &Client) {
    let round = || {
        let informers: Vec<_> = (0..60).map(|_| informer(client)).collect();
        for informer in &informers {
            informer.start().unwrap();
        }
        for informer in &informers {
            informer.wait_for_sync(LIMIT).unwrap();
        }
        let start = Instant::now();
        for informer in &informers {
            informer.stop();
        }
        start.elapsed()
    };
    // The best of some rounds: other tests may have the machine now and then.
    let mut rounds = Vec::new();
    while rounds.len() < 20 && rounds.iter().all(|took| *took >= TENTH) {
        rounds.push(round());
    }
    println!("60 informers stopped one after the other: {rounds:?}");
    assert!(rounds.iter().any(|took| *took < TENTH), "{rounds:?}");
}

#[derive(Debug)]
struct Left {
    descriptors: usize,
    kilobytes: u64,
}

impl Left {
    fn now() -> Self {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
        Self { descriptors, kilobytes: resident() }
    }
}

/// Until it holds or the time is up: whoever waits looks what it is.
fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() && start.elapsed() < LIMIT {
        let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The names of those that are not the server's, since a count says little when it is wrong.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<_> = names.map(|name| name.trim_end().to_owned()).collect();
    names.retain(|name| !name.starts_with("kinf-api"));
    names.sort();
    names
}
