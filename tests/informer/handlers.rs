//! Handlers in all their forms, and what they may do.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Error, Event, EventHandler, FilteringHandler, HandlerFuncs, NamedHandler, Object, Result,
    cache::Deleted,
};
use serde_json::json;

use crate::support::{LIMIT, Source, listen, listener, started, value, wait_until};

/// A handler of the long form.
struct Recorder(mpsc::Sender<String>);

impl EventHandler<ConfigMap> for Recorder {
    fn on_add(&mut self, object: Object<ConfigMap>, initial: bool) {
        let _ = self.0.send(format!("add {} {initial}", object.name()));
    }

    fn on_update(&mut self, old: Object<ConfigMap>, new: Object<ConfigMap>) {
        let _ = self.0.send(format!("update {} to {}", value(&old), value(&new)));
    }

    fn on_delete(&mut self, deleted: Deleted<Object<ConfigMap>>) {
        let name = deleted.object().map(|object| object.name().to_owned());
        let _ = self.0.send(format!("delete {}", name.unwrap_or_default()));
    }

    fn name(&self) -> Cow<'static, str> {
        "recorder".into()
    }
}

fn next(events: &mpsc::Receiver<String>) -> String {
    events.recv_timeout(LIMIT).expect("an event")
}

fn live(source: &Source) {
    source.put("a", "2");
    source.delete("a");
}

#[test]
fn a_handler_may_be_a_type_with_three_functions_boxed_or_not() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let (send, plain) = mpsc::channel();
    informer.add_event_handler(Recorder(send)).unwrap();
    let (send, boxed) = mpsc::channel();
    let handler: Box<dyn EventHandler<ConfigMap>> = Box::new(Recorder(send));
    assert_eq!(informer.add_event_handler(handler).unwrap().name(), "recorder");
    for events in [&plain, &boxed] {
        assert_eq!(next(events), "add a true");
    }
    live(&source);
    for events in [&plain, &boxed] {
        assert_eq!([next(events), next(events)], ["update 1 to 2", "delete a"]);
    }
}

#[test]
fn a_boxed_handler_passes_on_each_of_the_three_functions() {
    let (send, events) = mpsc::channel();
    let mut boxed: Box<dyn EventHandler<ConfigMap>> = Box::new(Recorder(send));
    let object = Source::new().object(&json!({"metadata": {"name": "a", "namespace": "default"}}));
    EventHandler::on_add(&mut boxed, object.clone(), false);
    EventHandler::on_update(&mut boxed, object.clone(), object.clone());
    EventHandler::on_delete(&mut boxed, Deleted::Known(object));
    assert_eq!(
        [next(&events), next(&events), next(&events)],
        ["add a false", "update  to ", "delete a"]
    );
}

/// Tells what was added, and when that was all.
struct Start(mpsc::Sender<String>);

impl EventHandler<ConfigMap> for Start {
    fn on_add(&mut self, object: Object<ConfigMap>, _initial: bool) {
        let _ = self.0.send(object.name().to_owned());
    }

    fn on_synced(&mut self) {
        let _ = self.0.send("all".into());
    }
}

#[test]
fn a_handler_learns_once_that_it_has_been_told_of_everything_however_it_is_wrapped() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (send, early) = mpsc::channel();
    informer.add_event_handler(Start(send)).unwrap();
    informer.start().unwrap();
    assert_eq!([next(&early), next(&early)], ["a", "all"]);
    let (send, late) = mpsc::channel();
    let handler: Box<dyn EventHandler<ConfigMap>> = Box::new(Start(send));
    let filter = |object: &Object<ConfigMap>| object.name() != "a";
    let handler = FilteringHandler::new(filter, NamedHandler::new("start", handler));
    informer.add_event_handler(handler).unwrap();
    assert_eq!(next(&late), "all", "also of nothing");
    source.put("b", "1");
    assert_eq!([next(&early), next(&late)], ["b", "b"], "and not again");
}

#[test]
fn closures_for_some_events_leave_the_others_alone() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let (added, adds) = mpsc::channel();
    let (deleted, deletes) = mpsc::channel();
    let handler = informer.handlers().on_add(move |object, initial| {
        let _ = added.send(format!("{} {initial}", object.name()));
    });
    informer.add_event_handler(handler).unwrap();
    let handler = informer.handlers().on_delete(move |gone| {
        let _ = deleted.send(gone.object().unwrap().name().to_owned());
    });
    informer.add_event_handler(handler).unwrap();
    informer.add_event_handler(HandlerFuncs::<ConfigMap>::new()).unwrap();
    assert_eq!(next(&adds), "a true");
    live(&source);
    assert_eq!(next(&deletes), "a");
    source.put("b", "1");
    assert_eq!(next(&adds), "b false");
}

#[test]
fn deletions_say_what_is_known_of_the_object() {
    let source = Source::new();
    let object = source.object(&json!({"metadata": {"name": "a", "namespace": "default"}}));
    let known = Event::Deleted(Deleted::Known(object.clone()));
    let missed =
        |last| Event::Deleted(Deleted::FinalStateUnknown { key: object.key().clone(), last });
    assert_eq!((known.key().as_str(), known.object().unwrap().name()), ("default/a", "a"));
    let with_state = missed(Some(object.clone()));
    assert_eq!(with_state.key().as_str(), "default/a");
    assert!(with_state.object().unwrap().is_same(&object));
    let without: Event<ConfigMap> = missed(None);
    assert_eq!((without.key().as_str(), without.object().is_none()), ("default/a", true));
    assert_eq!(without.to_string(), "deleted object default/a (final state unknown)");
}

#[test]
fn a_channel_is_a_handler_until_nobody_receives() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let (send, receive) = crossbeam_channel::unbounded::<Event<ConfigMap>>();
    let registration = informer.add_event_handler(send).unwrap();
    assert_eq!(receive.recv_timeout(LIMIT).unwrap().key().name(), "a");
    drop(receive);
    source.put("b", "1");
    wait_until("b told", || informer.store().len() == 2 && registration.pending() == 0);
    assert_eq!(informer.status().handlers[0].panics, 0);
}

#[test]
fn a_handler_that_fails_goes_on() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (send, receive) = mpsc::channel();
    let registration = informer
        .on_event(move |event| -> Result<()> {
            let name = event.key().name().to_owned();
            let _ = send.send(name.clone());
            Err(Error::other(std::io::Error::other(format!("cannot have {name}"))))
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    source.put("b", "1");
    assert_eq!([next(&receive), next(&receive)], ["a", "b"]);
    assert!(registration.has_synced());
    wait_until("both are counted", || informer.status().handlers[0].errors == 2);
    let status = informer.status();
    assert_eq!(status.handlers[0].last_error.as_deref(), Some("cannot have b"));
    let mut counted = None;
    status.metrics(|metric| {
        if metric.name == "kinformer_handler_errors_total" {
            counted = Some(metric.value);
        }
    });
    assert_eq!(counted, Some(2.0));
    let printed = status.to_string();
    let row: Vec<_> = printed.lines().last().unwrap().split_whitespace().rev().collect();
    assert_eq!(row[..2], ["2", "0"], "{printed}");
}

/// Everything of the user's may panic: its errors when they are printed, what it panics with.
#[test]
fn errors_and_panics_that_panic_themselves_end_no_thread() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    #[derive(Debug)]
    struct Unprintable;
    impl std::fmt::Display for Unprintable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("printed")
        }
    }
    impl std::error::Error for Unprintable {}
    let source = Source::new();
    for name in ["bomb", "unprintable", "good"] {
        source.put(name, "1");
    }
    let informer = source.informer().build().unwrap();
    let registration = informer
        .on_event(|event| match event.key().name() {
            "bomb" => std::panic::panic_any(Bomb),
            "unprintable" => Err(Error::other(Unprintable)),
            _ => Ok(()),
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert!(registration.has_synced());
    assert_eq!(informer.status().handlers[0].panics, 2);
    informer.stop();
}

#[test]
fn a_handler_that_panics_goes_on_counts_as_synced_and_disturbs_nobody() {
    let source = Source::new();
    for n in 0..5 {
        source.put(&format!("m{n}"), "1");
    }
    let informer = source.informer().build().unwrap();
    let registration = informer.on_event(|_| -> () { panic!("on purpose") }).unwrap();
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert!(registration.has_synced());
    assert_eq!(events.sorted(5).len(), 5);
    let panics = || informer.status().handlers[0].panics;
    assert_eq!(panics(), 5);
    source.put("m0", "2");
    wait_until("another panic", || panics() == 6);
    assert_eq!(events.next(), "~m0 1>2");
}

#[test]
fn a_handler_that_takes_its_time_delays_nobody_else_and_its_backlog_can_be_read() {
    let source = Source::new();
    source.put("a", "0");
    let informer = started(source.informer());
    let (release, blocked) = mpsc::channel::<()>();
    let slow = informer
        .on_event(move |_| {
            let _ = blocked.recv();
        })
        .unwrap();
    let events = listen(&informer);
    assert_eq!(events.next(), "+a 0 true");
    for n in 1..=200 {
        source.put("a", &n.to_string());
    }
    let last = std::iter::repeat_with(|| events.next()).find(|event| event.ends_with(">200"));
    assert!(last.is_some());
    assert_eq!(value(&informer.lister().get("default/a").unwrap()), "200");
    assert!(slow.pending() > 0, "{}", slow.pending());
    wait_until("one is inside, the other has returned", || {
        let status = informer.status();
        status.handlers[0].busy_for.is_some() && status.handlers[1].busy_for.is_none()
    });
    let status = informer.status();
    assert_eq!(status.handlers[0].pending, slow.pending());
    assert!(status.handlers[0].busy_for.is_some());
    let waited = status.handlers[0].oldest_pending.unwrap();
    assert!(informer.status().handlers[0].oldest_pending.unwrap() >= waited, "it goes on waiting");
    assert_eq!(status.handlers[1].oldest_pending, None);
    assert!(!slow.has_synced(), "its first call has not returned");
    drop(release);
    wait_until("all told", || slow.pending() == 0);
    wait_until("synced", || slow.has_synced());
}

#[test]
fn calls_of_one_handler_never_overlap() {
    let source = Source::new();
    let informer = source.informer().build().unwrap();
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let ever = most.clone();
    let registration = informer
        .on_event(move |_| {
            ever.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
        })
        .unwrap();
    informer.start().unwrap();
    let mut version = String::new();
    for n in 0..200 {
        version = source.put(&format!("m{}", n % 7), "1");
    }
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    wait_until("all told", || registration.pending() == 0);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[test]
fn one_handler_may_be_added_twice_and_each_is_told_and_removed_alone() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let (send, receive) = crossbeam_channel::unbounded::<Event<ConfigMap>>();
    let first = informer.add_event_handler(send.clone()).unwrap();
    let _second = informer.add_event_handler(send).unwrap();
    for _ in 0..2 {
        receive.recv_timeout(LIMIT).unwrap();
    }
    first.remove();
    assert_eq!(informer.status().handlers.len(), 1);
    source.put("b", "1");
    assert_eq!(receive.recv_timeout(LIMIT).unwrap().key().name(), "b");
    assert!(receive.recv_timeout(Duration::from_millis(50)).is_err());
}

#[test]
fn a_handler_may_add_handlers_and_read_everything() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (handler, events) = listener();
    let (inner, mut handler) = (informer.clone(), Some(handler));
    let registration = informer
        .on_event(move |event: Event<ConfigMap>| {
            if let Some(handler) = handler.take() {
                inner.add_event_handler(handler).unwrap();
            }
            assert!(inner.store().get_by_key(event.key().as_str()).is_some());
            assert!(inner.status().handlers.len() == 2);
        })
        .unwrap();
    informer.start().unwrap();
    assert_eq!(events.next(), "+a 1 true");
    wait_until("synced", || registration.has_synced());
    assert_eq!(informer.status().handlers[0].panics, 0);
    // The handler has a handle of the informer: only a stop ends both.
    informer.stop();
}

#[test]
fn events_wait_for_a_blocked_handler_and_a_minute_is_nothing_to_the_store() {
    let source = Source::new();
    let informer = started(source.informer());
    let (entered, inside) = mpsc::channel();
    let (release, blocked) = mpsc::channel::<()>();
    let registration = informer
        .on_event(move |_| {
            let _ = entered.send(());
            let _ = blocked.recv();
        })
        .unwrap();
    source.put("a", "1");
    inside.recv_timeout(LIMIT).unwrap();
    let start = Instant::now();
    let mut version = String::new();
    for n in 0..1_000 {
        version = source.put(&format!("m{n}"), "1");
    }
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert!(start.elapsed() < LIMIT);
    assert_eq!(registration.pending(), 1_000);
    drop(release);
    wait_until("all told", || registration.pending() == 0);
}

#[test]
fn a_handler_may_be_given_a_name() {
    let source = Source::new();
    let informer = source.informer().build().unwrap();
    let closure = informer.on_event_named("audit", |_| ()).unwrap();
    let (send, _receive) = crossbeam_channel::unbounded();
    let channel = kinformer::NamedHandler::new(format!("channel {}", 1), send);
    let channel = informer.add_event_handler(channel).unwrap();
    assert_eq!([closure.name(), channel.name()], ["audit", "channel 1"]);
    let names: Vec<_> = informer.status().handlers.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["audit", "channel 1"]);
}
