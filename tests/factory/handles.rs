//! Weak handles, for handlers.

use std::sync::{Arc, mpsc};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kinformer::{Event, ListWatch, Registration, SharedInformer};
use parking_lot::Mutex;

use crate::support::{LIMIT, client, factory, put, server, sync, wait_until};

#[test]
fn a_handler_may_ask_for_informers_and_start_them() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let handle = factory.handle();
    let (send, receive) = mpsc::channel();
    factory
        .informer::<ConfigMap>()
        .on_event(move |_| {
            let factory = handle.upgrade().unwrap();
            let secrets = factory.informer::<Secret>();
            let _ = send.send((factory.start().is_ok(), secrets));
        })
        .unwrap();
    factory.start().unwrap();
    // Until then there may be one that is not started, which nobody can wait for.
    let (started, secrets) = receive.recv_timeout(LIMIT).unwrap();
    assert!(started && secrets.is_same(&factory.informer::<Secret>()));
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert!(secrets.has_synced());
}

#[test]
fn a_handle_does_not_keep_the_factory_alive() {
    let server = server();
    let factory = factory(&server);
    let handle = factory.handle();
    let maps = handle.informer::<ConfigMap>().unwrap();
    handle
        .informer::<ConfigMap>()
        .unwrap()
        .on_event({
            let handle = handle.clone();
            move |_| drop(handle.upgrade())
        })
        .unwrap();
    factory.start().unwrap();
    let upgraded = handle.upgrade().unwrap();
    drop(factory);
    assert!(maps.is_stopped(), "although somebody had upgraded a handle");
    assert!(upgraded.informer::<ConfigMap>().is_stopped());
    drop(upgraded);
    assert!(handle.informer::<ConfigMap>().is_none() && handle.upgrade().is_none());
    handle.stop();
}

#[test]
fn dropping_an_upgraded_handle_stops_nothing() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    sync(&factory);
    drop(factory.handle().upgrade());
    assert!(!maps.is_stopped());
}

#[test]
fn a_handler_that_holds_its_own_informer_weakly_lets_it_go() {
    let server = server();
    put(&server, "default", "a");
    let source = ListWatch::<ConfigMap>::from_client(&client(&server), None);
    let maps = SharedInformer::builder(source).build().unwrap();
    let own = maps.downgrade();
    let (send, receive) = mpsc::channel();
    maps.on_event(move |_| {
        let _ = send.send(own.upgrade().map(|maps| maps.store().len()));
    })
    .unwrap();
    maps.start().unwrap();
    assert_eq!(receive.recv_timeout(LIMIT).unwrap(), Some(1));
    let weak = maps.downgrade();
    drop(maps);
    assert!(receive.recv().is_err(), "it stopped with its last handle");
    assert!(weak.upgrade().is_none());
    wait_until("no watch", || server.watches() == 0);
}

/// Each waits for the other to be inside before it removes it.
#[test]
fn two_handlers_may_remove_each_other() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let both = Arc::new(std::sync::Barrier::new(2));
    let slots: [Arc<Mutex<Option<Registration>>>; 2] = Default::default();
    let (send, receive) = mpsc::channel();
    for n in 0..2 {
        let (both, other, send) = (both.clone(), slots[1 - n].clone(), send.clone());
        let handler = move |_: Event<ConfigMap>| {
            both.wait();
            other.lock().take().unwrap().remove();
            let _ = send.send(n);
        };
        *slots[n].lock() = Some(maps.add_event_handler(handler).unwrap());
    }
    drop(send);
    factory.start().unwrap();
    let mut removed = [0, 1].map(|_| receive.recv_timeout(LIMIT).unwrap());
    removed.sort_unstable();
    assert_eq!(removed, [0, 1]);
    assert!(receive.recv_timeout(LIMIT).is_err(), "both handlers have been dropped");
    assert!(maps.status().handlers.is_empty());
    factory.shutdown().unwrap();
}
