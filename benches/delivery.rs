//! What handlers see under load: every event, how late, and what one that is too slow costs.
//!
//! `cargo bench --bench delivery` (a minute and a half), `-- --seconds 10` for less. The embedded server
//! is in the same process, and its time counts.

#![expect(unsafe_code, reason = "a global allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a program that measures")]
#![allow(clippy::disallowed_methods, reason = "it paces itself, and its slow handler sleeps")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Client, Event, ListWatch, Object, Registration, SharedInformer, testing::ApiServer,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(120);
const OBJECTS: u64 = 1_000;

/// What one handler may be late by beside one that sleeps for a second at a time, at the 99th percentile.
const BESIDE_A_SLOW_ONE: Duration = Duration::from_secs(1);

/// What `docs/memory.md` says: of an event that waits, and of a state of its object besides its text.
const EVENT: f64 = 56.0;
const STATE: f64 = 500.0;

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
    /// Of each object, the number that its next event has.
    next: Vec<u64>,
    /// The first event that was not the next one.
    wrong: Option<String>,
    /// In microseconds, of every event.
    delays: Vec<u32>,
}

impl Seen {
    /// Changes go from object to object, so each has every thousandth number.
    fn note(&mut self, index: u64, number: u64, delay: u32) {
        let next = &mut self.next[index as usize];
        if number != *next && self.wrong.is_none() {
            self.wrong = Some(format!("of object {index}: {number} where {next} was due"));
        }
        *next = number + OBJECTS;
        self.count += 1;
        self.delays.push(delay);
    }
}

impl Load {
    fn run(&self) {
        let server = ApiServer::builder().history(20_000).start().unwrap();
        for index in 0..OBJECTS {
            server.create(map(index, 0, 0)).unwrap();
        }
        let client = Client::new(server.config()).unwrap();
        let source = ListWatch::<ConfigMap>::from_client(&client, None);
        let informer = SharedInformer::builder(source).build().unwrap();
        let start = Instant::now();
        let seen: Vec<_> = (0..self.handlers).map(|_| listen(&informer, start)).collect();
        let handled = Arc::new(AtomicU64::new(0));
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        let sleepy = self.slow.then(|| {
            let handled = handled.clone();
            let sleepy = informer.on_event(move |_| {
                sleep(Duration::from_secs(1));
                handled.fetch_add(1, Ordering::Relaxed);
            });
            sleepy.unwrap()
        });
        let total = self.rate * self.lasts;
        let began = Instant::now();
        for n in 0..total {
            let due = Duration::from_nanos(n * 1_000_000_000 / self.rate);
            let early = due.saturating_sub(began.elapsed());
            // Not for every event: a system wakes nobody to the microsecond.
            if early > Duration::from_millis(1) {
                sleep(early);
            }
            let at = start.elapsed().as_micros() as u64 + 1;
            server.update(map(n % OBJECTS, n, at)).unwrap();
        }
        let took = began.elapsed();
        println!(
            "written: {total} in {:.1} s, {:.0}/s",
            took.as_secs_f64(),
            total as f64 / took.as_secs_f64()
        );
        let complete = |seen: &Arc<Mutex<Seen>>| seen.lock().count == total;
        let waited = Instant::now();
        while !seen.iter().all(complete) {
            let counts: Vec<_> = seen.iter().map(|seen| seen.lock().count).collect();
            assert!(waited.elapsed() < LIMIT, "of {total} events: {counts:?}");
            sleep(Duration::from_millis(5));
        }
        for seen in &seen {
            assert_eq!(seen.lock().wrong, None, "an event is lost, or told twice");
        }
        if let Some(sleepy) = sleepy {
            weigh(&informer, sleepy, handled.load(Ordering::Relaxed));
        }
        let mut delays: Vec<u32> = Vec::new();
        for seen in &seen {
            delays.append(&mut seen.lock().delays);
        }
        delays.sort_unstable();
        let at = |part: f64| f64::from(delays[((delays.len() - 1) as f64 * part) as usize]) / 1e3;
        println!(
            "told: {} events, each once; delay from the write to the handler: median {:.2} ms, \
             99th percentile {:.2} ms, worst {:.2} ms",
            delays.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
        let late = Duration::from_secs_f64(at(0.99) / 1e3);
        assert!(!self.slow || late < BESIDE_A_SLOW_ONE, "{late:?} late beside a slow handler");
        assert_eq!(informer.status().lists, 1, "{:?}", informer.status());
    }
}

/// What waits for a slow handler, and what it held: that much is free when it is removed.
fn weigh(informer: &SharedInformer<ConfigMap>, sleepy: Registration, handled: u64) {
    let status = informer.status();
    let slow = status.handlers.iter().find(|handler| handler.name == sleepy.name()).unwrap();
    println!(
        "the slow one: {handled} told, {} wait, the oldest for {:.1} s, its call for {:.1} s",
        slow.pending,
        slow.oldest_pending.unwrap_or_default().as_secs_f64(),
        slow.busy_for.unwrap_or_default().as_secs_f64()
    );
    let text = informer.store().list()[0].json().len() as f64;
    let before = HELD.load(Ordering::Relaxed);
    sleepy.remove();
    let freed = before.saturating_sub(HELD.load(Ordering::Relaxed)) as f64;
    let each = freed / slow.pending as f64;
    println!(
        "held: {:.0} KB, {each:.0} bytes for each event; an object has {text:.0}",
        freed / 1e3
    );
    // A queue has room for twice as many at the most.
    let most = 2.0 * EVENT + text + STATE;
    assert!(
        (EVENT..most).contains(&each),
        "{each} bytes for each, {EVENT} to {most} are documented"
    );
}

fn listen(informer: &SharedInformer<ConfigMap>, start: Instant) -> Arc<Mutex<Seen>> {
    let next = (0..OBJECTS).collect();
    let seen = Arc::new(Mutex::new(Seen { next, ..Seen::default() }));
    let noting = seen.clone();
    informer
        .on_event(move |event: Event<ConfigMap>| {
            let Event::Updated { new, .. } = event else { return };
            let delay = (start.elapsed().as_micros() as u64).saturating_sub(number(&new, "at"));
            let index = new.name().trim_start_matches('m').parse().unwrap();
            noting.lock().note(index, number(&new, "number"), delay as u32);
        })
        .unwrap();
    seen
}

/// `at` is in microseconds since the start.
fn map(index: u64, number: u64, at: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("m{index:05}"),
            "annotations": {"at": at.to_string(), "number": number.to_string()}},
        "data": {"value": "x".repeat(200)}})
}

fn number(object: &Object<ConfigMap>, annotation: &str) -> u64 {
    object.annotations().get(annotation).unwrap().parse().unwrap()
}

/// Bytes that are allocated.
static HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_add(size, Ordering::Relaxed);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
