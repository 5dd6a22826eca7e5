//! Informers with one handler and no threads but the controller's.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kinformer::testing::ApiServer;
use kinformer::{
    Client, Error, Event, Informer, ListWatch, Object, SharedInformer, StopToken, cache::Indexers,
};

use crate::support::{
    LIMIT, Source, client, delete, listener, put, quick, text, value, wait_until,
};

fn source(client: &Client) -> ListWatch<ConfigMap> {
    ListWatch::from_client(client, Some("default"))
}

#[test]
fn the_store_follows_and_the_handler_is_told() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let (handler, events) = listener();
    let (store, controller) = Informer::new(source(&client(&server)), handler);
    assert!(!controller.has_synced() && controller.last_sync_resource_version().is_empty());
    let running = controller.spawn().unwrap();
    assert_eq!(events.next(), "+a 1 true");
    put(&server, "a", "2");
    assert_eq!(events.next(), "~a 1>2");
    put(&server, "b", "1");
    assert_eq!(events.next(), "+b 1 false");
    delete(&server, "a");
    assert_eq!(events.next(), "-a");
    assert_eq!(store.list_keys(), ["default/b"]);
    running.stop().unwrap();
    assert!(events.is_over());
    assert_eq!(store.len(), 1, "what it knew can still be read");
}

#[test]
fn it_may_have_indices() {
    let source = Source::new();
    source.put("a", "1");
    let by_value = Indexers::new().with("value", |map: &Object<ConfigMap>| vec![value(map)]);
    let (handler, events) = listener();
    let (indexer, controller) = Informer::indexed(source.clone(), handler, by_value);
    let _running = controller.spawn().unwrap();
    assert_eq!(events.next(), "+a 1 true");
    assert_eq!(indexer.by_index("value", "1").unwrap().len(), 1);
    source.put("a", "2");
    assert_eq!(events.next(), "~a 1>2");
    assert_eq!(indexer.index_keys("value", "2").unwrap(), ["default/a"]);
}

#[test]
fn a_list_tells_deletions_that_were_missed_and_the_store_is_ahead_of_the_handler() {
    let source = Source::new();
    source.put("gone", "1");
    source.put("kept", "1");
    let (send, events) = mpsc::channel();
    let store = std::sync::Arc::new(std::sync::OnceLock::new());
    let seen = store.clone();
    let handler = move |event: Event<ConfigMap>| {
        let store: &kinformer::cache::Store<Object<ConfigMap>> = seen.get().unwrap();
        let stored = store.get_by_key(event.key().as_str()).map(|map| value(&map));
        let _ = send.send(format!("{} stored {stored:?}", text(&event)));
    };
    let (indexer, controller) = Informer::builder(source.clone(), handler, Indexers::new());
    store.set(indexer.store()).unwrap();
    let _running = controller.backoff(quick()).build().spawn().unwrap();
    let sorted = |count: usize| {
        let mut found: Vec<_> = (0..count).map(|_| events.recv_timeout(LIMIT).unwrap()).collect();
        found.sort();
        found
    };
    assert_eq!(sorted(2), ["+gone 1 true stored Some(\"1\")", "+kept 1 true stored Some(\"1\")"]);
    source.delete_unseen("gone");
    source.put_unseen("kept", "2");
    source.put_unseen("new", "1");
    source.relist();
    assert_eq!(
        sorted(3),
        ["+new 1 false stored Some(\"1\")", "?gone 1 stored None", "~kept 1>2 stored Some(\"2\")"]
    );
}

#[test]
fn a_resync_tells_everything_again_in_its_period() {
    let source = Source::new();
    source.put("a", "1");
    let (handler, events) = listener();
    let (_, controller) = Informer::builder(source.clone(), handler, Indexers::new());
    let _running = controller.resync(Duration::from_millis(10)).build().spawn().unwrap();
    assert_eq!(events.next(), "+a 1 true");
    for _ in 0..5 {
        assert_eq!(events.next(), "~a 1>1");
    }
    assert_eq!(source.lists(), 1);
}

#[test]
fn a_handler_that_panics_goes_on() {
    let source = Source::new();
    let (send, events) = mpsc::channel();
    let (store, controller) = Informer::new(source.clone(), move |event: Event<ConfigMap>| -> () {
        let _ = send.send(text(&event));
        panic!("on purpose");
    });
    source.put("a", "1");
    let running = controller.spawn().unwrap();
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), "+a 1 true");
    source.put("a", "2");
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), "~a 1>2");
    assert_eq!(store.len(), 1);
    running.stop().unwrap();
}

#[test]
fn run_returns_at_the_stop_and_a_controller_can_be_asked_while_it_runs() {
    let source = Source::new();
    let version = source.put("a", "1");
    let (handler, events) = listener();
    let (_, controller) = Informer::new(source, handler);
    let stop = StopToken::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| controller.run(&stop));
        assert_eq!(events.next(), "+a 1 true");
        wait_until("synced", || controller.has_synced());
        // A list counts after what it brought.
        wait_until("the version", || controller.last_sync_resource_version() == version);
        stop.stop();
        running.join().unwrap().unwrap();
    });
}

#[test]
fn a_source_of_a_namespace_that_cannot_be_is_refused_before_anything_is_sent() {
    let server = ApiServer::start().unwrap();
    let client = client(&server);
    for bad in ["Shop", "a/b", "a.b", "..", "-", &"a".repeat(64)] {
        let source = || ListWatch::<ConfigMap>::from_client(&client, Some(bad));
        let controller = || Informer::new(source(), |_: Event<ConfigMap>| ()).1;
        for error in [
            SharedInformer::builder(source()).build().unwrap_err(),
            controller().run(&StopToken::new()).unwrap_err(),
            controller().spawn().map(drop).unwrap_err(),
        ] {
            let Error::Invalid(input) = &error else { panic!("{error:?}") };
            assert_eq!(input.argument(), "namespace");
            assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        }
    }
    let nodes = ListWatch::<Node>::from_client(&client, Some("default"));
    let error = SharedInformer::builder(nodes).build().unwrap_err().to_string();
    assert!(error.contains("nodes do not live in namespaces"), "{error}");
    assert!(server.requests().is_empty(), "nobody was asked");
    let everywhere = ListWatch::<ConfigMap>::from_client(&client, Some(""));
    assert!(SharedInformer::builder(everywhere).build().is_ok(), "empty is all namespaces");
}
