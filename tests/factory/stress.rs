//! Everything at once, from many threads: nobody waits for ever, and nothing is left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{
    ApiResource, Event, FactoryHandle, Selection, SharedInformer, SharedInformerFactory,
};

use crate::support::{LIMIT, builder, factory, put, server, wait_until};

const THREADS: u64 = 6;
const ROUNDS: u64 = 60;

/// A fixed sequence for each seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// One of three informers.
fn some(factory: &SharedInformerFactory, dice: &mut Dice) -> SharedInformer {
    let maps = ApiResource::of::<ConfigMap>();
    match dice.roll(3) {
        0 => factory.informer::<ConfigMap>().cast(),
        1 => factory.informer::<Secret>().cast(),
        _ => factory.informer_of(&maps, &Selection::new().namespace("a")),
    }
}

/// What a handler does with its factory: holds `life` for as long as the handler is.
fn meddling(handle: FactoryHandle, life: Arc<()>, seed: u64) -> impl FnMut(Event) + Send {
    let mut dice = Dice(seed);
    move |_| {
        let _held = &life;
        let Some(factory) = handle.upgrade() else { return };
        match dice.roll(8) {
            0 => drop(factory.stop_informer(&some(&factory, &mut dice))),
            1 => drop(factory.lease::<Secret>()),
            2 => drop(factory.start()),
            3 => drop(factory.status().to_string()),
            4 => drop(some(&factory, &mut dice)),
            _ => {}
        }
    }
}

fn meddle(factory: &SharedInformerFactory, life: &Arc<()>, seed: u64) {
    let mut dice = Dice(seed);
    let mut leases = Vec::new();
    for _ in 0..ROUNDS {
        match dice.roll(9) {
            0 | 1 => {
                let handler = meddling(factory.handle(), life.clone(), dice.0);
                // Somebody may have stopped it by now.
                let _ = some(factory, &mut dice).on_event_named("meddling", handler);
            }
            2 => drop(factory.stop_informer(&some(factory, &mut dice))),
            3 => leases.extend(factory.lease::<ConfigMap>()),
            4 => leases.extend(leases.last().cloned()),
            5 => drop(leases.pop()),
            6 => drop(factory.wait_for_cache_sync(Duration::from_millis(1))),
            7 => some(factory, &mut dice).stop(),
            _ => drop(factory.status().to_string()),
        }
        let _ = factory.start();
    }
}

#[test]
fn whatever_threads_and_handlers_do_a_shutdown_leaves_no_handler() {
    for round in 0..3 {
        let server = server();
        for n in 0..5 {
            put(&server, "a", &format!("m{n}"));
        }
        let (factory, life) = (factory(&server), Arc::new(()));
        let over = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (factory, life, over) = (&factory, &life, &over);
                scope.spawn(move || {
                    meddle(factory, life, round * THREADS + thread);
                    over.fetch_add(1, Ordering::SeqCst);
                });
            }
            scope.spawn(|| {
                // In the last round, while they are at it.
                wait_until("all are done", || over.load(Ordering::SeqCst) == THREADS || round == 2);
                factory.shutdown().unwrap();
                if round < 2 {
                    assert_eq!(Arc::strong_count(&life), 1, "handlers are left");
                }
            });
        });
        factory.shutdown().unwrap();
        assert_eq!(Arc::strong_count(&life), 1, "handlers are left");
        wait_until("no watch", || server.watches() == 0);
    }
}

#[test]
fn many_threads_may_shut_down_at_once() {
    for _ in 0..20 {
        let server = server();
        put(&server, "a", "m");
        let (factory, life) = (builder(&server).build(), Arc::new(()));
        for _ in 0..2 {
            let held = life.clone();
            factory.informer::<ConfigMap>().on_event(move |_| drop(held.clone())).unwrap();
        }
        let lease = factory.lease::<Secret>().unwrap();
        factory.start().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    factory.shutdown_timeout(LIMIT).unwrap();
                    assert_eq!(Arc::strong_count(&life), 1, "each returns when all have stopped");
                });
            }
            scope.spawn(move || drop(lease));
        });
    }
}
