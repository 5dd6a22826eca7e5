//! Scenario 12: the two traps that every write-up of client-go warns of, and what becomes of them here.
//!
//! 1. Objects of a cache have no kind and no apiVersion, because lists leave them out. Here they have.
//! 2. An informer that was stopped keeps its memory until the program ends. Here it gives it back, and
//!    the others go on.

#[path = "../common/mod.rs"]
mod common;
mod heap;

use std::{fs, time::Duration};

use kinformer::{SharedInformer, SharedInformerFactory, labels};

/// Without optimisation it takes ten times as long to make them.
const PODS: usize = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    if let Some(server) = &cluster.embedded {
        server.create_sample_pods(PODS)?;
    }
    let factory = SharedInformerFactory::new(cluster.client);
    let deployments = factory.apps().v1().deployments();
    factory.start()?;
    factory.wait_for_cache_sync(LIMIT)?;
    let before = report("before", 0);

    let pods = factory.core().v1().pods();
    factory.start()?;
    factory.wait_for_cache_sync(LIMIT)?;
    let with = report("with", pods.store().len());

    println!("\n1. every object says what it is:");
    for (name, wrong) in [("pods", unlabelled(&pods)), ("deployments", unlabelled(&deployments))] {
        println!("   {wrong} of the cached {name} lack kind or apiVersion");
    }
    let example = deployments.lister().list(&labels::everything()).into_iter().next();
    println!(
        "   {}",
        example.map_or_else(String::new, |one| format!("{} {one}", one.api_version()))
    );

    println!("\n2. stopping one informer of two:");
    factory.stop_informer(&pods);
    let after = report("after", pods.store().len());
    println!("   pods: stopped: {}", pods.is_stopped());
    let status = deployments.status();
    println!("   deployments: {:?}, {} objects", status.doing, status.objects);
    let freed = 100 * (with.saturating_sub(after)) / with.saturating_sub(before).max(1);
    println!("   {freed} % of its memory has come back");
    factory.shutdown()?;
    Ok(())
}

/// How many objects of a cache do not say what they are.
fn unlabelled<K: 'static>(informer: &SharedInformer<K>) -> usize {
    let all = informer.store().list();
    all.iter().filter(|object| object.kind().is_empty() || object.api_version().is_empty()).count()
}

/// Prints what there is, and gives how many megabytes are in use.
fn report(when: &str, cached: usize) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
    let number =
        |name| field(name).and_then(|line: &str| line.split_whitespace().next()?.parse().ok());
    let (used, resident) = (heap::megabytes(), number("VmRSS:").unwrap_or(0_usize) / 1024);
    let threads = number("Threads:").unwrap_or(0);
    println!(
        "{when:>6}: {cached:>6} pods cached, {used:>4} MB in use, {resident:>4} MB resident, \
         {threads:>3} threads"
    );
    used
}
