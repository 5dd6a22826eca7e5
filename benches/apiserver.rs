//! How fast the embedded API server is: a large list, a thousand watches, a table.
//!
//! `cargo bench --bench apiserver`; ends by itself in less than a minute. One client, in the same
//! process, reads and checks everything, and its time counts.

#![allow(clippy::unwrap_used, reason = "helpers of the tests")]

#[path = "../tests/server/client.rs"]
#[allow(dead_code, reason = "shared with the tests of the server")]
mod client;

use std::time::{Duration, Instant};

use kinformer::testing::ApiServer;
use serde_json::{Value, json};

use self::client::{Http, Watch, eventually};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/pods";
const TABLE: &str = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n";
const ROUNDS: usize = 9;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let scale = if std::env::args().any(|argument| argument == "--bench") { 1 } else { 100 };
    let (objects, pods) = (10_000 / scale, 1_000 / scale);
    let (watches, events) = (1_000 / scale, 100 / scale);

    let server = ApiServer::start().unwrap();
    for index in 0..objects {
        server.create(map(index)).unwrap();
    }
    server.create_sample_pods(pods).unwrap();
    report(&format!("LIST of {objects} config maps"), ask(&server, MAPS, "", "items", objects));
    report(&format!("LIST of {pods} pods of 11 KB"), ask(&server, PODS, "", "items", pods));
    report(&format!("Table of {pods} pods"), ask(&server, PODS, TABLE, "rows", pods));
    drop(server);
    report(&format!("{watches} watches get {events} events each"), watch(watches, events));
}

fn report(what: &str, took: Duration) {
    println!("{what:<40} {:>8.1} ms", took.as_secs_f64() * 1e3);
}

/// The median time of a GET, from the first byte sent to the last one read.
fn ask(server: &ApiServer, target: &str, headers: &str, member: &str, count: usize) -> Duration {
    let mut http = Http::connect(server);
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let answer = http.ask("GET", target, headers, b"");
            let took = start.elapsed();
            assert_eq!(answer.json()[member].as_array().map(Vec::len), Some(count), "{target}");
            took
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

/// The time from the first change until the last watch has seen the last one.
fn watch(watches: usize, events: usize) -> Duration {
    let server = ApiServer::start().unwrap();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", server.resource_version());
    let mut running: Vec<Watch> = (0..watches).map(|_| Watch::start(&server, &target)).collect();
    eventually("all watches run", || server.watches() == watches);
    let start = Instant::now();
    for index in 0..events {
        server.create(map(index)).unwrap();
    }
    for watch in &mut running {
        for index in 0..events {
            assert_eq!(watch.brief(), format!("ADDED m{index:05}"), "in order");
        }
    }
    start.elapsed()
}

fn map(index: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{index:05}")},
        "data": {"k": "v"}})
}
