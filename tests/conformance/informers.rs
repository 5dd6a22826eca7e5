//! Informers: the cache is as the server is, and handlers hear of every change.

use std::sync::mpsc;

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    DynamicObject, Event, ListOptions, ListWatch, Object, PartialObjectMetadata, Patch,
    SharedInformer, SharedInformerBuilder, cache::Deleted, labels,
};
use serde_json::json;

use crate::server::{LIMIT, Scope, asked_by, client_named, wait_until};

#[test]
fn handlers_hear_of_what_is_there_and_of_every_change() {
    for streamed in [true, false] {
        let scope = Scope::new();
        scope.put("a", "1");
        let informer = mine(&scope).streamed_lists(streamed).build().unwrap();
        let (send, events) = mpsc::channel();
        informer.on_event(move |event| drop(send.send(text(&event)))).unwrap();
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        // One after the other: there is no order among changes of different objects.
        let hears = |expected: &str| {
            assert_eq!(events.recv_timeout(LIMIT).unwrap(), expected, "streamed: {streamed}");
        };
        hears("+a 1 initial");
        scope.put("b", "1");
        hears("+b 1");
        scope.put("a", "2");
        hears("~a 1>2");
        scope.maps().delete("b").unwrap();
        hears("-b 1");
        assert_eq!(informer.status().lists, 1, "{:?}", informer.status());
    }
}

/// Servers make it in half the time.
#[test]
fn a_list_that_turns_out_long_is_asked_for_again_plainly_and_whole() {
    let scope = Scope::new();
    for n in 0..230 {
        scope.put(&format!("m{n}"), "1");
    }
    let client = client_named("long");
    let source = ListWatch::<ConfigMap>::from_client(&client, Some(&scope.name));
    let informer = SharedInformer::builder(source).build().unwrap();
    let (send, events) = mpsc::channel();
    informer.on_event(move |event| drop(send.send(text(&event)))).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let version = scope.put("m0", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    let told: Vec<_> = (0..231).map(|_| events.recv_timeout(LIMIT).unwrap()).collect();
    assert_eq!(told[230], "~m0 1>2", "each was told once before");
    let asked = || -> Vec<_> {
        asked_by("long").into_iter().filter(|uri| uri.contains("/configmaps")).collect()
    };
    wait_until("the watch is known", || asked().len() == 3);
    let asked = asked();
    let has = |at: usize, parameter: &str| asked[at].contains(parameter);
    assert!(has(0, "sendInitialEvents=true"), "{asked:#?}");
    assert!(!has(1, "watch=") && !has(1, "limit=") && !has(1, "resourceVersion="), "{asked:#?}");
    assert!(has(2, "watch=") && !has(2, "sendInitialEvents="), "{asked:#?}");
}

/// Where the server can do that: `tests/real` has one that cannot.
#[test]
fn an_informer_asks_for_one_stream_and_nothing_else_unless_it_is_told_to_list() {
    let scope = Scope::new();
    scope.put("a", "1");
    for (agent, streamed) in [("streams", true), ("lists", false)] {
        let client = client_named(agent);
        let source = ListWatch::<ConfigMap>::from_client(&client, Some(&scope.name));
        let builder = SharedInformer::builder(source);
        let builder = if streamed { builder } else { builder.streamed_lists(false) };
        let informer = builder.build().unwrap();
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        // By now it watches, whatever it did before.
        let version = scope.put("a", agent);
        informer.wait_for_resource_version(&version, LIMIT).unwrap();
        wait_until("the watch is known", || {
            asked_by(agent).iter().any(|uri| uri.contains("watch="))
        });
        let asked = asked_by(agent);
        let is = |uri: &String| (uri.contains("watch="), uri.contains("sendInitialEvents=true"));
        let kinds: Vec<_> = asked.iter().map(is).collect();
        let expected =
            if streamed { vec![(true, true)] } else { vec![(false, false), (true, false)] };
        assert_eq!(kinds, expected, "{asked:#?}");
    }
}

#[test]
fn the_cache_equals_a_list_for_typed_dynamic_and_metadata_informers() {
    let scope = Scope::new();
    for n in 0..20 {
        scope.put(&format!("m{n}"), "1");
    }
    let typed = started(mine(&scope));
    let resource = kinformer::ApiResource::of::<ConfigMap>();
    let dynamic = started(SharedInformer::builder(ListWatch::<DynamicObject>::of_resource(
        &scope.client,
        &resource,
        Some(&scope.name),
    )));
    let metadata = scope.client.metadata::<ConfigMap>().namespace(&scope.name);
    let metadata: SharedInformer<PartialObjectMetadata> =
        started(SharedInformer::builder(ListWatch::from_api(metadata)));
    for n in 0..10 {
        scope.put(&format!("m{n}"), "2");
    }
    scope.maps().delete("m19").unwrap();
    let last = scope.put("m0", "3");
    let listed = scope.maps().list(&ListOptions::new()).unwrap();
    typed.wait_for_resource_version(&last, LIMIT).unwrap();
    dynamic.wait_for_resource_version(&last, LIMIT).unwrap();
    metadata.wait_for_resource_version(&last, LIMIT).unwrap();
    let expected = sorted(&listed.items, |_| true);
    assert_eq!(sorted(&dynamic.store().list(), |_| true), expected);
    assert_eq!(sorted(&metadata.store().list(), |_| true), expected);
    let labelled = sorted(&listed.items, |object| object.labels().contains_key("app"));
    assert_eq!(sorted(&typed.store().list(), |_| true), labelled);
    assert_eq!(labelled.len(), 19);
    let cached = typed.lister().namespace(&scope.name).get("m0").unwrap();
    assert_eq!(cached.get().unwrap().data.as_ref().unwrap()["value"], "3");
    assert_eq!((cached.api_version(), cached.kind()), ("v1", "ConfigMap"));
}

#[test]
fn what_was_written_can_be_read_after_waiting_for_its_version() {
    let scope = Scope::new();
    let informer = started(mine(&scope));
    for n in 0..50 {
        let version = scope.put("a", &n.to_string());
        informer.wait_for_resource_version(&version, LIMIT).unwrap();
        let cached = informer.lister().namespace(&scope.name).get("a").unwrap();
        assert_eq!(cached.get().unwrap().data.as_ref().unwrap()["value"], n.to_string());
    }
}

#[test]
fn an_object_that_ceases_to_match_leaves_the_cache() {
    let scope = Scope::new();
    scope.put("a", "1");
    let informer = started(mine(&scope));
    let (send, events) = mpsc::channel();
    informer.on_event(move |event| drop(send.send(text(&event)))).unwrap();
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), "+a 1 initial");
    let unlabelled = Patch::Merge(json!({"metadata": {"labels": null}}));
    scope.maps().patch("a", &unlabelled).unwrap();
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), "-a 1");
    assert!(informer.store().is_empty());
    scope.put("a", "2");
    assert_eq!(events.recv_timeout(LIMIT).unwrap(), "+a 2");
}

#[test]
fn a_watch_that_the_server_ends_is_opened_again_without_a_list() {
    let scope = Scope::new();
    let source = ListWatch::<ConfigMap>::from_client(&scope.client, Some(&scope.name));
    let source = source.tweak(|options| options.timeout_seconds = Some(2));
    let informer = started(SharedInformer::builder(source).streamed_lists(false));
    wait_until("three watches", || informer.status().watches >= 3);
    let version = scope.put("a", "1");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(informer.status().lists, 1);
}

#[test]
fn a_late_handler_hears_of_everything_that_is_there() {
    let scope = Scope::new();
    for n in 0..5 {
        scope.put(&format!("m{n}"), "1");
    }
    let informer = started(mine(&scope));
    let (send, events) = mpsc::channel();
    let registration = informer.on_event(move |event| drop(send.send(text(&event)))).unwrap();
    let mut heard: Vec<_> = (0..5).map(|_| events.recv_timeout(LIMIT).unwrap()).collect();
    heard.sort();
    assert_eq!(heard[4], "+m4 1 initial");
    wait_until("the handler has synced", || registration.has_synced());
}

/// Of the ConfigMaps with a label `app`: a real cluster puts some of its own into every namespace.
fn mine(scope: &Scope) -> SharedInformerBuilder<ConfigMap> {
    let source = ListWatch::<ConfigMap>::from_client(&scope.client, Some(&scope.name));
    SharedInformer::builder(source.tweak(|options| options.labels = labels::parse("app").unwrap()))
}

fn started<K: 'static>(builder: SharedInformerBuilder<K>) -> SharedInformer<K> {
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    informer
}

fn text(event: &Event<ConfigMap>) -> String {
    let value =
        |object: &Object<ConfigMap>| object.get().unwrap().data.as_ref().unwrap()["value"].clone();
    match event {
        Event::Added { object, initial } => {
            let initial = if *initial { " initial" } else { "" };
            format!("+{} {}{initial}", object.name(), value(object))
        }
        Event::Updated { old, new } => format!("~{} {}>{}", new.name(), value(old), value(new)),
        Event::Deleted(Deleted::Known(object)) => format!("-{} {}", object.name(), value(object)),
        other => other.to_string(),
    }
}

fn sorted<K>(objects: &[Object<K>], wanted: impl Fn(&Object<K>) -> bool) -> Vec<String> {
    let objects = objects.iter().filter(|object| wanted(object));
    let mut texts: Vec<_> =
        objects.map(|object| format!("{} {}", object.key(), object.resource_version())).collect();
    texts.sort();
    texts
}
