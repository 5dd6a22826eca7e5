//! What handlers see under load: every event, how late, and what one that is too slow costs.
//!
//! `cargo bench --bench delivery` (a minute and a half), `-- --seconds 10` for less. The embedded server
//! is in the same process, and its time counts.

#![allow(clippy::unwrap_used, reason = "a program that measures")]
#![allow(clippy::disallowed_methods, reason = "it paces itself, and its slow handler sleeps")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{Client, Event, ListWatch, Object, SharedInformer, testing::ApiServer};
use parking_lot::Mutex;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(120);
const OBJECTS: u64 = 1_000;

fn main() {
    let seconds = seconds();
    let flood = Load { rate: 10_000, lasts: seconds, handlers: 10, slow: false };
    println!("{} events/s to {} handlers for {seconds} s", flood.rate, flood.handlers);
    flood.run();
    let trickle = Load { rate: 1_000, lasts: seconds / 3 + 1, handlers: 3, slow: true };
    println!("\n{} events/s to 3 handlers and one that sleeps a second for each", trickle.rate);
    trickle.run();
}

/// A minute; a second if `cargo test --benches` only wants to know that it runs.
fn seconds() -> u64 {
    let arguments: Vec<_> = std::env::args().collect();
    let asked = arguments.iter().position(|argument| argument == "--seconds");
    match asked.and_then(|at| arguments.get(at + 1)) {
        Some(seconds) => seconds.parse().unwrap(),
        None if arguments.iter().any(|argument| argument == "--bench") => 60,
        None => 1,
    }
}

struct Load {
    /// Events a second.
    rate: u64,
    /// In seconds.
    lasts: u64,
    handlers: usize,
    /// Whether there is one more that sleeps.
    slow: bool,
}

/// What one handler has seen.
#[derive(Default)]
struct Seen {
    count: u64,
    /// In microseconds, of every event.
    delays: Vec<u32>,
}

impl Load {
    fn run(&self) {
        let server = ApiServer::builder().history(20_000).start().unwrap();
        for index in 0..OBJECTS {
            server.create(map(index, 0)).unwrap();
        }
        let client = Client::new(server.config()).unwrap();
        let source = ListWatch::<ConfigMap>::from_client(&client, None);
        let informer = SharedInformer::builder(source).build().unwrap();
        let start = Instant::now();
        let seen: Vec<_> = (0..self.handlers).map(|_| listen(&informer, start)).collect();
        let handled = Arc::new(AtomicU64::new(0));
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        if self.slow {
            let handled = handled.clone();
            let sleepy = informer.on_event(move |_| {
                sleep(Duration::from_secs(1));
                handled.fetch_add(1, Ordering::Relaxed);
            });
            drop(sleepy.unwrap());
        }
        let before = resident();
        let total = self.rate * self.lasts;
        let began = Instant::now();
        for n in 0..total {
            let due = Duration::from_nanos(n * 1_000_000_000 / self.rate);
            let early = due.saturating_sub(began.elapsed());
            // Not for every event: a system wakes nobody to the microsecond.
            if early > Duration::from_millis(1) {
                sleep(early);
            }
            server.update(map(n % OBJECTS, start.elapsed().as_micros() as u64 + 1)).unwrap();
        }
        let took = began.elapsed();
        println!(
            "written: {total} in {:.1} s, {:.0}/s",
            took.as_secs_f64(),
            total as f64 / took.as_secs_f64()
        );
        if self.slow {
            let status = informer.status();
            let slow = status.handlers.last().unwrap();
            println!(
                "the slow one: {} told, {} wait, the oldest for {:.1} s, its call for {:.1} s",
                handled.load(Ordering::Relaxed),
                slow.pending,
                slow.oldest_pending.unwrap_or_default().as_secs_f64(),
                slow.busy_for.unwrap_or_default().as_secs_f64()
            );
            let bytes = (resident() - before) as f64 * 1024.0 / slow.pending as f64;
            println!(
                "resident: {} KB more, {bytes:.0} bytes for each event that waits",
                resident() - before
            );
        }
        let complete = |seen: &Arc<Mutex<Seen>>| seen.lock().count == total;
        let waited = Instant::now();
        while !seen.iter().all(complete) {
            let counts: Vec<_> = seen.iter().map(|seen| seen.lock().count).collect();
            assert!(waited.elapsed() < LIMIT, "of {total} events: {counts:?}");
            sleep(Duration::from_millis(5));
        }
        let mut delays: Vec<u32> = Vec::new();
        for seen in &seen {
            delays.append(&mut seen.lock().delays);
        }
        delays.sort_unstable();
        let at = |part: f64| f64::from(delays[((delays.len() - 1) as f64 * part) as usize]) / 1e3;
        println!(
            "told: {} events, none lost; delay from the write to the handler: median {:.2} ms, \
             99th percentile {:.2} ms, worst {:.2} ms",
            delays.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
        assert_eq!(informer.status().lists, 1, "{:?}", informer.status());
    }
}

fn listen(informer: &SharedInformer<ConfigMap>, start: Instant) -> Arc<Mutex<Seen>> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let noting = seen.clone();
    informer
        .on_event(move |event: Event<ConfigMap>| {
            let Event::Updated { new, .. } = event else { return };
            let delay = (start.elapsed().as_micros() as u64).saturating_sub(written_at(&new));
            let mut seen = noting.lock();
            seen.count += 1;
            seen.delays.push(delay as u32);
        })
        .unwrap();
    seen
}

fn map(index: u64, at: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("m{index:05}"), "annotations": {"at": at.to_string()}},
        "data": {"value": "x".repeat(200)}})
}

/// In microseconds since the start.
fn written_at(object: &Object<ConfigMap>) -> u64 {
    object.annotations().get("at").unwrap().parse().unwrap()
}

/// In KB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
