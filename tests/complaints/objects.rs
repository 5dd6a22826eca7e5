//! Cached objects: nobody changes them, nobody copies them, and they know what they are.

use std::sync::{Arc, mpsc};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{DynamicObject, Event, Object, labels, testing::ApiServer};

use crate::support::{LIMIT, builder, put, relist, started, wait_until};

#[test]
fn changing_what_was_decoded_leaves_the_cache_as_it_was() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = started(builder(&server).decoded(kinformer::Decoded::Keep));
    let object = informer.lister().get("default/a").unwrap();
    let before = object.json().into_owned();
    let mut body = object.get().unwrap();
    // The only way to change it is to have a copy.
    Arc::make_mut(&mut body).data = None;
    assert!(body.data.is_none());
    let again = informer.lister().get("default/a").unwrap();
    assert!(again.is_same(&object) && again.get().unwrap().data.is_some());
    assert_eq!(again.json(), before);
}

#[test]
fn reading_a_cache_copies_no_object() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = builder(&server).build().unwrap();
    let (send, told) = crossbeam_channel::unbounded::<Event<ConfigMap>>();
    informer.add_event_handler(send).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    let lister = informer.lister();
    let one = lister.get("default/a").unwrap();
    let selected = lister.list(&labels::parse("app=a").unwrap());
    let indexed = informer.indexer().by_index("namespace", "default").unwrap();
    let events: Vec<_> = told.try_iter().collect();
    let same = |object: &Object<ConfigMap>| object.is_same(&one);
    assert!(same(&lister.namespace("default").get("a").unwrap()));
    assert!(selected.len() == 1 && same(&selected[0]));
    assert!(lister.list(&labels::everything()).iter().any(same));
    assert!(indexed.len() == 2 && indexed.iter().any(same));
    assert!(events.iter().filter_map(Event::object).any(same), "what handlers get");
    assert!(
        Arc::ptr_eq(&one.get().unwrap(), &selected[0].get().unwrap()) || {
            // Nobody held the first body when the second was asked for.
            let held = one.get().unwrap();
            Arc::ptr_eq(&held, &selected[0].get().unwrap())
        }
    );
}

#[test]
fn cached_objects_know_their_kind_whether_they_were_listed_streamed_or_watched() {
    for streamed in [true, false] {
        let server = ApiServer::start().unwrap();
        put(&server, "listed", "1");
        let informer = started(builder(&server).streamed_lists(streamed));
        let version = put(&server, "watched", "1");
        informer.wait_for_resource_version(&version, LIMIT).unwrap();
        relist(&server, &informer);
        let objects = informer.lister().list(&labels::everything());
        assert_eq!(objects.len(), 2);
        for object in objects {
            assert_eq!((object.kind(), object.api_version()), ("ConfigMap", "v1"));
            let body = object.cast::<DynamicObject>().get().unwrap();
            assert_eq!((&body["kind"], &body["apiVersion"]), (&"ConfigMap".into(), &"v1".into()));
            let text: serde_json::Value = serde_json::from_str(&object.json()).unwrap();
            assert_eq!((&text["kind"], &text["apiVersion"]), (&"ConfigMap".into(), &"v1".into()));
        }
    }
}

#[test]
fn an_update_in_which_nothing_changed_has_one_object_as_both_states() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let informer = started(builder(&server));
    let (send, updates) = mpsc::channel();
    let on_update = informer.handlers().on_update(move |old, new| {
        let _ = send.send((new.name().to_owned(), old.is_same(&new)));
    });
    informer.add_event_handler(on_update).unwrap();
    wait_until("told", || informer.status().unsynced().is_none());
    relist(&server, &informer);
    let mut told: Vec<_> = (0..2).map(|_| updates.recv_timeout(LIMIT).unwrap()).collect();
    told.sort();
    assert_eq!(told, [("a".to_owned(), true), ("b".to_owned(), true)]);
    put(&server, "a", "2");
    assert_eq!(updates.recv_timeout(LIMIT).unwrap(), ("a".to_owned(), false));
}
