//! Informers for all that a server has.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Error, Event, Everything, GroupVersionResource, SharedInformerFactory,
    testing::{Fault, When},
};
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
    assert!(matches!(builder.watch(|_: Event| ()), Err(Error::Stopped)));
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
    factory.wait_for_cache_sync(LIMIT).unwrap();
    let asked = requests(&server, "\"/apis\"");
    assert_eq!(asked, 1);
    put(&server, "default", "a");
    wait_until("it is there", || all.informers().iter().any(|all| all.store().len() == 1));
    assert_eq!(requests(&server, "\"/apis\""), asked);
}
