//! Starting and stopping. What is left behind is counted in `tests/lifecycle.rs`.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Backoff, Doing, Error, Event, EventHandler, InformerState, Missing, NotReady, Result,
    StopToken,
    testing::{ApiServer, Fault, Moment, Verb, When},
};
use parking_lot::Mutex;

use crate::support::{
    Informer, LIMIT, Source, builder, listen, listener, put, started, wait_until,
};

/// Less than any of the waits that a stop has to interrupt, and long enough for a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn stops_soon(informer: &Informer) {
    let start = Instant::now();
    informer.stop();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_eq!(informer.status().state, InformerState::Stopped);
    assert_eq!(informer.status().doing, Doing::Stopped);
}

#[test]
fn states_go_from_not_started_to_running_to_stopped() {
    let source = Source::new();
    let informer = source.informer().build().unwrap();
    let state = || informer.status().state;
    assert_eq!((state(), informer.is_stopped()), (InformerState::NotStarted, false));
    assert_eq!(informer.last_sync_resource_version(), "");
    informer.start().unwrap();
    assert_eq!((state(), informer.is_stopped()), (InformerState::Running, false));
    informer.wait_for_sync(LIMIT).unwrap();
    informer.stop();
    assert_eq!((state(), informer.is_stopped()), (InformerState::Stopped, true));
    assert!(informer.has_synced(), "it had");
}

#[test]
fn an_informer_stops_with_its_token_as_by_a_stop_and_the_token_stays_when_the_informer_stops() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let stop = StopToken::new();
    let informer = builder(&server).stop(&stop).build().unwrap();
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    started(builder(&server).stop(&stop)).stop();
    assert!(!stop.is_stopped() && !informer.is_stopped(), "each has a child of it");
    stop.stop();
    wait_until("the stop", || informer.is_stopped());
    assert_eq!(events.next(), "+a 1 true");
    wait_until("the handler is dropped", || events.is_over());
    assert_eq!(informer.store().len(), 1, "what it knew can still be read");
    wait_until("no watch", || server.watches() == 0);
    assert!(informer.start().unwrap_err().to_string().contains("has stopped"));
    informer.stop();
}

#[test]
fn one_that_was_not_started_ends_with_its_token_and_so_do_waits_for_it() {
    let stop = StopToken::new();
    let source = Source::new();
    let informer = source.informer().stop(&stop).build().unwrap();
    let too_late = std::thread::scope(|scope| {
        let waits = [
            scope.spawn(|| informer.wait_for_sync(Duration::MAX)),
            scope.spawn(|| informer.wait_for_resource_version("1", Duration::MAX)),
        ];
        assert!(!informer.is_stopped());
        stop.stop();
        waits.map(|wait| wait.join().unwrap().unwrap_err().to_string())
    });
    assert!(too_late.iter().all(|error| error.contains("stopped")), "{too_late:?}");
    assert!(informer.is_stopped() && informer.start().is_err());
    let late = source.informer().stop(&stop).build().unwrap();
    assert!(late.is_stopped() && late.start().is_err(), "made of a token that was stopped");
    assert_eq!(source.lists(), 0);
}

#[test]
fn a_second_start_does_nothing_and_one_after_the_stop_is_an_error() {
    let source = Source::new();
    let informer = started(source.informer());
    informer.start().unwrap();
    assert!(informer.run(&StopToken::new()).unwrap_err().to_string().contains("runs already"));
    informer.stop();
    informer.stop();
    let again = informer.start().unwrap_err().to_string();
    assert!(again.contains("configmaps") && again.contains("has stopped"), "{again}");
    assert!(informer.run(&StopToken::new()).is_err());
    assert_eq!(source.lists(), 1);
}

#[test]
fn simultaneous_starts_are_one() {
    for _ in 0..30 {
        let source = Source::new();
        let informer = source.informer().build().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| informer.start().unwrap());
            }
        });
        informer.wait_for_sync(LIMIT).unwrap();
        assert_eq!(source.lists(), 1);
    }
}

#[test]
fn one_that_never_ran_can_be_stopped_and_its_handlers_are_dropped() {
    let source = Source::new();
    let informer = source.informer().build().unwrap();
    let events = listen(&informer);
    informer.stop();
    assert!(informer.is_stopped() && events.is_over());
    assert!(informer.start().is_err());
    let unused = source.informer().build().unwrap();
    let events = listen(&unused);
    drop(unused);
    assert!(events.is_over());
    assert_eq!(source.lists(), 0);
}

#[test]
fn nothing_can_be_added_to_one_that_has_stopped() {
    let informer = started(Source::new().informer());
    informer.stop();
    let error = informer.on_event(|_| ()).unwrap_err().to_string();
    assert!(error.contains("configmaps") && error.contains("has stopped"), "{error}");
    let indexers = kinformer::cache::Indexers::new().with("none", |_| vec![]);
    assert!(informer.add_indexers(indexers).unwrap_err().to_string().contains("has stopped"));
}

#[test]
fn run_returns_after_the_stop_and_after_its_handlers() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (handler, events) = listener();
    informer.add_event_handler(handler).unwrap();
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| informer.run(&stop));
        informer.wait_for_sync(LIMIT).unwrap();
        assert_eq!(events.next(), "+a 1 true");
        stop.stop();
        running.join().unwrap().unwrap();
    });
    assert!(informer.is_stopped() && events.is_over());
}

#[test]
fn a_stop_beside_run_returns_when_all_is_over() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (handler, events) = listener();
    informer.add_event_handler(handler).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| informer.run(&StopToken::new()));
        informer.wait_for_sync(LIMIT).unwrap();
        informer.stop();
        assert!(informer.is_stopped());
        events.next();
        assert!(events.is_over());
        running.join().unwrap().unwrap();
    });
}

#[test]
fn simultaneous_stops_all_return_when_it_has_stopped() {
    for _ in 0..30 {
        let source = Source::new();
        let informer = started(source.informer());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    informer.stop();
                    assert!(informer.is_stopped());
                });
            }
        });
    }
}

#[test]
fn a_start_and_a_stop_at_once_end_in_a_stop() {
    for _ in 0..50 {
        let source = Source::new();
        let informer = source.informer().build().unwrap();
        let events = listen(&informer);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = informer.start();
            });
            informer.stop();
        });
        informer.stop();
        assert!(informer.is_stopped() && events.is_over());
        assert!(informer.on_event(|_| ()).is_err());
    }
}

#[test]
fn the_last_handle_stops_it_and_drops_the_handlers() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    for _ in 0..20 {
        let informer = builder(&server).build().unwrap();
        let events = listen(&informer);
        informer.start().unwrap();
        assert_eq!(events.next(), "+a 1 true");
        let other = informer.clone();
        drop(informer);
        put(&server, "b", "1");
        assert!(events.next().starts_with("+b"), "there is another handle");
        drop(other);
        assert!(events.is_over());
        server.delete("v1", "ConfigMap", "default/b").unwrap();
    }
}

#[test]
fn the_last_handle_may_go_with_a_handler() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (send, receive) = mpsc::channel();
    let mut own = Some(informer.clone());
    informer
        .on_event(move |_| {
            let _ = &send;
            drop(own.take());
        })
        .unwrap();
    informer.start().unwrap();
    drop(informer);
    let gone: Result<(), _> = receive.recv_timeout(LIMIT);
    assert!(matches!(gone, Err(mpsc::RecvTimeoutError::Disconnected)));
}

#[test]
fn a_handler_may_stop_its_informer() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().build().unwrap();
    let (send, receive) = mpsc::channel();
    let stopper = informer.clone();
    informer
        .on_event(move |_| {
            stopper.stop();
            let _ = send.send(stopper.is_stopped());
        })
        .unwrap();
    informer.start().unwrap();
    assert!(receive.recv_timeout(LIMIT).unwrap());
    informer.stop();
    assert!(receive.recv_timeout(LIMIT).is_err(), "dropped");
}

#[test]
fn handlers_that_stop_their_informer_at_the_same_time_do_not_wait_for_each_other() {
    for _ in 0..20 {
        let source = Source::new();
        source.put("a", "1");
        let informer = source.informer().build().unwrap();
        let (send, receive) = mpsc::channel();
        let together = Arc::new(std::sync::Barrier::new(3));
        for _ in 0..3 {
            let (stopper, send, together) = (informer.clone(), send.clone(), together.clone());
            informer
                .on_event(move |_| {
                    together.wait();
                    stopper.stop();
                    let _ = send.send(());
                })
                .unwrap();
        }
        informer.start().unwrap();
        for _ in 0..3 {
            receive.recv_timeout(LIMIT).expect("no deadlock");
        }
        informer.stop();
    }
}

#[test]
fn an_error_handler_and_a_transform_may_stop_the_informer() {
    let own = Arc::new(Mutex::new(None::<Informer>));
    let stopping = own.clone();
    let source = Source::with(|_| Err(not_today()));
    let informer = source
        .informer()
        .on_error(move |_| {
            if let Some(informer) = stopping.lock().take() {
                informer.stop();
            }
        })
        .build()
        .unwrap();
    *own.lock() = Some(informer.clone());
    informer.start().unwrap();
    wait_until("it stops", || informer.is_stopped());

    let (own, source) = (Arc::new(Mutex::new(None::<Informer>)), Source::new());
    source.put("a", "1");
    let stopping = own.clone();
    let informer = source
        .informer()
        .transform(move |_: &mut ConfigMap| {
            if let Some(informer) = stopping.lock().take() {
                informer.stop();
            }
            Ok(())
        })
        .build()
        .unwrap();
    *own.lock() = Some(informer.clone());
    informer.start().unwrap();
    wait_until("it stops", || informer.is_stopped());
}

fn not_today() -> Error {
    kinformer::labels::parse("(").unwrap_err()
}

#[test]
fn stopping_interrupts_a_list_a_watch_that_is_asked_for_and_an_idle_one() {
    let hang = |when: When| {
        let server = ApiServer::start().unwrap();
        server.inject(when, Fault::Hang { at: Moment::BeforeHead });
        let informer = builder(&server).streamed_lists(false).build().unwrap();
        informer.start().unwrap();
        (server, informer)
    };
    let (_server, listing) = hang(When::any().verb(Verb::List));
    wait_until("listing", || matches!(listing.status().doing, Doing::Listing { .. }));
    stops_soon(&listing);
    let (_server, connecting) = hang(When::any().verb(Verb::Watch));
    wait_until("connecting", || connecting.status().doing == Doing::Connecting);
    stops_soon(&connecting);
    let server = ApiServer::start().unwrap();
    let idle = started(builder(&server));
    wait_until("watching", || idle.status().doing == Doing::Watching);
    stops_soon(&idle);
}

#[test]
fn stopping_interrupts_a_pause() {
    let mut long = Backoff::default();
    long.initial = Duration::from_secs(600);
    long.cap = long.initial;
    let source = Source::with(|_| Err(not_today()));
    let informer = source.informer().backoff(long).build().unwrap();
    informer.start().unwrap();
    wait_until("backing off", || informer.status().doing == Doing::BackingOff);
    stops_soon(&informer);
}

#[test]
fn what_waits_is_not_told_after_the_stop() {
    let source = Source::new();
    let informer = started(source.informer());
    let (entered, inside) = mpsc::channel();
    let (release, blocked) = mpsc::channel::<()>();
    let stopped = Arc::new(AtomicBool::new(false));
    let late = Arc::new(AtomicBool::new(false));
    let (is_stopped, was_late) = (stopped.clone(), late.clone());
    let registration = informer
        .on_event(move |_| {
            was_late.fetch_or(is_stopped.load(Ordering::SeqCst), Ordering::SeqCst);
            let _ = entered.send(());
            let _ = blocked.recv();
        })
        .unwrap();
    for name in ["a", "b", "c"] {
        source.put(name, "1");
    }
    inside.recv_timeout(LIMIT).unwrap();
    wait_until("two wait", || registration.pending() == 2);
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| {
            informer.stop();
            stopped.store(true, Ordering::SeqCst);
        });
        wait_until("what waited is dropped", || registration.pending() == 0);
        assert!(!stopping.is_finished(), "it waits for the call");
        drop(release);
    });
    assert!(
        inside.recv_timeout(Duration::from_millis(20)).is_err() && !late.load(Ordering::SeqCst)
    );
}

/// A handler that does not come back until it is allowed to.
struct Stuck(mpsc::Sender<()>, mpsc::Receiver<()>);

impl EventHandler<ConfigMap> for Stuck {
    fn on_event(&mut self, _event: Event<ConfigMap>) -> Result<()> {
        let _ = self.0.send(());
        let _ = self.1.recv();
        Ok(())
    }

    fn name(&self) -> Cow<'static, str> {
        "stuck".into()
    }
}

#[test]
fn a_shutdown_with_a_limit_names_the_handler_that_does_not_return() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let ((entered, inside), (release, blocked)) = (mpsc::channel(), mpsc::channel());
    informer.add_event_handler(Stuck(entered, blocked)).unwrap();
    informer.on_event(|_| ()).unwrap();
    inside.recv_timeout(LIMIT).unwrap();
    // On a busy machine others may be late, too.
    wait_until("only the one that does not return is late", || {
        let error = informer.shutdown_timeout(Duration::from_millis(100)).unwrap_err();
        let Error::Wait(wait) = &error else { panic!("{error}") };
        let stuck = Missing::Return { handler: "stuck".into() };
        let late: Vec<_> = wait.informers().iter().map(NotReady::missing).collect();
        assert!(late.contains(&&stuck), "{error}");
        let text = error.to_string();
        assert!(text.contains("in handler stuck") && text.contains("configmaps"), "{error}");
        late == [&stuck]
    });
    assert!(informer.is_stopped());
    release.send(()).unwrap();
    informer.shutdown_timeout(LIMIT).unwrap();
}

#[test]
fn a_panic_in_a_source_fails_the_informer_and_wakes_whoever_waits_with_the_reason() {
    let source = Source::with(|_| panic!("no list today"));
    let informer = source.informer().build().unwrap();
    let events = listen(&informer);
    let waiting = informer.clone();
    let waiter = std::thread::spawn(move || {
        let start = Instant::now();
        (waiting.wait_for_sync(LIMIT), start.elapsed())
    });
    informer.start().unwrap();
    let (result, took) = waiter.join().unwrap();
    let error = result.unwrap_err().to_string();
    assert!(error.contains("no list today"), "{error}");
    assert!(took < LIMIT / 2, "{took:?}");
    assert!(
        matches!(informer.status().state, InformerState::Failed(why) if why.contains("no list"))
    );
    assert!(informer.is_stopped() && informer.start().is_err());
    let version = informer.wait_for_resource_version("1", LIMIT);
    assert!(version.is_err());
    informer.stop();
    assert!(events.is_over());
}

#[test]
fn an_index_function_that_panics_does_not_fail_the_informer() {
    let source = Source::new();
    source.put("a", "1");
    let indexers = kinformer::cache::Indexers::new()
        .with("never", |_: &kinformer::Object<ConfigMap>| panic!("on purpose"));
    let informer = started(source.informer().indexers(indexers));
    assert_eq!(informer.store().list_keys(), ["default/a"]);
    assert_eq!(informer.status().state, InformerState::Running);
}
