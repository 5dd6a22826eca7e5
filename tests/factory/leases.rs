//! Ending one informer while the others go on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{ApiResource, Decoded, InformerState, Selection, SharedInformer, StopToken};

use crate::support::{
    A_WHILE, LIMIT, builder, factory, keys, listen, put, server, sync, wait_until,
};

#[test]
fn a_stopped_informer_is_stopped_for_everybody_and_empty() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    let (other_handle, lister) = (maps.clone(), maps.lister());
    let events = listen(&maps);
    sync(&factory);
    wait_until("a watch each", || server.watches() == 2);
    assert!(factory.stop_informer(&maps));
    assert!(!factory.stop_informer(&maps), "it is gone");
    assert_eq!(other_handle.status().state, InformerState::Stopped);
    assert!(keys(&maps).is_empty() && lister.get("default/a").unwrap_err().is_not_found());
    assert_eq!(events.iter().count(), 1, "its handlers have been dropped");
    assert!(!secrets.is_stopped(), "the rest goes on");
    wait_until("one watch less", || server.watches() == 1);
    let again = factory.informer::<ConfigMap>();
    assert!(!again.is_same(&maps));
    sync(&factory);
    assert_eq!(keys(&again), ["default/a"]);
}

#[test]
fn only_informers_of_the_factory_are_stopped() {
    let server = server();
    let (one, other) = (factory(&server), factory(&server));
    let maps = one.informer::<ConfigMap>();
    assert!(!other.stop_informer(&maps));
    assert!(!maps.is_stopped());
}

#[test]
fn a_handler_may_stop_its_own_informer() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let handle = factory.handle();
    let (send, receive) = mpsc::channel();
    let own = maps.downgrade();
    maps.on_event(move |_| {
        let stopped = handle.upgrade().unwrap().stop_informer(&own.upgrade().unwrap());
        let _ = send.send(stopped);
    })
    .unwrap();
    factory.start().unwrap();
    assert!(receive.recv_timeout(LIMIT).unwrap());
    assert!(receive.recv_timeout(LIMIT).is_err(), "the handler has been dropped");
    assert!(maps.is_stopped() && keys(&maps).is_empty());
    assert!(!factory.informer::<ConfigMap>().is_stopped(), "a new one");
}

/// Also an index function, which is called by a thread of the informer itself.
#[test]
fn an_index_function_may_stop_its_informer() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let (handle, own) = (factory.handle(), maps.downgrade());
    let indexers = kinformer::cache::Indexers::new().with("own", move |_| {
        if let (Some(factory), Some(own)) = (handle.upgrade(), own.upgrade()) {
            factory.stop_informer(&own);
        }
        Vec::new()
    });
    maps.add_indexers(indexers).unwrap();
    factory.start().unwrap();
    wait_until("it has stopped", || maps.is_stopped());
    assert!(keys(&maps).is_empty(), "what came after the stop has been freed too");
}

#[test]
fn a_leased_informer_ends_with_its_last_lease() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let first = factory.lease::<ConfigMap>().unwrap();
    first.wait_for_sync(LIMIT).unwrap();
    let second = factory.lease::<ConfigMap>().unwrap();
    let third = second.clone();
    assert!(first.is_same(&second) && third.is_same(&first));
    let plain = first.cast::<ConfigMap>();
    drop((first, second));
    assert!(!plain.is_stopped() && keys(&plain) == ["default/a"], "one is left");
    drop(third);
    assert!(plain.is_stopped() && keys(&plain).is_empty());
    wait_until("no watch", || server.watches() == 0);
    let anew = factory.lease::<ConfigMap>().unwrap();
    anew.wait_for_sync(LIMIT).unwrap();
    assert!(!anew.is_same(&plain) && keys(&anew) == ["default/a"]);
}

#[test]
fn a_lease_does_not_end_what_the_factory_holds() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    drop(factory.lease::<ConfigMap>().unwrap());
    assert!(!maps.is_stopped());
    let leased = factory.lease::<Secret>().unwrap();
    let secrets = factory.informer::<Secret>();
    drop(leased);
    assert!(!secrets.is_stopped(), "somebody asked for it without a lease");
}

#[test]
fn a_lease_may_outlive_its_factory() {
    let server = server();
    let factory = factory(&server);
    let lease = factory.lease::<ConfigMap>().unwrap();
    drop(factory);
    assert!(lease.is_stopped());
    drop(lease.clone());
    drop(lease);
}

#[test]
fn leases_that_come_and_go_from_many_threads_leave_nothing() {
    let server = server();
    let factory = factory(&server);
    let maps = ApiResource::of::<ConfigMap>();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (factory, maps) = (&factory, &maps);
            scope.spawn(move || {
                for n in 0..10 {
                    let here = Selection::new().namespace(format!("n{}", (n + thread) % 2));
                    let lease = factory.lease_of::<ConfigMap>(maps, &here).unwrap();
                    assert!(!lease.is_stopped());
                }
            });
        }
    });
    wait_until("no watch", || server.watches() == 0);
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert!(factory.handle().upgrade().is_some());
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl<'de> serde::Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer)?;
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Ok(Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}
kinformer::resource!(Counted, "v1", "ConfigMap", "configmaps");

/// Decodes are kept with their objects here, so those alive are the objects alive.
#[test]
fn no_object_is_alive_after_its_informer_was_stopped() {
    let server = server();
    for n in 0..100 {
        put(&server, "default", &format!("a{n}"));
    }
    let factory = builder(&server).decoded(Decoded::Keep).build();
    let maps = factory.informer::<Counted>();
    let kept = Arc::new(AtomicUsize::new(0));
    let count = kept.clone();
    maps.on_event(move |event| {
        let _ = event.object().map(|object| object.get().is_ok());
        count.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    sync(&factory);
    assert_eq!((ALIVE.load(Ordering::SeqCst), kept.load(Ordering::SeqCst)), (100, 100));
    assert!(factory.stop_informer(&maps));
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0, "although there is a handle left");
}

/// The handler is inside a call, so the end of its informer takes a while.
#[test]
fn a_shutdown_waits_for_a_lease_that_is_being_dropped() {
    let server = server();
    put(&server, "default", "a");
    let factory = Arc::new(factory(&server));
    let lease = factory.lease::<ConfigMap>().unwrap();
    let (release, (entered, inside)) = (StopToken::new(), mpsc::channel());
    let (blocked, returned) = (release.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = returned.clone();
    lease
        .on_event_named("slow", move |_| {
            let _ = entered.send(());
            blocked.wait();
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    inside.recv_timeout(LIMIT).unwrap();
    let maps = SharedInformer::clone(&lease);
    let dropping = std::thread::spawn(move || drop(lease));
    wait_until("it is forgotten", || factory.status().informers.is_empty());
    let late = factory.shutdown_timeout(A_WHILE);
    release.stop();
    let late = late.unwrap_err();
    assert!(late.is_timeout() && late.to_string().contains("handler slow"), "{late}");
    factory.shutdown().unwrap();
    assert_eq!(returned.load(Ordering::SeqCst), 1);
    assert!(maps.is_stopped());
    dropping.join().unwrap();
}

/// A handler that stops its own informer is not waited for by that, but by the shutdown.
#[test]
fn a_shutdown_waits_for_a_handler_that_stopped_its_own_informer() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let (handle, own) = (factory.handle(), maps.downgrade());
    let (release, (entered, inside)) = (StopToken::new(), mpsc::channel());
    let blocked = release.clone();
    maps.on_event_named("late", move |_| {
        let stopped = handle.upgrade().unwrap().stop_informer(&own.upgrade().unwrap());
        let _ = entered.send(stopped);
        blocked.wait();
    })
    .unwrap();
    factory.start().unwrap();
    assert!(inside.recv_timeout(LIMIT).unwrap());
    let late = factory.shutdown_timeout(A_WHILE);
    release.stop();
    let late = late.unwrap_err().to_string();
    assert!(late.contains("handler late"), "{late}");
    factory.shutdown().unwrap();
    let own = maps.downgrade();
    drop((maps, factory));
    assert!(own.upgrade().is_none(), "nobody keeps it");
}

#[test]
fn informers_that_are_stopped_while_they_are_started_are_no_error() {
    let server = server();
    let factory = factory(&server);
    let maps = ApiResource::of::<ConfigMap>();
    let go = std::sync::Barrier::new(2);
    for round in 0..50 {
        let namespaces = (0..12).map(|n| format!("n{n}"));
        let informers: Vec<SharedInformer<ConfigMap>> = namespaces
            .map(|name| factory.informer_of(&maps, &Selection::new().namespace(name)))
            .collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                go.wait();
                // From the other end, so that they meet.
                for informer in informers.iter().rev() {
                    assert!(factory.stop_informer(informer));
                }
            });
            go.wait();
            factory.start().unwrap_or_else(|error| panic!("round {round}: {error}"));
        });
        assert!(informers.iter().all(SharedInformer::is_stopped));
    }
    assert!(factory.status().informers.is_empty());
}

#[test]
fn leases_that_are_stopped_while_they_are_taken_are_no_error() {
    let server = server();
    let factory = factory(&server);
    let over = StopToken::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.is_stopped() {
                factory.stop_informer(&factory.informer::<ConfigMap>());
            }
        });
        for round in 0..100 {
            let lease = factory.lease::<ConfigMap>();
            assert!(lease.is_ok(), "round {round}: {lease:?}");
        }
        over.stop();
    });
}
