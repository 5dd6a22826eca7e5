//! Shared informers on the embedded server.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Backoff, Client, DynamicObject, Error, Event, InformerState, ListWatch, Object, SharedInformer,
    SharedInformerBuilder,
    cache::Deleted,
    cache::Indexers,
    labels,
    testing::{ApiServer, Fault, Verb, When},
};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(20);

fn client(server: &ApiServer) -> Client {
    Client::new(server.config()).unwrap()
}

fn builder(server: &ApiServer) -> SharedInformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::from_client(&client(server), Some("default"));
    SharedInformer::builder(source).backoff(quick())
}

fn quick() -> Backoff {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(10);
    backoff.cap = Duration::from_millis(50);
    backoff
}

fn put(server: &ApiServer, name: &str, value: &str) {
    server
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
            "data": {"value": value}}))
        .unwrap();
}

fn delete(client: &Client, name: &str) {
    client.api::<ConfigMap>().namespace("default").delete(name).unwrap();
}

/// Events as short texts.
fn listen(informer: &SharedInformer<ConfigMap>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    informer
        .on_event(move |event| {
            let text = match &event {
                Event::Added { object, initial } => {
                    format!("+{} {} {initial}", object.name(), value(object))
                }
                Event::Updated { old, new } => {
                    format!("~{} {}>{}", new.name(), value(old), value(new))
                }
                Event::Deleted(Deleted::Known(object)) => format!("-{}", object.name()),
                Event::Deleted(Deleted::FinalStateUnknown { key, last }) => {
                    format!("?{} {}", key.name(), last.as_ref().map(value).unwrap_or_default())
                }
                other => format!("{other}"),
            };
            let _ = send.send(text);
        })
        .unwrap();
    receive
}

fn value(object: &Object<ConfigMap>) -> String {
    let body = object.get().unwrap();
    body.data.as_ref().and_then(|data| data.get("value").cloned()).unwrap_or_default()
}

fn next(events: &mpsc::Receiver<String>) -> String {
    events.recv_timeout(LIMIT).expect("an event")
}

fn next_sorted(events: &mpsc::Receiver<String>, count: usize) -> Vec<String> {
    let mut found: Vec<_> = (0..count).map(|_| next(events)).collect();
    found.sort();
    found
}

#[test]
fn the_store_follows_the_server_and_handlers_are_told() {
    for streamed in [true, false] {
        let server = ApiServer::start().unwrap();
        put(&server, "a", "1");
        put(&server, "b", "1");
        let informer = builder(&server).streamed_lists(streamed).build().unwrap();
        let events = listen(&informer);
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        assert_eq!(next_sorted(&events, 2), ["+a 1 true", "+b 1 true"]);
        assert_eq!(informer.store().len(), 2);

        put(&server, "c", "1");
        assert_eq!(next(&events), "+c 1 false");
        put(&server, "a", "2");
        assert_eq!(next(&events), "~a 1>2");
        delete(&client(&server), "b");
        assert_eq!(next(&events), "-b");
        let lister = informer.lister();
        assert_eq!(value(&lister.namespace("default").get("a").unwrap()), "2");
        assert!(lister.get("default/b").unwrap_err().is_not_found());
        assert_eq!(lister.list(&labels::parse("app in (a,c)").unwrap()).len(), 2);
        informer.stop();
        assert_eq!(informer.status().state, InformerState::Stopped);
        assert_eq!(informer.store().len(), 2, "what it knew can still be read");
    }
}

#[test]
fn a_late_handler_is_told_of_everything_once() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let events = listen(&informer);
    assert_eq!(next(&events), "+a 1 true");
    informer.wait_for_sync(LIMIT).unwrap();
    put(&server, "a", "2");
    assert_eq!(next(&events), "~a 1>2");
}

#[test]
fn what_vanished_while_the_server_was_away_is_told_as_deleted_once() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = builder(&server).build().unwrap();
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(next_sorted(&events, 2), ["+a 1 true", "+b 1 true"]);
    // Watches fail until the deletion is out of reach of the history.
    server.inject(When::any().verb(Verb::Watch), Fault::status(503));
    server.drop_connections();
    delete(&client(&server), "a");
    put(&server, "b", "2");
    server.compact();
    server.clear_faults();
    assert_eq!(next_sorted(&events, 2), ["?a 1", "~b 1>2"]);
    assert_eq!(informer.store().list_keys(), ["default/b"]);
    assert!(events.recv_timeout(Duration::from_millis(100)).is_err(), "and nothing else");
}

#[test]
fn stopping_takes_milliseconds_whatever_is_under_way() {
    let server = ApiServer::start().unwrap();
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let start = Instant::now();
    informer.stop();
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    assert!(informer.is_stopped());
    assert!(informer.start().is_err(), "for good");
    assert!(informer.on_event(|_| ()).is_err());
    informer.stop();
}

#[test]
fn waiting_says_why_it_waited_in_vain() {
    let server = ApiServer::start().unwrap();
    server.inject(When::any().resource("configmaps"), Fault::status(403));
    let informer = builder(&server).build().unwrap();
    let not_started = informer.wait_for_sync(Duration::from_millis(1)).unwrap_err().to_string();
    assert!(not_started.contains("not started"), "{not_started}");
    informer.start().unwrap();
    let forbidden = informer.wait_for_sync(Duration::from_millis(300)).unwrap_err().to_string();
    assert!(forbidden.contains("configmaps") && forbidden.contains("403"), "{forbidden}");
    server.clear_faults();
    informer.wait_for_sync(LIMIT).unwrap();
}

#[test]
fn a_handler_that_panics_goes_on_and_counts_as_synced() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = builder(&server).build().unwrap();
    let registration = informer
        .on_event(|event: Event<ConfigMap>| {
            assert!(event.key().name() != "a", "on purpose");
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert!(registration.has_synced());
    assert_eq!(informer.status().handlers[0].panics, 1);
}

#[test]
fn a_handler_may_stop_the_informer_or_remove_itself() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = builder(&server).build().unwrap();
    let (send, receive) = mpsc::channel();
    let own = Arc::new(parking_lot::Mutex::new(None::<kinformer::Registration>));
    let taken = own.clone();
    let registration = informer
        .on_event(move |_| {
            if let Some(registration) = taken.lock().take() {
                registration.remove();
            }
            let _ = send.send(());
        })
        .unwrap();
    *own.lock() = Some(registration);
    informer.start().unwrap();
    receive.recv_timeout(LIMIT).unwrap();
    put(&server, "b", "1");
    let other = listen(&informer);
    let mut seen = next_sorted(&other, 2);
    seen.dedup();
    assert!(receive.recv_timeout(Duration::from_millis(100)).is_err(), "removed");

    let stopper = informer.clone();
    let (send, receive) = mpsc::channel();
    informer
        .on_event(move |_| {
            stopper.stop();
            let _ = send.send(());
        })
        .unwrap();
    receive.recv_timeout(LIMIT).unwrap();
    assert!(informer.is_stopped());
}

#[test]
fn one_reads_what_one_wrote() {
    let server = ApiServer::start().unwrap();
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let maps = client(&server).api::<ConfigMap>().namespace("default");
    for n in 0..20 {
        let made = maps.create(&json!({"metadata": {"name": format!("m{n}")}})).unwrap();
        informer.wait_for_resource_version(made.resource_version(), LIMIT).unwrap();
        assert!(informer.store().get_by_key(made.key().as_str()).is_some());
    }
    let never = informer.wait_for_resource_version("999999999", Duration::from_millis(10));
    assert!(never.unwrap_err().to_string().contains("999999999"));
}

#[test]
fn objects_are_pruned_and_transformed_before_anybody_sees_them() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = builder(&server)
        .prune(&["/metadata/labels"])
        .transform(|map: &mut ConfigMap| {
            map.data.get_or_insert_default().insert("more".into(), "x".into());
            Ok(())
        })
        .indexers(Indexers::new().with("keys", |map: &Object<ConfigMap>| {
            map.get().map_or_else(
                |_| vec![],
                |map| map.data.iter().flatten().map(|(k, _)| k.clone()).collect(),
            )
        }))
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let object = informer.lister().get("default/a").unwrap();
    assert!(object.labels().is_empty());
    assert!(object.json().contains(r#""more":"x""#), "{}", object.json());
    assert_eq!(informer.indexer().index_keys("keys", "more").unwrap(), ["default/a"]);
    assert!(builder(&server).prune(&["metadata"]).build().is_err());
}

#[test]
fn handles_of_any_type_are_one_informer() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let typed = builder(&server).build().unwrap();
    let dynamic = typed.cast::<DynamicObject>();
    dynamic.start().unwrap();
    typed.wait_for_sync(LIMIT).unwrap();
    let object = dynamic.store().get_by_key("default/a").unwrap();
    assert_eq!(object.get().unwrap()["data"]["value"], "1");
    assert!(object.is_same(&typed.store().get_by_key("default/a").unwrap()));
}

#[test]
fn an_informer_stops_with_its_last_handle_and_leaves_no_thread() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    for _ in 0..20 {
        let informer = builder(&server).build().unwrap();
        let events = listen(&informer);
        informer.start().unwrap();
        assert_eq!(next(&events), "+a 1 true");
        drop(informer);
        assert!(matches!(events.recv(), Err(mpsc::RecvError)), "the handler is gone");
    }
}

#[test]
fn errors_reach_the_error_handler() {
    let server = ApiServer::start().unwrap();
    server.inject(When::any().resource("configmaps").times(3), Fault::status(500));
    let (send, receive) = mpsc::channel();
    let informer = builder(&server)
        .on_error(move |error: &Error| {
            let _ = send.send(error.is_internal_error());
        })
        .build()
        .unwrap();
    informer.start().unwrap();
    assert!(receive.recv_timeout(LIMIT).unwrap());
    informer.wait_for_sync(LIMIT).unwrap();
}
