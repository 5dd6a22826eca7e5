//! What objects cost: memory of a cached pod, speed of ingest, pruning, allocations of a watch event.
//!
//! `cargo bench --bench object` prints each figure with its budget, and fails if one is exceeded. The pods are those of the embedded
//! API server: as a real one sends them, 11 to 12 KB each, nearly half of it `managedFields`.

#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    hint::black_box,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Pod;
use kinformer::{
    ApiResource, Client, ListWatch, Object, SharedInformer,
    cache::{Indexer, Indexers},
    config::Config,
    fuzzing::{objects_of_list, pruned_objects_of_list},
    testing::ApiServer,
};
use parking_lot::{Condvar, Mutex};

/// For how long ingest is repeated.
const TIME: Duration = Duration::from_secs(1);

/// What somebody leaves out who wants to know where pods run.
const PRUNED: [&str; 3] = ["/metadata/annotations", "/spec/containers/*/env", "/status/conditions"];

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --benches` only wants to know that it runs.
    let real = std::env::args().any(|argument| argument == "--bench");
    let scale = if real { 1 } else { 100 };
    // Most workloads are small; those that matter for memory are not.
    for replicas in [1, 2, 5] {
        let body = list_of_pods(2_000 / scale, replicas)?;
        memory(&body, replicas);
        ingest(&body, replicas);
    }
    let body = list_of_pods(2_000 / scale, 40)?;
    let (cached, text) = memory(&body, 40);
    let speed = ingest(&body, 40);
    let pruning = pruning(&body);
    // A few pods say little about what each of many takes, and a debug build nothing about speed.
    if real {
        assert!(cached <= 2_000.0 && cached <= text + 1_200.0, "{cached} bytes for {text} of text");
        assert!(speed >= 250.0, "{speed} MB/s");
        assert!(pruning <= 2.0, "{pruning} of the time without");
    }
    watch_event(&body, 5_000 / scale)
}

/// A list of pods, in workloads of so many each.
fn list_of_pods(count: usize, replicas: usize) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let server = ApiServer::start()?;
    server.create_sample_workloads(count, replicas)?;
    Ok(Client::new(server.config())?.get_raw("/api/v1/pods")?)
}

/// What a cached pod takes, text and all; and its text.
fn memory(body: &[u8], replicas: usize) -> (f64, f64) {
    let indexer: Indexer<Object<Pod>> = Indexer::of_objects(Indexers::new());
    let before = IN_USE.load(Ordering::Relaxed);
    for pod in objects_of_list(&ApiResource::of::<Pod>(), body) {
        indexer.add(pod);
    }
    let after = IN_USE.load(Ordering::Relaxed);
    let pods = indexer.list();
    let count = pods.len() as f64;
    let text = pods.iter().map(|pod| pod.json().len()).sum::<usize>() as f64 / count;
    let all = (after - before) as f64 / count;
    let (start, mut repeats) = (Instant::now(), 0);
    while start.elapsed() < TIME / 4 || repeats == 0 {
        pods.iter().for_each(|pod| drop(black_box(pod.json())));
        repeats += 1;
    }
    let each = start.elapsed().as_secs_f64() * 1e9 / (count * f64::from(repeats));
    report(&format!("json_of_one_of_{replicas}"), each, "ns", "none set");
    println!("text_of_a_pod {text:.0} bytes, most of them kept once for a workload");
    let budget = if replicas == 40 { "at most 2000" } else { "none set" };
    report(&format!("cached_pod_of_{replicas}"), all, "bytes", budget);
    (all, text)
}

/// From the body of a list to objects.
fn ingest(body: &[u8], replicas: usize) -> f64 {
    let (start, on_cpu, mut repeats) = (Instant::now(), time_on_cpu(), 0);
    while start.elapsed() < TIME || repeats == 0 {
        black_box(objects_of_list::<Pod>(&ApiResource::of::<Pod>(), body));
        repeats += 1;
    }
    let passed = start.elapsed().as_secs_f64();
    let seconds = on_cpu.and_then(|on_cpu| Some(time_on_cpu()? - on_cpu)).unwrap_or(passed);
    let megabytes = (repeats * body.len()) as f64 / 1e6;
    report(&format!("ingest_of_{replicas}"), megabytes / seconds, "MB/s", "at least 250");
    megabytes / seconds
}

/// What ingest takes when parts are left out, in what it takes when they are not: the fastest of many rounds of
/// each, in turns.
fn pruning(body: &[u8]) -> f64 {
    let round = |paths: &[&str]| {
        let (start, on_cpu) = (Instant::now(), time_on_cpu());
        black_box(pruned_objects_of_list::<Pod>(&ApiResource::of::<Pod>(), body, paths));
        let passed = start.elapsed().as_secs_f64();
        on_cpu.and_then(|on_cpu| Some(time_on_cpu()? - on_cpu)).unwrap_or(passed)
    };
    let (start, mut whole, mut pruned) = (Instant::now(), f64::MAX, f64::MAX);
    while start.elapsed() < 2 * TIME || whole == f64::MAX {
        whole = whole.min(round(&[]));
        pruned = pruned.min(round(&PRUNED));
    }
    report("pruning", pruned / whole, "of ingest without", "at most 2");
    pruned / whole
}

/// From the frame of a watch event to the handler of an informer, over a connection.
fn watch_event(body: &[u8], events: usize) -> Result<(), Box<dyn std::error::Error>> {
    let pods = objects_of_list::<Pod>(&ApiResource::of::<Pod>(), body);
    let frames: Vec<_> = (0..events).map(|n| frame("MODIFIED", &pods[n % pods.len()])).collect();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let config = Config::builder(format!("http://{}", listener.local_addr()?)).build()?;
    let informer =
        SharedInformer::builder(ListWatch::<Pod>::from_client(&Client::new(config)?, None))
            .build()?;
    let seen = Arc::new(Seen::default());
    informer.on_event({
        let seen = seen.clone();
        move |_| seen.one_more()
    })?;
    informer.start()?;
    let mut connection = serve(&listener)?;
    let mut send = |frame: &[u8]| -> io::Result<()> {
        write!(connection, "{:x}\r\n", frame.len())?;
        connection.write_all(frame)?;
        connection.write_all(b"\r\n")
    };
    for pod in &pods {
        send(&frame("ADDED", pod))?;
    }
    send(END_OF_LIST)?;
    seen.wait_for(pods.len());

    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for frame in &frames {
        send(frame)?;
    }
    seen.wait_for(pods.len() + events);
    let allocations = (ALLOCATIONS.load(Ordering::Relaxed) - before) as f64;
    report("watch_event", allocations / events as f64, "allocations", "none set");
    informer.stop();
    Ok(())
}

const END_OF_LIST: &[u8] = br#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;

fn frame(kind: &str, pod: &Object<Pod>) -> Vec<u8> {
    format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", pod.json()).into_bytes()
}

/// Answers a request for a streamed list, whose events are still to be written: by hand, so that no
/// allocation of a server counts.
fn serve(listener: &TcpListener) -> io::Result<TcpStream> {
    let (mut connection, _) = listener.accept()?;
    let mut request = BufReader::new(connection.try_clone()?).lines();
    while request.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    connection.write_all(head.as_bytes())?;
    Ok(connection)
}

/// How many events the handler has had.
#[derive(Default)]
struct Seen {
    count: Mutex<usize>,
    more: Condvar,
}

impl Seen {
    fn one_more(&self) {
        *self.count.lock() += 1;
        self.more.notify_all();
    }

    fn wait_for(&self, count: usize) {
        let mut seen = self.count.lock();
        let waited = self.more.wait_while_for(&mut seen, |seen| *seen < count, LIMIT);
        assert!(!waited.timed_out(), "the events did not come");
    }
}

fn report(name: &str, value: f64, unit: &str, budget: &str) {
    println!("{name} {value:.2} {unit} ({budget})");
}

/// The seconds that this thread has run so far, where the system tells.
fn time_on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

/// What glibc takes for a block: a word of its own, in steps of two.
fn taken(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        IN_USE.fetch_add(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        IN_USE.fetch_add(taken(size), Ordering::Relaxed);
        IN_USE.fetch_sub(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
