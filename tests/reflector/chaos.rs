//! Everything goes wrong at random, and in the end the store is as the server is.
//!
//! The seed is printed; `KINFORMER_CHAOS_SEED` sets it, `KINFORMER_CHAOS_SECONDS` how long it goes on.

use std::{
    collections::HashMap,
    sync::Arc,
    thread::{JoinHandle, Scope},
    time::{Duration, Instant, SystemTime},
};

use kinformer::{
    Client, Object, ReflectorBuilder, StopToken,
    cache::{Delta, DeltaFifo, Store, meta_namespace_key},
    config::Timeouts,
    testing::{ApiServer, Fault, Moment, StatusFault, StatusForm, Verb, When},
};
use parking_lot::Mutex;

use crate::{
    mirror::{Mirror, delete, put, server_versions, versions},
    proxy::Proxy,
    support::{eventually, pauses},
};

const NAMES: u64 = 40;

/// Numbers that look random and come from a seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}

/// A queue with its consumer, which keeps a store and checks what happens to each key.
struct Consumer {
    fifo: Arc<DeltaFifo<Object>>,
    store: Store<Object>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    /// Adds and deletes by key.
    lives: HashMap<String, (u64, u64)>,
    updates: u64,
    wrong: Vec<String>,
}

impl Consumer {
    fn start() -> Self {
        let store = Store::new(meta_namespace_key);
        let fifo: DeltaFifo<Object> =
            DeltaFifo::builder(meta_namespace_key).known_objects(store.clone()).build();
        let (fifo, seen) = (Arc::new(fifo), Arc::new(Mutex::new(Seen::default())));
        let thread = {
            let (fifo, store, seen) = (fifo.clone(), store.clone(), seen.clone());
            std::thread::spawn(move || {
                while fifo
                    .pop_with(|popped| {
                        for delta in &popped.deltas {
                            seen.lock().take(popped.key.as_str(), delta, &store);
                        }
                    })
                    .is_some()
                {}
            })
        };
        Self { fifo, store, seen, thread: Some(thread) }
    }

    fn end(&mut self) {
        self.fifo.close();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Seen {
    /// Applies a change; a life is one add, some updates, one delete.
    fn take(&mut self, key: &str, delta: &Delta<Object>, store: &Store<Object>) {
        let before = store.get_by_key(key);
        let (adds, deletes) = self.lives.entry(key.to_owned()).or_default();
        match delta {
            Delta::Deleted(deleted) => {
                if before.is_none() {
                    self.wrong.push(format!("{key} was deleted without being there"));
                }
                if deleted.object().is_none() {
                    self.wrong.push(format!("{key} was deleted without its last state"));
                }
                *deletes += 1;
                store.delete_by_key(key);
            }
            Delta::Added(object)
            | Delta::Updated(object)
            | Delta::Replaced(object)
            | Delta::Sync(object) => {
                match before {
                    None => *adds += 1,
                    Some(before) => {
                        self.updates += 1;
                        if number(object) < number(&before) {
                            let (new, old) = (number(object), number(&before));
                            self.wrong.push(format!("{key} went back from {old} to {new}"));
                        }
                    }
                }
                store.add(object.clone());
            }
        }
    }
}

fn number(object: &Object) -> u64 {
    object.resource_version().parse().unwrap()
}

#[test]
fn whatever_goes_wrong_the_store_ends_as_the_server_is() {
    let seed = std::env::var("KINFORMER_CHAOS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64 % 1_000_000_000
    });
    let seconds = std::env::var("KINFORMER_CHAOS_SECONDS").ok().and_then(|text| text.parse().ok());
    println!("KINFORMER_CHAOS_SEED={seed}");
    chaos(seed, Duration::from_secs(seconds.unwrap_or(10)));
}

fn chaos(seed: u64, lasts: Duration) {
    let server = ApiServer::builder()
        .history(500)
        .bookmark_interval(Duration::from_millis(200))
        .start()
        .unwrap();
    let proxy = Proxy::start(&server);
    let mut timeouts = Timeouts::default();
    timeouts.list_page = Duration::from_millis(1500);
    timeouts.watch_idle = Duration::from_millis(500);
    timeouts.list_idle = Duration::from_millis(500);
    let config = proxy.config().timeouts(timeouts).max_retries(2).build().unwrap();
    let client = Client::new(config).unwrap();

    type Change = fn(
        ReflectorBuilder<kinformer::DynamicObject>,
    ) -> ReflectorBuilder<kinformer::DynamicObject>;
    let ways: [(&str, Change); 3] = [
        ("streamed", |builder| builder.stream_silence(Duration::from_millis(500))),
        ("plain", |builder| builder.streamed_lists(false)),
        ("paged", |builder| builder.streamed_lists(false).page_size(7)),
    ];
    let mut consumers: Vec<_> = ways.iter().map(|_| Consumer::start()).collect();
    let start = |way: Change, consumer: &Consumer| {
        Mirror::into(&client, consumer.fifo.clone(), |builder| {
            way(builder.backoff(pauses(5, 1.5, 50)).watch_silence(Duration::from_millis(400)))
        })
    };
    let stop = StopToken::new();
    let mut failures = 0;
    std::thread::scope(|scope| {
        write(scope, &server, &stop, seed);
        spoil(scope, &server, &proxy, &stop, seed);
        let mut mirrors: Vec<_> =
            ways.iter().zip(&consumers).map(|((_, way), consumer)| start(*way, consumer)).collect();
        let end = Instant::now() + lasts;
        let mut dice = Dice::new(seed ^ 3);
        while Instant::now() < end {
            let _ = stop.wait_timeout(Duration::from_millis(300 + dice.roll(1500)));
            // A new reflector takes over a queue, and knows nothing of servers that do not stream.
            let which = if dice.roll(2) == 0 { 0 } else { dice.roll(3) as usize };
            failures += mirrors[which].errors().len();
            mirrors[which].end();
            mirrors[which] = start(ways[which].1, &consumers[which]);
        }
        stop.stop();
        server.clear_faults();
        for ((name, _), consumer) in ways.iter().zip(&consumers) {
            eventually(&format!("{name}, seed {seed}"), || {
                versions(&consumer.store) == server_versions(&server)
            });
        }
        for mirror in &mut mirrors {
            failures += mirror.errors().len();
            mirror.end();
        }
    });
    for ((name, _), consumer) in ways.iter().zip(&mut consumers) {
        consumer.end();
        let seen = consumer.seen.lock();
        assert!(seen.wrong.is_empty(), "{name}, seed {seed}: {:#?}", seen.wrong);
        let there: Vec<_> = consumer.store.list_keys();
        for (key, (adds, deletes)) in &seen.lives {
            let alive = u64::from(there.iter().any(|there| there.as_str() == key));
            assert_eq!(*adds, deletes + alive, "{name}, seed {seed}: {key}");
        }
        let (adds, deletes) =
            seen.lives.values().fold((0, 0), |sum, life| (sum.0 + life.0, sum.1 + life.1));
        println!("{name}: {adds} adds, {} updates, {deletes} deletes", seen.updates);
        assert!(adds > 0 && seen.updates > 0 && deletes > 0, "{name}: nothing happened");
    }
    println!("{failures} failures told, {} requests", server.requests().len());
}

/// Creates, changes and deletes until it is stopped.
fn write<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope ApiServer,
    stop: &'scope StopToken,
    seed: u64,
) {
    scope.spawn(move || {
        let mut dice = Dice::new(seed ^ 1);
        let mut there = [false; NAMES as usize];
        while !stop.wait_timeout(Duration::from_millis(dice.roll(5))) {
            let name = dice.roll(NAMES);
            let is_there = &mut there[name as usize];
            if *is_there && dice.roll(3) == 0 {
                delete(server, &format!("c{name}"));
                *is_there = false;
            } else {
                put(server, &format!("c{name}"), &dice.roll(1_000_000).to_string());
                *is_there = true;
            }
        }
    });
}

/// Makes things go wrong until it is stopped.
fn spoil<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope ApiServer,
    proxy: &'scope Proxy,
    stop: &'scope StopToken,
    seed: u64,
) {
    scope.spawn(move || {
        let mut dice = Dice::new(seed ^ 2);
        while !stop.wait_timeout(Duration::from_millis(dice.roll(60))) {
            match dice.roll(12) {
                0 => server.compact(),
                1 => server.drop_connections(),
                2 => proxy.go_silent(),
                3 => proxy.swallow(1),
                _ if server.pending_faults() > 5 => server.clear_faults(),
                _ => {
                    let fault = fault(&mut dice);
                    let verb = if dice.roll(3) == 0 { Verb::List } else { Verb::Watch };
                    let times = 1 + dice.roll(2) as u32;
                    let when = When::any().verb(verb).resource("configmaps").times(times);
                    server.inject(when, fault);
                }
            }
        }
    });
}

fn fault(dice: &mut Dice) -> Fault {
    let events = dice.roll(8) as u32;
    let at = match dice.roll(4) {
        0 => Moment::BeforeHead,
        1 => Moment::AfterHead,
        2 => Moment::AfterBytes(dice.roll(3000) as usize),
        _ => Moment::AfterEvents(events),
    };
    let codes = [400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504];
    let code = codes[dice.roll(codes.len() as u64) as usize];
    match dice.roll(14) {
        0 => Fault::status(code),
        1 => Fault::Status(StatusFault::new(code).retry_after(0)),
        2 => Fault::Status(StatusFault::new(429).retry_after(dice.roll(2) as u32)),
        3 => {
            let forms = [StatusForm::Pretty, StatusForm::Text, StatusForm::Html];
            Fault::Status(StatusFault::new(code).form(forms[dice.roll(3) as usize]))
        }
        4 => Fault::Reset { at },
        5 => Fault::Close { at },
        6 => Fault::Hang { at },
        7 => Fault::TruncateChunk { after_events: events },
        8 => Fault::Garbage { after_events: events },
        9 => Fault::WithholdBookmarks { initial: dice.roll(2) == 0 },
        10 => Fault::ExpireContinue,
        11 => Fault::expired_after(events),
        12 => Fault::WatchError { after_events: events, status: StatusFault::new(code) },
        _ => Fault::CorruptGzip { after_events: events },
    }
}
