//! Informers for all that a server has.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    DiscoveredResource, Event, Everything, GroupVersionResource, SharedInformerFactory, StopToken,
    testing::{Fault, When},
};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{
    LIMIT, add_crd, builder, client, factory, keys, put, requests, server, wait_until,
};

/// Small, so that a test does not start a hundred informers.
const FEW: [&str; 4] = ["configmaps", "customresourcedefinitions", "secrets", "widgets"];

fn few(factory: &SharedInformerFactory) -> kinformer::EverythingBuilder {
    factory.everything().filter(|found| FEW.contains(&found.resource.plural()))
}

fn plurals(all: &Everything) -> Vec<String> {
    all.resources().into_iter().map(|resource| resource.resource).collect()
}

#[test]
fn every_resource_that_can_be_watched_is() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let (send, receive) = crossbeam_channel::unbounded();
    let all = factory.everything().watch(send).unwrap();
    let expected: BTreeSet<GroupVersionResource> = client(&server)
        .discovery()
        .preferred_resources()
        .unwrap()
        .into_iter()
        .filter(|found| found.supports(&["list", "watch"]))
        .map(|found| found.resource.gvr())
        .collect();
    assert!(expected.len() > 40, "{}", expected.len());
    assert_eq!(all.resources().into_iter().collect::<BTreeSet<_>>(), expected);
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert_eq!(all.informers().len(), expected.len());
    println!("{} resources", expected.len());
    let told: Vec<_> = receive.try_iter().map(|event| event.to_string()).collect();
    assert!(told.contains(&"added ConfigMap default/a".to_owned()), "{told:?}");
    drop(all);
    wait_until("no watch", || server.watches() == 0);
    assert!(receive.iter().count() < 1_000, "no handler is left");
    assert!(factory.status().informers.is_empty());
}

#[test]
fn resources_come_and_go_with_their_definitions() {
    let server = server();
    let factory = factory(&server);
    let (send, receive) = crossbeam_channel::unbounded();
    let all = few(&factory).watch(send).unwrap();
    assert_eq!(plurals(&all), ["configmaps", "secrets", "customresourcedefinitions"]);
    factory.wait_for_cache_sync(LIMIT).unwrap();
    wait_until("watches", || server.watches() == 3);

    add_crd(&server, "Widget", "widgets");
    wait_until("the new resource", || plurals(&all).contains(&"widgets".to_owned()));
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"}});
    server.put(widget).unwrap();
    let event = receive.iter().find(|event: &Event| event.key().as_str() == "default/a").unwrap();
    assert_eq!(event.to_string(), "added Widget default/a");
    let widgets = all.informers().into_iter().find(|all| all.resource().plural() == "widgets");
    let widgets = widgets.unwrap();

    let definition = "widgets.example.com";
    server.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition).unwrap();
    wait_until("it is gone", || !plurals(&all).contains(&"widgets".to_owned()));
    wait_until("and its informer", || widgets.is_stopped());
    assert!(keys(&widgets).is_empty());
    wait_until("its watch too", || server.watches() == 3);
    assert_eq!(all.last_error(), None);
}

#[test]
fn a_server_that_cannot_be_asked_for_a_while_changes_nothing() {
    let server = server();
    let factory = factory(&server);
    let all = few(&factory).look_every(Duration::from_millis(100)).watch(|_: Event| ()).unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let before = all.resources();
    server.inject(When::any(), Fault::status(500));
    wait_until("a failure", || all.last_error().is_some());
    assert_eq!(all.resources(), before);
    server.clear_faults();
    wait_until("no failure", || all.last_error().is_none());
    assert!(all.informers().iter().all(|informer| !informer.is_stopped()));
}

#[test]
fn informers_that_others_want_go_on_without_the_handlers() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    let all = few(&factory).watch(|_: Event| ()).unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert!(all.informers().iter().any(|informer| informer.is_same(&maps)));
    assert_eq!(maps.status().handlers.len(), 1);
    drop(all);
    assert!(!maps.is_stopped() && maps.status().handlers.is_empty());
    assert_eq!(factory.status().informers.len(), 1);
}

#[test]
fn it_ends_with_the_factory_and_cannot_begin_after_it() {
    let server = server();
    let factory = factory(&server);
    let all = few(&factory).look_every(Duration::from_millis(100)).watch(|_: Event| ()).unwrap();
    let builder = few(&factory);
    factory.shutdown().unwrap();
    assert!(all.informers().iter().all(kinformer::SharedInformer::is_stopped));
    let late = builder.watch(|_: Event| ()).unwrap_err().to_string();
    assert!(late.contains("has been shut down"), "{late}");
    drop(factory);
    drop(all);
}

#[test]
fn a_handler_may_drop_it() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let slot = std::sync::Arc::new(parking_lot::Mutex::new(None::<Everything>));
    let (send, receive) = std::sync::mpsc::channel();
    let taken = slot.clone();
    let handler = move |_: Event| {
        if let Some(all) = taken.lock().take() {
            drop(all);
            let _ = send.send(());
        }
    };
    *slot.lock() = Some(few(&factory).watch(handler).unwrap());
    put(&server, "default", "b");
    receive.recv_timeout(LIMIT).unwrap();
    wait_until("no watch", || server.watches() == 0);
}

#[test]
fn the_server_is_not_asked_again_and_again_when_nothing_changes() {
    let server = server();
    let factory = builder(&server).build();
    let all = few(&factory).watch(|_: Event| ()).unwrap();
    let asked = 2;
    wait_until("once more, when definitions have been listed", || {
        requests(&server, "\"/apis\"") == asked
    });
    put(&server, "default", "a");
    wait_until("it is there", || all.informers().iter().any(|all| all.store().len() == 1));
    assert_eq!(requests(&server, "\"/apis\""), asked);
}

fn widget(name: &str) -> serde_json::Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"}})
}

fn delete_definition(server: &kinformer::testing::ApiServer) {
    let definition = "widgets.example.com";
    server.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition).unwrap();
}

#[test]
fn what_somebody_stopped_is_watched_again() {
    let server = server();
    put(&server, "default", "a");
    let factory = factory(&server);
    let (send, receive) = crossbeam_channel::unbounded();
    let all = few(&factory).look_every(Duration::from_millis(100)).watch(send).unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let find = || all.informers().into_iter().find(|one| one.resource().plural() == "configmaps");
    let first = find().unwrap();
    assert!(factory.stop_informer(&first));
    wait_until("another one", || find().is_some_and(|one| !one.is_same(&first)));
    let added = |event: &Event| event.to_string() == "added ConfigMap default/a";
    assert_eq!(receive.iter().filter(added).take(2).count(), 2, "told anew");
    assert!(!find().unwrap().is_stopped());
}

/// Slower than the whole end of the resource.
#[test]
fn a_slow_handler_is_told_that_everything_of_a_resource_that_goes_is_deleted() {
    let server = server();
    add_crd(&server, "Widget", "widgets");
    for n in 0..20 {
        server.put(widget(&format!("w{n}"))).unwrap();
    }
    let factory = factory(&server);
    let release = StopToken::new();
    let (blocked, (send, receive)) = (release.clone(), crossbeam_channel::unbounded());
    let handler = move |event: Event| {
        let is_widget = event.object().is_some_and(|object| object.kind() == "Widget");
        if is_widget {
            blocked.wait();
            let _ = send.send(event.to_string());
        }
    };
    let all = few(&factory).watch(handler).unwrap();
    let widgets = all.informers().into_iter().find(|one| one.resource().plural() == "widgets");
    let widgets = widgets.unwrap();
    wait_until("all are cached", || widgets.store().len() == 20);
    delete_definition(&server);
    wait_until("it is gone", || !plurals(&all).contains(&"widgets".to_owned()));
    assert!(!widgets.is_stopped(), "the handler has not been told");
    release.stop();
    wait_until("the handler was told", || widgets.is_stopped());
    let told: Vec<_> = receive.try_iter().collect();
    let count = |what: &str| told.iter().filter(|event| event.starts_with(what)).count();
    assert_eq!((count("added Widget"), count("deleted Widget")), (20, 20), "{told:?}");
    assert!(factory.status().informers.iter().all(|one| one.resource != "widgets.example.com"));
}

/// As after a connection that broke at the wrong moment: the deletions were never sent.
#[test]
fn objects_whose_deletions_were_missed_are_deleted_with_their_resource() {
    let server = server();
    add_crd(&server, "Widget", "widgets");
    server.put(widget("a")).unwrap();
    let factory = factory(&server);
    let (send, receive) = crossbeam_channel::unbounded();
    let all = few(&factory).watch(send).unwrap();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    server.inject(When::any().resource("widgets"), Fault::status(500));
    server.drop_connections();
    let widgets = all.informers().into_iter().find(|one| one.resource().plural() == "widgets");
    let widgets = widgets.unwrap();
    wait_until("it cannot watch", || widgets.status().failures > 0);
    delete_definition(&server);
    let mut told = std::iter::from_fn(|| receive.recv_timeout(LIMIT).ok());
    let deleted = told.find(|event: &Event| event.to_string().starts_with("deleted Widget"));
    let deleted = deleted.map(|event| event.to_string());
    assert_eq!(deleted.as_deref(), Some("deleted Widget default/a (final state unknown)"));
    wait_until("its informer is stopped", || widgets.is_stopped());
}

#[test]
fn resyncs_of_definitions_are_no_news() {
    let server = server();
    add_crd(&server, "Widget", "widgets");
    let factory = builder(&server).resync(Duration::from_secs(1)).build();
    let (send, receive) = crossbeam_channel::unbounded();
    let all = few(&factory).watch(send).unwrap();
    let is_resync = |event: &Event| match event {
        Event::Updated { old, new } => old.resource_version() == new.resource_version(),
        _ => false,
    };
    wait_until("the looks of the start", || requests(&server, "\"/apis\"") == 2);
    let _before = receive.try_iter().count();
    assert_eq!(receive.iter().filter(is_resync).take(2).count(), 2);
    assert_eq!(requests(&server, "\"/apis\""), 2, "none but those");
    drop(all);
}

/// The first discovery does not know of it, and the first list of definitions has it.
#[test]
fn a_definition_made_during_the_first_discovery_is_not_left_until_the_next() {
    let server = server();
    let factory = factory(&server);
    let ready = std::sync::atomic::AtomicBool::new(true);
    let shared = std::sync::Arc::new(server);
    let during = shared.clone();
    let first: Arc<Mutex<Vec<String>>> = Arc::default();
    // The first discovery is made by the caller, later ones by a thread of their own.
    let (found_first, caller) = (first.clone(), std::thread::current().id());
    // The filter is called when the server has been asked, and before anything is watched.
    let all = factory
        .everything()
        .filter(move |found| {
            if ready.swap(false, std::sync::atomic::Ordering::SeqCst) {
                add_crd(&during, "Widget", "widgets");
            }
            if std::thread::current().id() == caller {
                found_first.lock().push(found.resource.plural().to_owned());
            }
            FEW.contains(&found.resource.plural())
        })
        .watch(|_: Event| ())
        .unwrap();
    let first = first.lock();
    assert!(first.contains(&"configmaps".to_owned()), "{first:?}");
    assert!(!first.contains(&"widgets".to_owned()), "not at first: {first:?}");
    wait_until("soon", || plurals(&all).contains(&"widgets".to_owned()));
    drop(all);
    drop(shared);
}

/// So that nobody is told that it was deleted.
#[test]
fn a_definition_deleted_before_definitions_were_listed_is_not_left_until_the_next_look() {
    let server = server();
    add_crd(&server, "Widget", "widgets");
    server.put(widget("a")).unwrap();
    let definitions = When::any().resource("customresourcedefinitions");
    server.inject(definitions, Fault::status(503));
    let factory = factory(&server);
    let all = few(&factory).watch(|_: Event| ()).unwrap();
    let widgets = all.informers().into_iter().find(|one| one.resource().plural() == "widgets");
    widgets.unwrap().wait_for_sync(LIMIT).unwrap();
    delete_definition(&server);
    server.clear_faults();
    wait_until("it is gone", || !plurals(&all).contains(&"widgets".to_owned()));
}

#[test]
fn a_filter_that_panics_ends_nothing() {
    let server = server();
    let factory = factory(&server);
    let (calls, seen) = (std::sync::atomic::AtomicUsize::new(0), StopToken::new());
    let has_been_seen = seen.clone();
    let all = factory
        .everything()
        .filter(move |found| {
            let is_map = found.resource.plural() == "configmaps";
            let call = calls.fetch_add(usize::from(is_map), std::sync::atomic::Ordering::SeqCst);
            // And again, until somebody has seen it: what went wrong is known until the next look.
            assert!(!is_map || call == 0 || has_been_seen.is_stopped(), "the second time");
            FEW.contains(&found.resource.plural())
        })
        .look_every(Duration::from_millis(100))
        .watch(|_: Event| ())
        .unwrap();
    let before = all.resources();
    wait_until("the panic", || all.last_error().is_some_and(|why| why.contains("the second time")));
    seen.stop();
    wait_until("it goes on", || all.last_error().is_none());
    assert_eq!(all.resources(), before);
}

#[test]
fn its_own_filter_may_drop_it() {
    let server = server();
    let factory = factory(&server);
    let slot: Arc<Mutex<Option<Everything>>> = Arc::default();
    let (own, dropped) = (slot.clone(), StopToken::new());
    let told = dropped.clone();
    let filter = move |_: &DiscoveredResource| {
        if let Some(everything) = own.lock().take() {
            drop(everything);
            told.stop();
        }
        false
    };
    let period = Duration::from_millis(100);
    let everything = factory.everything().filter(filter).look_every(period).watch(|_: Event| ());
    *slot.lock() = Some(everything.unwrap());
    assert!(dropped.wait_timeout(LIMIT), "the filter was called again, and did not panic");
    factory.shutdown().unwrap();
}
