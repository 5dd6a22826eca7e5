//! Starting and stopping all informers of a factory.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kinformer::{
    ApiResource, Config, Error, InformerState, ListWatch, Missing, NotReady, Selection,
    SharedInformer, SharedInformerFactory, StopToken,
    testing::{ApiServer, Fault, Moment, Verb, When},
};

use crate::support::{
    LIMIT, builder, client, factory, keys, listen, put, server, sync, wait_until,
};

fn state<K: 'static>(informer: &SharedInformer<K>) -> InformerState {
    informer.status().state
}

#[test]
fn start_starts_what_was_added_since_and_leaves_the_rest_alone() {
    let server = server();
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    assert_eq!(state(&maps), InformerState::NotStarted);
    factory.start().unwrap();
    factory.start().unwrap();
    assert_eq!(state(&maps), InformerState::Running);
    let secrets = factory.informer::<Secret>();
    assert_eq!(state(&secrets), InformerState::NotStarted, "not by itself");
    sync(&factory);
    assert_eq!(state(&secrets), InformerState::Running);
    wait_until("a watch each", || server.watches() == 2);
}

#[test]
fn the_factory_holds_its_informers() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let events = listen(&factory.informer::<ConfigMap>());
    sync(&factory);
    assert_eq!(events.recv_timeout(LIMIT).unwrap().key(), &"default/a");
    drop(factory);
    assert!(events.recv().is_err(), "the handler is gone with the factory");
    wait_until("no watch", || server.watches() == 0);
}

#[test]
fn shutdown_stops_everything_for_good_and_what_was_known_can_be_read() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    sync(&factory);
    factory.shutdown().unwrap();
    factory.shutdown().unwrap();
    assert_eq!(state(&maps), InformerState::Stopped);
    assert_eq!(keys(&maps), ["default/a"]);
    let again = factory.start().unwrap_err().to_string();
    assert!(again.contains("has been shut down"), "{again}");
    assert!(factory.informer::<ConfigMap>().is_same(&maps));
    let late = factory.informer::<Secret>();
    assert_eq!(state(&late), InformerState::Stopped);
    assert!(factory.lease::<Secret>().is_err());
    wait_until("no watch", || server.watches() == 0);
}

#[test]
fn simultaneous_starts_and_shutdowns_leave_nothing_running() {
    let server = server();
    for _ in 0..20 {
        let factory = factory(&server);
        let informers = [factory.informer::<ConfigMap>().cast(), factory.informer::<Secret>()];
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let started = factory.start();
                    let shut_down =
                        |error: &kinformer::Error| error.to_string().contains("has been shut down");
                    assert!(started.as_ref().err().is_none_or(shut_down), "{started:?}");
                });
                scope.spawn(|| factory.shutdown().unwrap());
            }
        });
        assert!(informers.iter().all(SharedInformer::is_stopped));
    }
    wait_until("no watch", || server.watches() == 0);
}

#[test]
fn sixty_idle_informers_stop_in_well_under_a_tenth_of_a_second() {
    let server = server();
    let maps = ApiResource::of::<ConfigMap>();
    let round = || {
        let factory = factory(&server);
        for n in 0..60 {
            let here = Selection::new().namespace(format!("n{n}"));
            let informer = factory.informer_of::<ConfigMap>(&maps, &here);
            informer.on_event(|_| ()).unwrap();
        }
        sync(&factory);
        wait_until("sixty watches", || server.watches() == 60);
        let start = Instant::now();
        factory.shutdown().unwrap();
        let took = start.elapsed();
        println!("shutdown of 60 informers with a handler each: {took:?}");
        wait_until("no watch", || server.watches() == 0);
        took
    };
    // Generous, and more than once if need be, because the machine may be busy with something else.
    assert!((0..10).any(|_| round() < Duration::from_secs(1)), "never in a second");
}

#[test]
fn a_shutdown_with_a_limit_names_the_handler_that_does_not_return() {
    struct Stuck(mpsc::Receiver<()>, mpsc::Sender<()>);
    impl kinformer::EventHandler<ConfigMap> for Stuck {
        fn on_add(&mut self, _: kinformer::Object<ConfigMap>, _: bool) {
            let _ = self.1.send(());
            let _ = self.0.recv();
        }
        fn name(&self) -> std::borrow::Cow<'static, str> {
            "the stuck one".into()
        }
    }

    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    // Dropped before the factory, so that it ends also if the test fails.
    let ((release, blocked), (entered, inside)) = (mpsc::channel(), mpsc::channel());
    let maps = factory.informer::<ConfigMap>();
    maps.add_event_handler(Stuck(blocked, entered)).unwrap();
    let quick = factory.informer::<Secret>();
    quick.on_event(|_| ()).unwrap();
    factory.start().unwrap();
    inside.recv_timeout(LIMIT).unwrap();
    // On a busy machine others may be late, too.
    wait_until("only the one that does not return is late", || {
        let error = factory.shutdown_timeout(Duration::from_millis(20)).unwrap_err();
        assert!(error.is_timeout());
        let Error::Wait(wait) = &error else { panic!("{error}") };
        let stuck = Missing::Return { handler: "the stuck one".into() };
        let late: Vec<_> = wait.informers().iter().map(NotReady::missing).collect();
        assert!(late.contains(&&stuck), "{error}");
        let text = error.to_string();
        assert!(text.contains("configmaps") && text.contains("the stuck one"), "{error}");
        late == [&stuck]
    });
    assert!(quick.is_stopped() && maps.is_stopped());
    drop(release);
    factory.shutdown_timeout(LIMIT).unwrap();
}

#[test]
fn a_shutdown_that_waits_for_a_handler_keeps_no_connection() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let ((release, blocked), (entered, inside)) = (mpsc::channel(), mpsc::channel());
    let maps = factory.informer::<ConfigMap>();
    maps.on_event(move |_| {
        let _ = entered.send(());
        let _: Result<(), _> = blocked.recv();
    })
    .unwrap();
    factory.informer::<Secret>().on_event(|_| ()).unwrap();
    factory.start().unwrap();
    inside.recv_timeout(LIMIT).unwrap();
    wait_until("two watches", || server.watches() == 2);
    std::thread::scope(|scope| {
        // Dropped at the end also if the test fails, so that the shutdown ends.
        let release = release;
        let shutdown = scope.spawn(|| factory.shutdown());
        wait_until("no watch", || server.watches() == 0 && server.connections() == 0);
        assert!(!shutdown.is_finished(), "the handler has not returned");
        drop(release);
        shutdown.join().unwrap().unwrap();
    });
}

#[test]
fn a_handler_may_stop_the_factory() {
    let server = server();
    put(&server, "default", "a");
    let factory = Arc::new(factory(&server));
    let maps = factory.informer::<ConfigMap>();
    let (send, receive) = mpsc::channel();
    let handle = factory.handle();
    maps.on_event(move |_| {
        handle.stop();
        let _ = send.send(());
    })
    .unwrap();
    factory.start().unwrap();
    receive.recv_timeout(LIMIT).unwrap();
    assert!(maps.is_stopped());
    assert!(receive.recv_timeout(LIMIT).is_err(), "the handler is gone");
    factory.shutdown().unwrap();
}

#[test]
fn one_that_was_stopped_by_itself_is_made_anew_when_asked_for() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let first = factory.informer::<ConfigMap>();
    sync(&factory);
    first.stop();
    factory.start().unwrap();
    let second = factory.informer::<ConfigMap>();
    assert!(!second.is_same(&first));
    sync(&factory);
    assert_eq!((keys(&first), keys(&second)), (keys(&second), vec!["default/a".to_owned()]));
}

/// The end of an informer waits for its handlers, and this one asks the factory for something.
#[test]
fn one_whose_handler_still_runs_is_replaced_without_locking_the_handler_out() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let (send, told) = crossbeam_channel::unbounded();
    let (handle, informer) = (factory.handle(), factory.informer::<ConfigMap>());
    let weak = informer.downgrade();
    informer
        .on_event(move |_| {
            weak.upgrade().unwrap().stop();
            send.send("stopped").unwrap();
            for _ in 0..300 {
                drop(handle.upgrade());
                let _ = StopToken::new().wait_timeout(Duration::from_millis(1));
            }
            send.send("over").unwrap();
        })
        .unwrap();
    drop(informer);
    factory.start().unwrap();
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), "stopped");
    let (asked, got) = crossbeam_channel::unbounded();
    std::thread::spawn(move || {
        let informer = factory.informer::<ConfigMap>();
        asked.send(informer.is_stopped()).unwrap();
    });
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), "over");
    assert!(!got.recv_timeout(LIMIT).unwrap());
}

#[test]
fn several_clusters_are_told_apart() {
    let servers: [ApiServer; 2] = std::array::from_fn(|_| server());
    let (send, receive) = crossbeam_channel::unbounded();
    let factories = [0, 1].map(|n| {
        put(&servers[n], "default", "a");
        let config = Config::builder(servers[n].url()).cluster(format!("cluster-{n}"));
        let client = kinformer::Client::new(config.build().unwrap()).unwrap();
        let factory = kinformer::SharedInformerFactory::new(client);
        factory.informer::<ConfigMap>().add_event_handler(send.clone()).unwrap();
        sync(&factory);
        factory
    });
    let mut from: Vec<_> =
        (0..2).map(|_| receive.recv_timeout(LIMIT).unwrap().cluster().to_owned()).collect();
    from.sort();
    assert_eq!(from, ["cluster-0", "cluster-1"]);
    drop(factories);
}

#[test]
fn a_builder_may_be_printed_and_a_factory_too() {
    let server = server();
    let builder = builder(&server).namespace("shop");
    assert!(format!("{builder:?}").contains("shop"));
    let factory = builder.build();
    let _ = factory.informer::<ConfigMap>();
    assert!(format!("{factory:?}").contains("configmaps in shop"), "{factory:?}");
}

/// A factory that stops with the token: that of its client, or its own.
fn stopped_by(server: &ApiServer, stop: &StopToken, of_client: bool) -> SharedInformerFactory {
    if of_client {
        SharedInformerFactory::new(client(server).with_stop(stop))
    } else {
        builder(server).stop(stop).build()
    }
}

#[test]
fn everything_stops_with_the_token_of_the_client_or_of_the_factory() {
    for of_client in [true, false] {
        let server = server();
        put(&server, "default", "a");
        let stop = StopToken::new();
        let factory = stopped_by(&server, &stop, of_client);
        let maps = factory.informer::<ConfigMap>();
        let events = listen(&maps);
        sync(&factory);
        let made = factory.informer_with(|client, _| {
            SharedInformer::builder(ListWatch::<Secret>::from_client(client, None))
        });
        let secrets = made.unwrap();
        factory.start().unwrap();
        let unstarted = factory.informer::<Node>();
        stop.stop();
        wait_until("the end", || maps.is_stopped() && secrets.is_stopped());
        assert_eq!(events.iter().count(), 1, "the handler has gone");
        assert_eq!(keys(&maps), ["default/a"], "what was known can be read");
        let late = factory.wait_for_cache_sync(LIMIT).unwrap_err().to_string();
        assert!(late.contains("configmaps: stopped"), "{late}");
        assert!(unstarted.is_stopped() && unstarted.start().is_err(), "too late");
        assert!(factory.informer::<Pod>().start().is_err(), "much too late");
        let again = factory.start().unwrap_err().to_string();
        assert!(again.contains("has been shut down"), "{again}");
        assert!(factory.handle().upgrade().is_none());
        factory.shutdown().unwrap();
        wait_until("no watch", || server.watches() == 0);
    }
}

#[test]
fn the_shutdown_of_a_factory_leaves_the_tokens_and_the_client_that_it_was_given_alone() {
    let server = server();
    let (stop, client) = (StopToken::new(), client(&server));
    let [one, other] =
        [0, 1].map(|_| SharedInformerFactory::builder(client.clone()).stop(&stop).build());
    let maps = other.informer::<ConfigMap>();
    sync(&one);
    sync(&other);
    one.shutdown().unwrap();
    assert!(!stop.is_stopped() && !maps.is_stopped());
    client.get_raw("/api").unwrap();
    stop.stop();
    wait_until("the end of the other", || maps.is_stopped());
    client.get_raw("/api").unwrap();
}

#[test]
fn the_token_of_the_client_or_of_the_factory_ends_a_wait() {
    for of_client in [true, false] {
        let server = server();
        server.inject(When::any().verb(Verb::Watch), Fault::Hang { at: Moment::BeforeHead });
        let stop = StopToken::new();
        let factory = stopped_by(&server, &stop, of_client);
        let maps = factory.informer::<ConfigMap>();
        factory.start().unwrap();
        let client = client(&server);
        let client = if of_client { client.with_stop(&stop) } else { client };
        let mut alone = SharedInformer::builder(ListWatch::<Secret>::from_client(&client, None));
        if !of_client {
            alone = alone.stop(&stop);
        }
        let alone = alone.build().unwrap();
        alone.start().unwrap();
        std::thread::scope(|scope| {
            let waits = [
                scope.spawn(|| factory.wait_for_cache_sync(Duration::MAX)),
                scope.spawn(|| maps.wait_for_sync(Duration::MAX)),
                scope.spawn(|| alone.wait_for_sync(Duration::MAX)),
            ];
            wait_until("requests", || server.requests().len() >= 2);
            stop.stop();
            for wait in waits {
                let error = wait.join().unwrap().unwrap_err();
                assert!(error.to_string().contains("stopped"), "{error}");
            }
        });
    }
}
