//! Taking handlers away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use kinformer::{Registration, cache::Indexers};
use parking_lot::Mutex;

use crate::support::{LIMIT, SetOnDrop, Source, listen, listener, started, wait_until};

#[test]
fn a_removed_handler_is_dropped_and_told_of_nothing_more() {
    let source = Source::new();
    let informer = started(source.informer());
    let (handler, events) = listener();
    let registration = informer.add_event_handler(handler).unwrap();
    let others = listen(&informer);
    source.put("a", "1");
    assert_eq!(events.next(), "+a 1 false");
    registration.remove();
    assert!(events.is_over(), "the handler is gone when remove returns");
    source.put("b", "1");
    assert_eq!([others.next(), others.next()], ["+a 1 false", "+b 1 false"]);
    assert_eq!(informer.status().handlers.len(), 1);
}

#[test]
fn handlers_can_be_removed_before_the_start_and_after_the_stop() {
    let source = Source::new();
    let informer = source.informer().build().unwrap();
    let (handler, events) = listener();
    let first = informer.add_event_handler(handler).unwrap();
    let second = informer.on_event(|_| ()).unwrap();
    let third = informer.on_event(|_| ()).unwrap();
    assert_eq!(informer.status().handlers.len(), 3);
    first.remove();
    assert!(events.is_over());
    second.remove();
    assert_eq!(informer.status().handlers.len(), 1);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    informer.stop();
    third.remove();
}

#[test]
fn a_registration_belongs_to_its_informer_and_outlives_it() {
    let source = Source::new();
    let (one, other) = (started(source.informer()), started(source.informer()));
    let registration = one.on_event(|_| ()).unwrap();
    let events = listen(&other);
    drop(one);
    registration.remove();
    source.put("a", "1");
    assert_eq!(events.next(), "+a 1 false");
}

#[test]
fn a_registration_does_not_keep_what_the_informer_knew() {
    let source = Source::new();
    source.put("a", "1");
    let known = Arc::new(());
    let index = {
        let known = known.clone();
        Indexers::new().with("known", move |_| vec![Arc::strong_count(&known).to_string()])
    };
    let informer = started(source.informer().indexers(index));
    let registration = informer.on_event(|_| ()).unwrap();
    drop(informer);
    assert_eq!(Arc::strong_count(&known), 1, "the index is gone, and the store with it");
    assert_eq!(registration.pending(), 0);
    registration.remove();
}

#[test]
fn remove_waits_for_the_call_that_is_under_way() {
    let source = Source::new();
    let informer = started(source.informer());
    let (entered, inside) = mpsc::channel();
    let (release, blocked) = mpsc::channel::<()>();
    let returned = Arc::new(AtomicBool::new(false));
    let flag = returned.clone();
    let registration = informer
        .on_event(move |_| {
            let _ = entered.send(());
            let _ = blocked.recv();
            flag.store(true, Ordering::SeqCst);
        })
        .unwrap();
    source.put("a", "1");
    source.put("b", "1");
    inside.recv_timeout(LIMIT).unwrap();
    let removing = std::thread::spawn(move || {
        registration.remove();
        returned.load(Ordering::SeqCst)
    });
    wait_until("it is off the list", || informer.status().handlers.is_empty());
    assert!(!removing.is_finished(), "the call has not returned");
    drop(release);
    assert!(removing.join().unwrap(), "the call had returned");
    assert!(inside.recv_timeout(Duration::from_millis(20)).is_err(), "what waited was dropped");
}

#[test]
fn a_handler_that_removes_itself_is_gone_when_its_call_ends() {
    let source = Source::new();
    let informer = started(source.informer());
    let own = Arc::new(Mutex::new(None::<Registration>));
    let (send, receive) = mpsc::channel();
    let taken = own.clone();
    let registration = informer
        .on_event(move |_| {
            taken.lock().take().unwrap().remove();
            let _ = send.send(());
        })
        .unwrap();
    *own.lock() = Some(registration);
    source.put("a", "1");
    source.put("b", "1");
    receive.recv_timeout(LIMIT).unwrap();
    assert!(matches!(receive.recv_timeout(LIMIT), Err(mpsc::RecvTimeoutError::Disconnected)));
    assert!(informer.status().handlers.is_empty());
}

#[test]
fn a_guard_removes_its_handler_and_a_dropped_registration_does_not() {
    let source = Source::new();
    let informer = started(source.informer());
    let (handler, guarded) = listener();
    let guard = informer.add_event_handler(handler).unwrap().guard();
    let kept = listen(&informer);
    source.put("a", "1");
    assert_eq!((guarded.next(), kept.next()), ("+a 1 false".into(), "+a 1 false".into()));
    drop(guard);
    assert!(guarded.is_over());
    source.put("b", "1");
    assert_eq!(kept.next(), "+b 1 false");
}

/// Nobody waits for anybody in a circle, and whoever was removed is not called.
#[test]
fn a_hundred_threads_may_add_and_remove_handlers_while_events_flow_and_it_stops() {
    let source = Source::new();
    let informer = started(source.informer());
    let calls_after_removal = Arc::new(AtomicUsize::new(0));
    let (added, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // A hundred threads in a hurry would leave no time for the events.
    let put = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        for thread in 0..100_usize {
            let (informer, over, wrong) = (informer.clone(), &over, &calls_after_removal);
            let (added, refused, put) = (&added, &refused, &put);
            scope.spawn(move || {
                let mut held = Vec::new();
                for round in 0.. {
                    wait_until("more events", || {
                        over.load(Ordering::SeqCst) || put.load(Ordering::SeqCst) >= round * 250
                    });
                    if over.load(Ordering::SeqCst) {
                        break;
                    }
                    let removed = Arc::new(AtomicBool::new(false));
                    let (flag, wrong) = (removed.clone(), wrong.clone());
                    let registration = informer.on_event(move |_| {
                        wrong.fetch_add(usize::from(flag.load(Ordering::SeqCst)), Ordering::SeqCst);
                    });
                    match registration {
                        Ok(registration) => held.push((registration, removed)),
                        Err(_) => {
                            refused.fetch_add(1, Ordering::SeqCst);
                            break;
                        }
                    }
                    added.fetch_add(1, Ordering::SeqCst);
                    if held.len() > 1 + (thread + round) % 3 {
                        let (registration, removed) =
                            held.swap_remove((thread * 7 + round) % held.len());
                        registration.remove();
                        removed.store(true, Ordering::SeqCst);
                    }
                    std::thread::yield_now();
                }
                for (registration, removed) in held {
                    registration.remove();
                    removed.store(true, Ordering::SeqCst);
                }
            });
        }
        for n in 0..10_000 {
            source.put(&format!("m{}", n % 10), "1");
            put.fetch_add(1, Ordering::SeqCst);
        }
        let last = source.put("last", "1");
        informer.wait_for_resource_version(&last, LIMIT).unwrap();
        wait_until("enough were added", || added.load(Ordering::SeqCst) >= 100);
        put.store(usize::MAX, Ordering::SeqCst);
        informer.stop();
        wait_until("somebody is refused", || refused.load(Ordering::SeqCst) > 0);
    });
    assert_eq!(calls_after_removal.load(Ordering::SeqCst), 0);
    assert!(added.load(Ordering::SeqCst) >= 100);
    assert!(informer.status().handlers.is_empty());
}
