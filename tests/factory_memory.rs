//! What a factory lets go is gone. Alone in its process, to count.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kinformer::{
    ApiResource, Client, Event, NamespaceSet, Selection, SharedInformerFactory, StopToken,
    testing::ApiServer,
};

const LIMIT: Duration = Duration::from_secs(120);
const PODS: usize = 5_000;

/// Set in the process that measures.
const ALONE: &str = "KINFORMER_TEST_ALONE";

/// In a process with one arena of glibc's allocator: with one for each few threads, memory that was given
/// back is used again only by threads of the same arena.
#[test]
fn what_a_factory_lets_go_is_gone() {
    if std::env::var_os(ALONE).is_some() {
        return measure();
    }
    let alone = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "what_a_factory_lets_go_is_gone", "--nocapture"])
        .env(ALONE, "1")
        .env("MALLOC_ARENA_MAX", "1")
        .status();
    assert!(alone.unwrap().success());
}

fn measure() {
    let server = ApiServer::start().unwrap();
    server.create_sample_pods(PODS).unwrap();
    let client = Client::new(server.config()).unwrap();
    let factory = SharedInformerFactory::new(client);
    let others = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    stopping_one_informer_gives_its_memory_back(&server, &factory);
    leases_sets_and_everything_leave_no_thread(&server, &factory);
    assert!(!others.is_stopped());
}

fn stopping_one_informer_gives_its_memory_back(
    server: &ApiServer,
    factory: &SharedInformerFactory,
) {
    let threads_before = threads();
    let before = resident();
    // Handles that are left must not keep the objects.
    let (mut rounds, mut handles) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let pods = factory.informer::<Pod>();
        pods.on_event(|_| ()).unwrap();
        factory.start().unwrap();
        factory.wait_for_cache_sync(LIMIT).unwrap();
        assert_eq!(pods.store().len(), PODS);
        let with = resident();
        assert!(factory.stop_informer(&pods));
        handles.push(pods);
        rounds.push((with, resident()));
        assert_settles(server, &threads_before);
    }
    println!("{PODS} pods, KB resident: {before} before, (with, after) {rounds:?}");
    let first = rounds[0].0;
    let held = first.saturating_sub(before);
    assert!(held > 4_000, "the pods were there: {held} KB");
    // What was given back is used again: all rounds together need what one needs.
    for (with, _) in &rounds {
        assert!(*with < first + held / 2, "{before} {rounds:?}");
    }
}

fn leases_sets_and_everything_leave_no_thread(server: &ApiServer, factory: &SharedInformerFactory) {
    let before = threads();
    let pods = ApiResource::of::<Pod>();
    for _ in 0..10 {
        let lease = factory.lease::<Pod>().unwrap();
        lease.on_event(|_| ()).unwrap();
        let set = NamespaceSet::new(["default", "kube-system"]).unwrap();
        let several = Selection::new().namespaces(&set);
        let in_several = factory.lease_of::<Pod>(&pods, &several).unwrap();
        set.remove("default");
        in_several.wait_for_sync(LIMIT).unwrap();
        let all = factory.everything().filter(|found| found.resource.group() == "apps");
        let all = all.watch(|_: Event| ()).unwrap();
        drop((all, lease, in_several));
    }
    assert_settles(server, &before);
}

/// Only these threads are left, once the server has noticed who is gone and the kernel has taken those away
/// that were joined.
fn assert_settles(server: &ApiServer, expected: &[String]) {
    let start = Instant::now();
    while (server.watches() > 1 || threads() != expected) && start.elapsed() < LIMIT {
        let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
    }
    assert_eq!(threads(), expected);
}

/// The names of those that are not the server's: a count says little when it is wrong.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<_> = names.map(|name| name.trim_end().to_owned()).collect();
    names.retain(|name| !name.starts_with("kinf-api"));
    names.sort();
    names
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
