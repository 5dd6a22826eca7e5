//! Informers that cannot do what they should say so, and go on when they can.

use std::{
    borrow::Cow,
    sync::mpsc,
    time::{Duration, Instant},
};

use kinformer::{
    ApiResource, Client, Doing, DynamicObject, Event, EventHandler, InformerState, ListWatch,
    SharedInformer, SharedInformerBuilder,
    config::Config,
    labels,
    testing::{ApiServer, Fault, When},
};
use log::{Level, LevelFilter, Log, Metadata, Record};
use serde_json::{Value, json};

use crate::{
    alone,
    support::{LIMIT, builder, client, put, quick, started, wait_until},
};

fn widgets() -> ApiResource {
    ApiResource::namespaced("example.com/v1", "Widget", "widgets")
}

fn widget_informer(client: &Client) -> SharedInformerBuilder<DynamicObject> {
    let source = ListWatch::<DynamicObject>::of_resource(client, &widgets(), None);
    SharedInformer::builder(source).backoff(quick())
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}})
}

#[test]
fn waiting_for_a_kind_that_is_not_served_says_so_and_ends_well_once_it_is() {
    let server = ApiServer::start().unwrap();
    let informer = widget_informer(&client(&server)).build().unwrap();
    informer.start().unwrap();
    wait_until("a failure", || informer.status().failures > 0);
    let why = informer.wait_for_sync(Duration::from_millis(20)).unwrap_err().to_string();
    assert!(why.contains("widgets.example.com") && why.contains("404"), "{why}");
    server.create(definition()).unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    server.create(widget("a")).unwrap();
    wait_until("the widget", || informer.store().list_keys() == ["default/a"]);
}

#[test]
fn an_informer_whose_kind_is_removed_tells_the_deletions_lives_on_and_can_be_stopped() {
    let server = ApiServer::start().unwrap();
    server.create(definition()).unwrap();
    server.create(widget("a")).unwrap();
    let informer = started(widget_informer(&client(&server)));
    let (send, deleted) = mpsc::channel();
    let on_delete = informer.handlers().on_delete(move |gone| {
        let _ = send.send(gone.object().unwrap().key().to_string());
    });
    informer.add_event_handler(on_delete).unwrap();
    let remove = |last: &str| {
        let name = "widgets.example.com";
        server.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", name).unwrap();
        assert_eq!(deleted.recv_timeout(LIMIT).unwrap(), last);
        server.drop_connections();
        // The first may be about the connection.
        wait_until("failures", || {
            let status = informer.status();
            status.failures > 1 && status.last_error.is_some_and(|why| why.contains("404"))
        });
    };
    remove("default/a");
    server.create(definition()).unwrap();
    server.create(widget("b")).unwrap();
    wait_until("the new one", || informer.store().list_keys() == ["default/b"]);
    // Who only lists, and watches too late, is not told.
    wait_until("a watch", || informer.status().doing == Doing::Watching);
    remove("default/b");
    let start = Instant::now();
    informer.stop();
    assert!(start.elapsed() < LIMIT / 2, "{:?}", start.elapsed());
    assert_eq!(informer.status().state, InformerState::Stopped);
    // The server may not have seen yet what was asked before the stop.
    wait_until("nobody asks any more", || {
        server.clear_requests();
        let _ = kinformer::StopToken::new().wait_timeout(Duration::from_millis(200));
        server.requests().is_empty()
    });
}

#[test]
fn a_cache_that_cannot_fill_is_read_without_waiting_and_says_that_it_has_not_synced() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    server.inject(When::any().resource("configmaps"), Fault::status(403));
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    wait_until("a failure", || informer.status().failures > 0);
    let start = Instant::now();
    assert!(informer.lister().list(&labels::everything()).is_empty());
    assert!(informer.lister().get("default/a").unwrap_err().is_not_found());
    assert!(start.elapsed() < LIMIT / 2, "{:?}", start.elapsed());
    let status = informer.status();
    assert!(!status.has_synced && status.last_event_age.is_none() && status.watch_age.is_none());
    let why = status.unsynced().unwrap();
    assert!(why.contains("403"), "{why}");
}

#[test]
fn resyncs_go_on_after_a_handler_that_panics_in_each() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = builder(&server).resync(Duration::from_millis(10)).build().unwrap();
    let (send, resyncs) = mpsc::channel();
    informer
        .on_event(move |event| {
            if matches!(event, Event::Updated { .. }) {
                let _ = send.send(());
                panic!("on purpose");
            }
        })
        .unwrap();
    informer.start().unwrap();
    for _ in 0..5 {
        resyncs.recv_timeout(LIMIT).unwrap();
    }
    wait_until("the panics are counted", || informer.status().handlers[0].panics >= 5);
}

/// Prints what anybody would look at.
struct Loud;

impl Log for Loud {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            println!("logged: {} {}", record.level(), record.args());
        }
    }

    fn flush(&self) {}
}

#[test]
#[ignore = "run by a_clean_stop_logs_nothing_above_debug, in its own process"]
fn stops_alone() {
    let (client, first) = alone_maps();
    first.stop();
    let maps = || {
        let informer = map_informer(&client);
        informer.on_event(|_| ()).unwrap();
        informer
    };
    for _ in 0..3 {
        started_and_stopped(&maps());
    }
    let starting = maps();
    starting.start().unwrap();
    drop(starting);
    log::info!("that was all");
}

/// An informer of ConfigMaps in a process that says what it logs.
fn alone_maps() -> (Client, SharedInformer<DynamicObject>) {
    log::set_logger(&Loud).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let client = Client::new(Config::builder(alone::server()).no_proxy().build().unwrap()).unwrap();
    let maps = map_informer(&client);
    (client, maps)
}

fn map_informer(client: &Client) -> SharedInformer<DynamicObject> {
    let maps = ApiResource::namespaced("v1", "ConfigMap", "configmaps");
    let source = ListWatch::<DynamicObject>::of_resource(client, &maps, None);
    SharedInformer::builder(source).build().unwrap()
}

fn started_and_stopped(informer: &SharedInformer<DynamicObject>) {
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    wait_until("it watches", || informer.status().watches > 0);
    informer.stop();
}

#[test]
fn a_clean_stop_logs_nothing_above_debug() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    assert_eq!(logged("health::stops_alone", &server), ["INFO that was all"]);
}

/// What a test that runs alone has logged.
fn logged(test: &str, server: &ApiServer) -> Vec<String> {
    let mut logged = Vec::new();
    alone::run(test, &server.url(), |line| {
        logged.extend(line.split_once("logged: ").map(|(_, text)| text.to_owned()));
    });
    logged
}

/// A handler with a name that cannot count.
struct Tally(mpsc::Sender<()>);

impl EventHandler<DynamicObject> for Tally {
    fn on_event(&mut self, _event: Event) -> kinformer::Result<()> {
        let _ = self.0.send(());
        panic!("more than ten fingers")
    }

    fn name(&self) -> Cow<'static, str> {
        "the tally".into()
    }
}

#[test]
#[ignore = "run by a_panic_of_a_handler_is_logged_with_its_name_and_what_it_said"]
fn panics_alone() {
    let (_client, maps) = alone_maps();
    let (send, told) = mpsc::channel();
    maps.add_event_handler(Tally(send)).unwrap();
    maps.start().unwrap();
    told.recv_timeout(LIMIT).unwrap();
    maps.stop();
}

#[test]
fn a_panic_of_a_handler_is_logged_with_its_name_and_what_it_said() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let logged = logged("health::panics_alone", &server);
    assert_eq!(logged, ["ERROR handler the tally of configmaps panicked: more than ten fingers"]);
}
