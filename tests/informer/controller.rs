//! Controllers put together by hand.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Controller, Error, Event, Informer, Object, Running, StopToken,
    cache::{Delta, DeltaFifo},
    testing::ApiServer,
};
use parking_lot::Mutex;

use crate::support::{LIMIT, Source, client, quick, value, wait_until};

type Queue = Arc<DeltaFifo<Object<ConfigMap>>>;

fn queue() -> Queue {
    Arc::new(DeltaFifo::new(|map: &Object<ConfigMap>| map.key().clone()))
}

#[test]
fn what_is_popped_is_processed_and_errors_are_not_queued_again() {
    let source = Source::new();
    source.put("a", "1");
    let (send, processed) = mpsc::channel();
    let controller = Controller::builder(source.clone(), queue(), move |popped| {
        let _ = send.send(format!("{} {}", popped.key, popped.deltas.len()));
        Err(Error::Stopped)
    });
    let running = controller.backoff(quick()).build().spawn().unwrap();
    assert_eq!(processed.recv_timeout(LIMIT).unwrap(), "default/a 1");
    source.put("b", "1");
    assert_eq!(processed.recv_timeout(LIMIT).unwrap(), "default/b 1");
    running.stop().unwrap();
    assert!(processed.recv().is_err(), "nothing else, and the function is gone");
}

#[test]
fn everything_that_appears_can_be_deleted_by_what_sees_it() {
    let server = ApiServer::start().unwrap();
    let maps = client(&server).api::<ConfigMap>().namespace("default");
    let source = kinformer::ListWatch::<ConfigMap>::from_client(&client(&server), Some("default"));
    let (send, gone) = mpsc::channel();
    let deleting = maps.clone();
    let (store, controller) = Informer::new(source, move |event: Event<ConfigMap>| match event {
        Event::Added { object, .. } => drop(deleting.delete(object.name())),
        Event::Deleted(deleted) => drop(send.send(deleted.object().unwrap().name().to_owned())),
        _ => {}
    });
    let running = controller.spawn().unwrap();
    for name in ["a", "b", "c"] {
        maps.create(&serde_json::json!({"metadata": {"name": name}})).unwrap();
    }
    let mut names: Vec<_> = (0..3).map(|_| gone.recv_timeout(LIMIT).unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    wait_until("an empty store", || store.is_empty());
    running.stop().unwrap();
}

#[test]
fn a_panic_of_the_process_function_or_of_the_source_escapes_from_run() {
    let source = Source::new();
    source.put("a", "1");
    let controller = Controller::builder(source.clone(), queue(), |_| panic!("on purpose")).build();
    let stop = StopToken::new();
    let panic = catch_unwind(AssertUnwindSafe(|| controller.run(&stop))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    assert!(!stop.is_stopped(), "the caller's token is the caller's");

    let broken = Source::with(|_| panic!("no list today"));
    let controller = Controller::builder(broken, queue(), |_| Ok(())).build();
    let panic = catch_unwind(AssertUnwindSafe(|| controller.run(&stop))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"no list today"));

    let controller = Controller::builder(source, queue(), |_| panic!("on purpose")).build();
    let running = controller.spawn().unwrap();
    // Whether it has panicked by now or not, stopping it ends well or says so.
    let _ = running.stop();
}

#[test]
fn resyncs_are_asked_for_in_each_period_and_only_then() {
    let source = Source::new();
    source.put("a", "1");
    let store = kinformer::cache::Store::new(|map: &Object<ConfigMap>| map.key().clone());
    let known = DeltaFifo::builder(|map: &Object<ConfigMap>| map.key().clone())
        .known_objects(store.clone())
        .build();
    let (asked, allowed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (asking, allowing) = (asked.clone(), allowed.clone());
    let (send, synced) = mpsc::channel();
    let controller = Controller::builder(source, Arc::new(known), move |popped| {
        for delta in &popped.deltas {
            store.add(delta.object().unwrap().clone());
            if matches!(delta, Delta::Sync(_)) {
                let _ = send.send(allowing.load(Ordering::SeqCst));
            }
        }
        Ok(())
    });
    let allowing = allowed.clone();
    let controller = controller
        .resync(Duration::from_millis(5))
        .should_resync(move || {
            asking.fetch_add(1, Ordering::SeqCst);
            allowing.load(Ordering::SeqCst)
        })
        .name("asked");
    let running = controller.build().spawn().unwrap();
    // The first list comes as `Sync` too, where `Replaced` is not wanted.
    assert!(!synced.recv_timeout(LIMIT).unwrap());
    wait_until("it asks", || asked.load(Ordering::SeqCst) >= 3);
    assert!(synced.try_recv().is_err(), "the answer was no");
    allowed.store(true, Ordering::SeqCst);
    assert!(synced.recv_timeout(LIMIT).unwrap());
    running.stop().unwrap();
}

#[test]
fn a_stop_before_the_run_ends_it_at_once() {
    let source = Source::new();
    let controller = Controller::builder(source.clone(), queue(), |_| Ok(())).build();
    let stop = StopToken::new();
    stop.stop();
    controller.run(&stop).unwrap();
    assert!(!controller.has_synced() && source.lists() == 0);
}

#[test]
fn what_is_queued_at_the_stop_is_not_processed() {
    let source = Source::new();
    for n in 0..50 {
        source.put(&format!("m{n}"), "1");
    }
    let stop = StopToken::new();
    let (own, count) = (stop.clone(), Arc::new(AtomicUsize::new(0)));
    let counting = count.clone();
    let controller = Controller::builder(source, queue(), move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
        own.stop();
        Ok(())
    });
    controller.build().run(&stop).unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn the_process_function_and_the_error_handler_may_end_the_controller() {
    let running = Arc::new(Mutex::new(None::<Running>));
    let (send, receive) = mpsc::channel();
    let (own, source) = (running.clone(), Source::new());
    let controller = Controller::builder(source.clone(), queue(), move |_| {
        let ended = own.lock().take().map(Running::stop);
        let _ = send.send(ended.is_some_and(|result| result.is_ok()));
        Ok(())
    });
    *running.lock() = Some(controller.build().spawn().unwrap());
    source.put("a", "1");
    assert!(receive.recv_timeout(LIMIT).unwrap());

    let (send, receive) = mpsc::channel();
    let own = running.clone();
    let failing = Source::with(|_| Err(kinformer::labels::parse("(").unwrap_err()));
    let controller = Controller::builder(failing, queue(), |_| Ok(())).backoff(quick());
    let controller = controller.on_error(move |_| {
        if let Some(running) = own.lock().take() {
            let _ = running.stop();
            let _ = send.send(());
        }
    });
    *running.lock() = Some(controller.build().spawn().unwrap());
    receive.recv_timeout(LIMIT).expect("no deadlock");
}

/// Three threads make, change and delete at random; the copy of the handler ends equal.
#[test]
fn a_hammered_controller_ends_with_what_the_server_has() {
    let server = ApiServer::start().unwrap();
    let source = kinformer::ListWatch::<ConfigMap>::from_client(&client(&server), Some("default"));
    let copy = Arc::new(Mutex::new(BTreeMap::new()));
    let own = copy.clone();
    let (store, controller) = Informer::new(source, move |event: Event<ConfigMap>| {
        let key = event.key().to_string();
        match &event {
            Event::Deleted(_) => own.lock().remove(&key),
            event => own.lock().insert(key, value(event.object().unwrap())),
        };
    });
    assert!(!controller.has_synced());
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| controller.run(&stop));
        let writers: Vec<_> = (0..3_u32)
            .map(|seed| {
                scope.spawn({
                    let server = &server;
                    move || {
                        let mut random = seed.wrapping_mul(2_654_435_761) + 1;
                        for n in 0..100 {
                            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            let name = format!("m{seed}-{}", (random >> 16) % 5);
                            if (random >> 8) % 3 == 0 {
                                let _ =
                                    server.delete("v1", "ConfigMap", &format!("default/{name}"));
                            } else {
                                crate::support::put(server, &name, &n.to_string());
                            }
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        wait_until("synced", || controller.has_synced());
        let maps = client(&server).api::<ConfigMap>().namespace("default");
        let there: BTreeMap<_, _> = maps
            .list_all(&kinformer::ListOptions::new())
            .map(|map| map.map(|map| (map.key().to_string(), value(&map))).unwrap())
            .collect();
        // Also for a moment, before something that comes and goes: the store need not be so then.
        wait_until("both are equal", || *copy.lock() == there && store.len() == there.len());
        stop.stop();
        running.join().unwrap().unwrap();
    });
}

#[test]
fn a_controller_runs_once() {
    let source = Source::new();
    let (_store, controller) = Informer::new(source.clone(), |_: Event<ConfigMap>| ());
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| controller.run(&stop));
        wait_until("synced", || controller.has_synced());
        let twice = controller.run(&stop).unwrap_err().to_string();
        assert!(twice.contains("configmaps runs already, or has stopped"), "{twice}");
        stop.stop();
        running.join().unwrap().unwrap();
    });
    assert!(controller.run(&StopToken::new()).is_err(), "its queue is closed");
    assert_eq!(source.lists(), 1);
}
