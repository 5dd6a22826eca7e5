//! Handlers that come late.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::Event;
use parking_lot::Mutex;

use crate::support::{LIMIT, Source, listen, started, value, wait_until};

#[test]
fn a_late_handler_is_told_of_everything_first_and_has_synced_then() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let early = listen(&informer);
    assert_eq!(early.next(), "+a 1 true");
    let (release, blocked) = mpsc::channel::<()>();
    let late = informer
        .on_event(move |_| {
            let _ = blocked.recv();
        })
        .unwrap();
    assert!(informer.has_synced() && !late.has_synced(), "it is being told of a");
    drop(release);
    wait_until("told", || late.has_synced());
    let events = listen(&informer);
    assert_eq!(events.next(), "+a 1 true");
    source.put("b", "1");
    assert_eq!((events.next(), early.next()), ("+b 1 false".into(), "+b 1 false".into()));
}

#[test]
fn a_handler_of_an_informer_that_is_still_listing_gets_the_rest_as_initial_too() {
    let (release, hold) = crossbeam_channel::bounded::<()>(0);
    let source = Source::with(move |_| {
        let _ = hold.recv();
        Ok(())
    });
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    informer.start().unwrap();
    wait_until("it lists", || source.lists() == 1);
    let registration = informer.on_event(|_| ()).unwrap();
    let events = listen(&informer);
    assert!(!registration.has_synced(), "nothing is known yet");
    drop(release);
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(events.next(), "+a 1 true");
    assert!(registration.has_synced());
}

/// Invariant 9: initial adds and what follows are the store, at any moment of joining.
#[test]
fn handlers_that_join_while_everything_changes_miss_nothing_and_hear_nothing_twice() {
    let source = Source::new();
    for n in 0..50 {
        source.put(&format!("m{n}"), "0");
    }
    let informer = started(source.informer());
    let done = Arc::new(AtomicBool::new(false));
    let problems = Arc::new(Mutex::new(Vec::new()));
    let copies = std::thread::scope(|scope| {
        let (writing, finished) = (source.clone(), done.clone());
        scope.spawn(move || {
            for n in 0..2_000 {
                let name = format!("m{}", n % 60);
                if n % 7 == 3 && n % 60 < 50 {
                    writing.put(&name, "x");
                    writing.delete(&name);
                } else {
                    writing.put(&name, &n.to_string());
                }
            }
            finished.store(true, Ordering::SeqCst);
        });
        let mut copies = vec![join(&informer, &problems)];
        while !done.load(Ordering::SeqCst) && copies.len() < 60 {
            std::thread::yield_now();
            copies.push(join(&informer, &problems));
        }
        copies
    });
    let last = source.put("last", "1");
    informer.wait_for_resource_version(&last, LIMIT).unwrap();
    let store: BTreeMap<_, _> =
        informer.store().list().iter().map(|map| (map.name().to_owned(), value(map))).collect();
    for copy in &copies {
        wait_until("a copy like the store", || *copy.lock() == store);
    }
    assert!(problems.lock().is_empty(), "{:?}", problems.lock());
}

type Copy = Arc<Mutex<BTreeMap<String, String>>>;

/// A handler that keeps a copy of the store from what it is told.
fn join(informer: &crate::support::Informer, problems: &Arc<Mutex<Vec<String>>>) -> Copy {
    let copy = Copy::default();
    let (own, problems) = (copy.clone(), problems.clone());
    let mut initial_over = false;
    let mut seen = BTreeSet::new();
    informer
        .on_event(move |event: Event<ConfigMap>| {
            let name = event.key().name().to_owned();
            let mut copy = own.lock();
            let known = copy.contains_key(&name);
            let fits = match &event {
                Event::Added { initial, .. } => {
                    let in_order = !initial || (!initial_over && seen.insert(name.clone()));
                    initial_over |= !initial;
                    !known && in_order
                }
                _ => known,
            };
            if !fits {
                problems.lock().push(event.to_string());
            }
            match &event {
                Event::Deleted(_) => copy.remove(&name),
                event => copy.insert(name, value(event.object().unwrap())),
            };
        })
        .unwrap();
    copy
}

#[test]
fn handlers_may_be_added_while_the_informer_starts() {
    for _ in 0..50 {
        let source = Source::new();
        source.put("a", "1");
        let informer = source.informer().build().unwrap();
        let events = std::thread::scope(|scope| {
            let adding: Vec<_> = (0..3).map(|_| scope.spawn(|| listen(&informer))).collect();
            informer.start().unwrap();
            adding.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for events in events {
            assert_eq!(events.next(), "+a 1 true");
        }
        informer.wait_for_sync(LIMIT).unwrap();
    }
}
