//! Saying how an informer is doing, and why it has not synced.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Doing, InformerState, ListWatch, SharedInformer,
    testing::{ApiServer, Fault, Moment, StatusFault, Verb, When},
};

use crate::support::{
    LIMIT, Source, builder, client, delete, listen, put, quick, started, wait_until,
};

/// Why it has not synced after a moment.
fn why<K: 'static>(informer: &SharedInformer<K>) -> String {
    informer.wait_for_sync(Duration::from_millis(20)).unwrap_err().to_string()
}

#[test]
fn waiting_for_one_that_has_not_started_says_so() {
    let server = ApiServer::start().unwrap();
    let informer = builder(&server).name("the maps").build().unwrap();
    assert_eq!(informer.name(), "the maps");
    let why = why(&informer);
    assert!(why.contains("the maps has not synced after 20ms: not started"), "{why}");
    informer.stop();
    assert!(informer.wait_for_sync(LIMIT).unwrap_err().to_string().contains("stopped"));
}

#[test]
fn waiting_says_what_the_server_said() {
    let server = ApiServer::start().unwrap();
    let message = "configmaps is forbidden: not for you";
    let refusal = Fault::Status(StatusFault::new(403).reason("Forbidden").message(message));
    server.inject(When::any().resource("configmaps"), refusal);
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    wait_until("a failure", || informer.status().failures > 0);
    let forbidden = why(&informer);
    assert!(forbidden.contains(message), "{forbidden}");
    server.clear_faults();
    informer.wait_for_sync(LIMIT).unwrap();
    wait_until("no error any more", || informer.status().last_error.is_none());
}

#[test]
fn waiting_says_that_nobody_listens() {
    let server = ApiServer::start().unwrap();
    let client = client(&server);
    drop(server);
    let source = ListWatch::<ConfigMap>::from_client(&client, None);
    let informer = SharedInformer::builder(source).backoff(quick()).build().unwrap();
    informer.start().unwrap();
    wait_until("a failure", || informer.status().failures > 0);
    let refused = why(&informer);
    assert!(refused.to_lowercase().contains("refused"), "{refused}");
}

#[test]
fn waiting_says_that_it_is_still_listing() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    server.inject(When::any().verb(Verb::List), Fault::Hang { at: Moment::AfterHead });
    let informer = builder(&server).streamed_lists(false).build().unwrap();
    informer.start().unwrap();
    wait_until("listing", || matches!(informer.status().doing, Doing::Listing { .. }));
    let listing = why(&informer);
    assert!(listing.contains("still listing: nothing has come yet"), "{listing}");
}

#[test]
fn waiting_says_how_many_objects_the_server_expects_to_list() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        put(&server, name, "1");
    }
    // Lists from the server's cache come whole: this one is not to be had from there.
    let list = || When::any().verb(Verb::List);
    server.inject(list().once(), Fault::status(410));
    server.inject(list().after(1), Fault::Hang { at: Moment::BeforeHead });
    let informer = builder(&server).streamed_lists(false).page_size(2).build().unwrap();
    informer.start().unwrap();
    let doing = Doing::Listing { received: 2, expected: Some(5) };
    wait_until("a page has come", || informer.status().doing == doing);
    let listing = why(&informer);
    assert!(listing.contains("still listing: 2 of about 5"), "{listing}");
}

#[test]
fn waiting_names_the_handler_that_is_still_being_told() {
    let source = Source::new();
    for name in ["a", "b", "c"] {
        source.put(name, "1");
    }
    let informer = source.informer().build().unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let handler = informer.handlers().on_add(move |_, _| {
        let _ = blocked.recv();
    });
    informer.add_event_handler(handler).unwrap();
    informer.start().unwrap();
    // In the store before two are left: they may be two of those that have come so far.
    wait_until("two wait", || informer.has_synced() && informer.status().handlers[0].pending == 2);
    let behind = why(&informer);
    assert!(behind.contains("HandlerFuncs") && behind.contains("2 events"), "{behind}");
    assert!(informer.has_synced(), "the store has");
    drop(release);
    informer.wait_for_sync(LIMIT).unwrap();
}

#[test]
fn waiting_ends_with_the_informer() {
    let source = Source::with(|stop| {
        stop.wait();
        Err(kinformer::Error::Stopped)
    });
    let informer = source.informer().build().unwrap();
    informer.start().unwrap();
    let waiting = informer.clone();
    let waiter = std::thread::spawn(move || waiting.wait_for_sync(LIMIT));
    wait_until("it lists", || source.lists() == 1);
    informer.stop();
    assert!(waiter.join().unwrap().unwrap_err().to_string().contains("stopped"));
    assert!(!informer.has_synced());
}

#[test]
fn waiting_for_one_that_has_stopped_says_so_whatever_it_last_knew() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer().name("maps"));
    informer.stop();
    assert!(informer.has_synced(), "what it last knew can be read");
    let stopped = informer.wait_for_sync(LIMIT).unwrap_err().to_string();
    assert!(stopped.contains("maps has not synced: stopped"), "{stopped}");
    assert!(informer.clear());
    let cleared = informer.wait_for_sync(LIMIT).unwrap_err().to_string();
    assert!(cleared.contains("maps has not synced: stopped"), "{cleared}");
    let status = informer.status();
    assert!(!informer.has_synced() && !status.has_synced && status.objects == 0);
    let printed = status.to_string();
    let row: Vec<_> = printed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["maps", "stopped", "no"], "{printed}");
}

#[test]
fn a_status_counts_and_dates() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = builder(&server).streamed_lists(false).build().unwrap();
    let before = informer.status();
    assert_eq!((before.state, before.doing), (InformerState::NotStarted, Doing::Nothing));
    assert_eq!((before.objects, before.lists, before.watches, before.queued), (0, 0, 0, 0));
    assert!(before.watch_age.is_none() && before.last_event_age.is_none());
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    wait_until("watching", || informer.status().doing == Doing::Watching);
    let version = put(&server, "a", "2");
    assert_eq!(events.sorted(3).len(), 3);
    wait_until("the event", || informer.status().events == 1);
    let status = informer.status();
    assert_eq!((status.objects, status.lists, status.watches), (2, 1, 1));
    assert_eq!((status.resource.as_str(), status.has_synced), ("configmaps", true));
    assert!(status.last_error.is_none() && status.failures == 0, "{status:?}");
    assert!(status.watch_age.is_some_and(|age| age < LIMIT));
    assert!(status.last_event_age.is_some_and(|age| age < LIMIT));
    wait_until("the version", || informer.last_sync_resource_version() == version);
    assert_eq!(status.handlers.len(), 1);
    assert_eq!((status.events, status.all_failures), (1, 0));
    delete(&server, "a");
    assert_eq!(events.next(), "-a");
    assert_eq!(informer.status().objects, 1);
}

#[test]
fn the_last_error_appears_and_goes() {
    let server = ApiServer::start().unwrap();
    let informer = started(builder(&server));
    server.inject(When::any().resource("configmaps"), Fault::status(500));
    server.drop_connections();
    // The first may be about the connection.
    wait_until("an error", || {
        let status = informer.status();
        status.failures > 1 && status.last_error.is_some_and(|error| error.contains("500"))
    });
    assert!(informer.status().watch_age.is_none());
    server.clear_faults();
    wait_until("none", || informer.status().last_error.is_none());
    assert_eq!(informer.status().failures, 0);
}

#[test]
fn a_status_prints_as_a_small_table() {
    let source = Source::new();
    source.put("a", "1");
    let informer = source.informer().name("maps").build().unwrap();
    assert!(informer.status().to_string().contains("\nmaps      not started  no"));
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    wait_until("watching", || informer.status().doing == Doing::Watching);
    assert_eq!(events.next(), "+a 1 true");
    // It has been told, and may not have returned yet; then it is told that this was all.
    let mut status = informer.status();
    wait_until("an idle handler", || {
        status = informer.status();
        status.handlers[0].busy_for.is_none()
    });
    let seconds = |age: Option<Duration>| format!("{}s", age.unwrap().as_secs());
    let (watching, last) = (seconds(status.watch_age), seconds(status.last_event_age));
    let printed = status.to_string();
    let lines: Vec<Vec<_>> =
        printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = ["maps", "watching", &watching, "yes", "1", "0", "1", "0", "1", "1", "0", &last];
    assert_eq!(lines[1], row, "{printed}");
    let heading = ["HANDLER", "SYNCED", "WAITING", "OLDEST", "BUSY", "PANICS", "ERRORS"];
    assert_eq!(lines[2], heading);
    assert_eq!(&lines[3][1..], ["yes", "0", "-", "-", "0", "0"], "{printed}");
    informer.stop();
    assert!(informer.status().to_string().contains("stopped"));
}
