//! What the C interface costs: a callback beside a Rust handler, allocations of a list, copies of JSON.
//!
//! `cargo bench --bench capi` prints each figure with its budget, and fails if one is exceeded; `cargo test --benches`
//! holds all of them but that of time. The functions are called as C calls them.

#![expect(unsafe_code, reason = "C, and a global allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    ffi::{c_char, c_void},
    ptr::{null, null_mut},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Client, Event, Registration, SharedInformer, SharedInformerFactory,
    testing::ApiServer,
};

/// What a callback may cost more than a handler in Rust, in nanoseconds.
const OVERHEAD: f64 = 200.0;

/// Where one object is that no other is like: it is kept whole.
const ALONE: &str = "kube-system";

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);

type Handle = *mut c_void;

unsafe extern "C" {
    fn kinf_config_new(url: *const c_char, n: usize, config: *mut Handle, e: *mut Handle) -> i32;
    fn kinf_client_new(config: Handle, client: *mut Handle, error: *mut Handle) -> i32;
    fn kinf_factory_new(client: Handle, o: Handle, factory: *mut Handle, e: *mut Handle) -> i32;
    fn kinf_factory_informer_for(
        factory: Handle,
        group: *const c_char,
        group_length: usize,
        version: *const c_char,
        version_length: usize,
        plural: *const c_char,
        plural_length: usize,
        selection: Handle,
        informer: *mut Handle,
        error: *mut Handle,
    ) -> i32;
    fn kinf_factory_start(factory: Handle, error: *mut Handle) -> i32;
    fn kinf_factory_wait_for_sync(factory: Handle, timeout_ms: i64, error: *mut Handle) -> i32;
    fn kinf_informer_on_event(
        informer: Handle,
        callback: extern "C" fn(Handle, Handle),
        user: Handle,
        free_user: Handle,
        resync_ms: i64,
        registration: *mut Handle,
        error: *mut Handle,
    ) -> i32;
    fn kinf_registration_has_synced(registration: Handle) -> bool;
    fn kinf_registration_remove(registration: Handle);
    fn kinf_registration_free(registration: Handle);
    fn kinf_informer_list(
        informer: Handle,
        ns: *const c_char,
        ns_length: usize,
        labels: *const c_char,
        labels_length: usize,
        list: *mut Handle,
        error: *mut Handle,
    ) -> i32;
    fn kinf_list_count(list: Handle) -> usize;
    fn kinf_list_at(list: Handle, at: usize) -> Handle;
    fn kinf_list_free(list: Handle);
    fn kinf_object_json(object: Handle, length: *mut usize) -> *const c_char;
    fn kinf_object_get(
        object: Handle,
        pointer: *const c_char,
        pointer_length: usize,
        value: *mut Value,
        error: *mut Handle,
    ) -> i32;
    fn kinf_informer_free(informer: Handle);
    fn kinf_factory_free(factory: Handle);
    fn kinf_client_free(client: Handle);
    fn kinf_config_free(config: Handle);
}

/// As `kinf_value`.
#[repr(C)]
struct Value {
    kind: i32,
    json: *const c_char,
    length: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --benches` only wants to know that it runs.
    let real = std::env::args().any(|argument| argument == "--bench");
    let (objects, repeats) = if real { (20_000, 40) } else { (200, 2) };
    let server = ApiServer::start()?;
    let client = Client::new(server.config())?;
    let resource = ApiResource::namespaced("v1", "ConfigMap", "configmaps");
    let maps = client.dynamic(&resource).namespace("default");
    for number in 0..objects {
        let map =
            serde_json::json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "v"}});
        maps.create(&map)?;
    }
    let map = serde_json::json!({"metadata": {"name": "alone"}, "data": {"k": "v"}});
    client.dynamic(&resource).namespace(ALONE).create(&map)?;
    let objects = objects + 1;
    let factory = SharedInformerFactory::new(client);
    let rust: SharedInformer = factory.informer_for(&resource);
    factory.start()?;
    factory.wait_for_cache_sync(LIMIT)?;
    let c = FromC::start(&server.url());

    let overhead = callback(&rust, &c, objects, repeats)?;
    assert!(!real || overhead <= OVERHEAD, "{overhead} ns are more than {OVERHEAD}");
    list(&c, objects);
    json(&c);
    Ok(())
}

/// What an event costs a C callback more than a Rust handler: the best of many runs of each, in turn.
fn callback(
    rust: &SharedInformer,
    c: &FromC,
    objects: usize,
    repeats: usize,
) -> kinformer::Result<f64> {
    let (mut best_rust, mut best_c) = (f64::MAX, f64::MAX);
    for _ in 0..repeats {
        SPAN.clear();
        let registration: Registration = rust.on_event(|event: Event| {
            SPAN.tick();
            drop(event);
        })?;
        wait(|| registration.has_synced());
        registration.remove();
        best_rust = best_rust.min(SPAN.nanoseconds_each(objects));

        SPAN.clear();
        let registration = c.listen(on_event);
        // SAFETY: a registration that was just given, freed once.
        unsafe {
            wait(|| kinf_registration_has_synced(registration));
            kinf_registration_remove(registration);
            kinf_registration_free(registration);
        }
        best_c = best_c.min(SPAN.nanoseconds_each(objects));
    }
    println!("event {best_rust:.0} ns to a Rust handler, {best_c:.0} ns to a C callback");
    report("callback_overhead", best_c - best_rust, "ns", &format!("at most {OVERHEAD}"));
    Ok(best_c - best_rust)
}

extern "C" fn on_event(_user: Handle, _event: Handle) {
    SPAN.tick();
}

/// What a list of everything allocates.
fn list(c: &FromC, objects: usize) {
    for at in 0..2 {
        let before = BLOCKS.get();
        let list = c.list("");
        let [all, large] = [0, 1].map(|kind| BLOCKS.get()[kind] - before[kind]);
        // SAFETY: a list that was just given, freed once.
        unsafe {
            assert_eq!(kinf_list_count(list), objects);
            kinf_list_free(list);
        }
        if at > 0 {
            println!("list of {objects}: {all} allocations in all");
            report("list_blocks", large as f64, "blocks over 1 KB", "1");
            assert!(large == 1 && all < 16, "one block, and a few that do not grow with the list");
        }
    }
}

/// What reading the text of an object allocates.
fn json(c: &FromC) {
    let list = c.list(ALONE);
    let pointer = "/data/k";
    // SAFETY: handles that are freed below; the value is one of C.
    unsafe {
        let object = kinf_list_at(list, 0);
        let mut value = Value { kind: 0, json: null(), length: 0 };
        let mut length = 0;
        let [before, _] = BLOCKS.get();
        let text = kinf_object_json(object, &raw mut length);
        let (data, n) = (pointer.as_ptr().cast(), pointer.len());
        let status = kinf_object_get(object, data, n, &raw mut value, null_mut());
        let allocations = BLOCKS.get()[0] - before;
        assert!(status == 0 && value.length == 3 && length > 50);
        let inside = value.json >= text && value.json < text.add(length);
        assert!(inside && value.kind == 3, "the value is inside the text");
        report("json_allocations", allocations as f64, "", "0");
        assert_eq!(allocations, 0, "nothing is copied");
        kinf_list_free(list);
    }
}

fn wait(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LIMIT);
        std::thread::yield_now();
    }
}

fn report(name: &str, value: f64, unit: &str, budget: &str) {
    println!("{name} {value:.0} {unit} (budget: {budget})");
}

/// An informer as a C program has it.
struct FromC {
    config: Handle,
    client: Handle,
    factory: Handle,
    informer: Handle,
}

impl FromC {
    fn start(url: &str) -> Self {
        let mut c = Self {
            config: null_mut(),
            client: null_mut(),
            factory: null_mut(),
            informer: null_mut(),
        };
        let (version, plural) = ("v1", "configmaps");
        // SAFETY: texts with their lengths, and places for handles.
        unsafe {
            let (data, n) = (url.as_ptr().cast(), url.len());
            assert_eq!(kinf_config_new(data, n, &raw mut c.config, null_mut()), 0);
            assert_eq!(kinf_client_new(c.config, &raw mut c.client, null_mut()), 0);
            let options = null_mut();
            assert_eq!(kinf_factory_new(c.client, options, &raw mut c.factory, null_mut()), 0);
            let made = kinf_factory_informer_for(
                c.factory,
                null(),
                0,
                version.as_ptr().cast(),
                version.len(),
                plural.as_ptr().cast(),
                plural.len(),
                null_mut(),
                &raw mut c.informer,
                null_mut(),
            );
            assert_eq!(made, 0);
            assert_eq!(kinf_factory_start(c.factory, null_mut()), 0);
            assert_eq!(kinf_factory_wait_for_sync(c.factory, 120_000, null_mut()), 0);
        }
        c
    }

    fn listen(&self, callback: extern "C" fn(Handle, Handle)) -> Handle {
        let mut registration = null_mut();
        let (user, free) = (null_mut(), null_mut());
        let place = &raw mut registration;
        // SAFETY: the callback takes what it is given, and there is nothing to free.
        let status = unsafe {
            kinf_informer_on_event(self.informer, callback, user, free, 0, place, null_mut())
        };
        assert_eq!(status, 0);
        registration
    }

    /// The objects of a namespace; empty for all.
    fn list(&self, namespace: &str) -> Handle {
        let mut list = null_mut();
        let place = &raw mut list;
        let (data, n) = (namespace.as_ptr().cast(), namespace.len());
        // SAFETY: a text, one that is left out, and a place for the handle.
        let status =
            unsafe { kinf_informer_list(self.informer, data, n, null(), 0, place, null_mut()) };
        assert_eq!(status, 0);
        list
    }
}

impl Drop for FromC {
    fn drop(&mut self) {
        // SAFETY: each was given once, and is freed once.
        unsafe {
            kinf_informer_free(self.informer);
            kinf_factory_free(self.factory);
            kinf_client_free(self.client);
            kinf_config_free(self.config);
        }
    }
}

/// When a handler was first and last called.
struct Span {
    epoch: std::sync::LazyLock<Instant>,
    first: AtomicU64,
    last: AtomicU64,
}

static SPAN: Span = Span {
    epoch: std::sync::LazyLock::new(Instant::now),
    first: AtomicU64::new(0),
    last: AtomicU64::new(0),
};

impl Span {
    fn clear(&self) {
        self.first.store(0, Ordering::Relaxed);
    }

    fn tick(&self) {
        let now = self.epoch.elapsed().as_nanos() as u64 + 1;
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(now, Ordering::Relaxed);
        }
        self.last.store(now, Ordering::Relaxed);
    }

    fn nanoseconds_each(&self, events: usize) -> f64 {
        let span = self.last.load(Ordering::Relaxed) - self.first.load(Ordering::Relaxed);
        span as f64 / (events - 1) as f64
    }
}

thread_local! {
    /// How many blocks this thread has allocated, and how many of more than 1 KB.
    static BLOCKS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

fn count(size: usize) {
    let [all, large] = BLOCKS.get();
    BLOCKS.set([all + 1, large + u64::from(size > 1024)]);
}
