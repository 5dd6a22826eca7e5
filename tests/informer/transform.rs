//! Objects as they are kept: pruned, transformed, decoded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
    mpsc,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{Decoded, Error, Event, Object, cache::Indexers, labels, testing::ApiServer};

use crate::support::{
    LIMIT, SetOnDrop, Source, builder, delete, listen, put, started, value, wait_until,
};

fn mark(map: &mut ConfigMap) {
    let data = map.data.get_or_insert_default();
    let value = data.get("value").cloned().unwrap_or_default();
    data.insert("value".into(), format!("t{value}"));
}

#[test]
fn everybody_sees_objects_as_the_transform_made_them() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let by_value = Indexers::new().with("value", |map: &Object<ConfigMap>| vec![value(map)]);
    let informer = builder(&server)
        .transform(|map: &mut ConfigMap| {
            mark(map);
            map.metadata.labels.get_or_insert_default().insert("seen".into(), "yes".into());
            Ok(())
        })
        .indexers(by_value)
        .build()
        .unwrap();
    let events = listen(&informer);
    let (send, deleted) = mpsc::channel();
    let on_delete = informer.handlers().on_delete(move |gone| {
        let _ = send.send(value(gone.object().unwrap()));
    });
    informer.add_event_handler(on_delete).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(events.next(), "+a t1 true");
    put(&server, "b", "1");
    assert_eq!(events.next(), "+b t1 false");
    put(&server, "b", "2");
    assert_eq!(events.next(), "~b t1>t2");
    let object = informer.lister().get("default/b").unwrap();
    assert!(
        object.json().contains(r#""value":"t2""#)
            && object.labels().get("seen").as_deref() == Some("yes")
    );
    assert_eq!(informer.indexer().index_keys("value", "t2").unwrap(), ["default/b"]);
    delete(&server, "b");
    assert_eq!(events.next(), "-b");
    assert_eq!(deleted.recv_timeout(LIMIT).unwrap(), "t2");
}

#[test]
fn no_object_is_transformed_twice_however_often_it_is_told() {
    let source = Source::new();
    source.put("a", "1");
    let often = std::time::Duration::from_millis(2);
    let transformed = |map: &mut ConfigMap| {
        mark(map);
        Ok(())
    };
    let informer = started(source.informer().resync(often).transform(transformed));
    let events = listen(&informer);
    assert_eq!(events.next(), "+a t1 true");
    let (over, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        for by_lister in [true, false] {
            let (informer, over, reads) = (&informer, &over, &reads);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let found = if by_lister {
                        informer.lister().list(&labels::everything())
                    } else {
                        informer.store().list()
                    };
                    let [object] = &found[..] else { panic!("{} objects", found.len()) };
                    assert!(value(object) == "t1" && object.json().contains(r#""t1""#));
                    reads.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for round in 0..40 {
            if round % 10 == 5 {
                source.relist();
            }
            assert_eq!(events.next(), "~a t1>t1");
            assert_eq!(value(&informer.lister().get("default/a").unwrap()), "t1");
        }
        wait_until("readers have read meanwhile", || reads.load(Ordering::SeqCst) > 100);
    });
}

#[test]
fn an_object_that_the_transform_fails_on_is_left_out_and_reported() {
    let source = Source::new();
    source.put("bad", "1");
    source.put("good", "1");
    let (send, errors) = mpsc::channel();
    let informer = source
        .informer()
        .transform(|map: &mut ConfigMap| match map.metadata.name.as_deref() {
            Some("bad") => Err(kinformer::labels::parse("((").unwrap_err()),
            _ => Ok(()),
        })
        .on_error(move |error: &Error| {
            let _ = send.send(error.to_string());
        });
    let informer = started(informer);
    assert_eq!(informer.store().list_keys(), ["default/good"]);
    let error = errors.recv_timeout(LIMIT).unwrap();
    assert!(error.contains("selector"), "{error}");
    source.put("bad", "2");
    errors.recv_timeout(LIMIT).unwrap();
    let version = source.put("good", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(informer.store().list_keys(), ["default/good"]);
    source.delete("bad");
    let version = source.put("good", "3");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(informer.status().objects, 1);
}

#[test]
fn a_transform_or_an_error_handler_that_panics_costs_one_object_and_not_the_informer() {
    let source = Source::new();
    source.put("bad", "1");
    source.put("good", "1");
    let (send, errors) = mpsc::channel();
    let informer = source
        .informer()
        .transform(|map: &mut ConfigMap| match map.metadata.name.as_deref() {
            Some("bad") => panic!("on purpose"),
            _ => Ok(()),
        })
        .on_error(move |error: &Error| {
            let _ = send.send(error.to_string());
            panic!("on purpose, too");
        });
    let informer = started(informer);
    let error = errors.recv_timeout(LIMIT).unwrap();
    assert!(error.contains("transform") && error.contains("default/bad: on purpose"), "{error}");
    source.put("bad", "2");
    let version = source.put("good", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(informer.store().list_keys(), ["default/good"]);
    assert_eq!(informer.status().passed_over, 2);
}

#[test]
fn a_transform_may_not_rename_an_object() {
    let source = Source::new();
    source.put("a", "1");
    source.put("b", "1");
    let (send, errors) = mpsc::channel();
    let informer = source
        .informer()
        .transform(|map: &mut ConfigMap| {
            if map.metadata.name.as_deref() == Some("a") {
                map.metadata.namespace = Some("elsewhere".into());
            }
            Ok(())
        })
        .on_error(move |error: &Error| {
            let _ = send.send(error.to_string());
        });
    let informer = started(informer);
    assert_eq!(informer.store().list_keys(), ["default/b"]);
    let error = errors.recv_timeout(LIMIT).unwrap();
    assert!(error.contains("elsewhere/a") && error.contains("default/a"), "{error}");
}

#[test]
fn what_is_pruned_is_gone_before_anybody_sees_it() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let informer = started(builder(&server).prune(&["/metadata/labels", "/data/value"]));
    let object = informer.lister().get("default/a").unwrap();
    assert!(object.labels().is_empty() && value(&object).is_empty());
    assert!(!object.json().contains("value"), "{}", object.json());
    let events = listen(&informer);
    assert_eq!(events.next(), "+a  true");
    put(&server, "a", "2");
    assert_eq!(events.next(), "~a >", "events are pruned too");
    let error = builder(&server).prune(&["metadata"]).build().unwrap_err().to_string();
    assert!(error.contains("metadata"), "{error}");
}

#[test]
fn managed_fields_are_kept_only_for_those_who_ask() {
    let server = ApiServer::start().unwrap();
    server.create_sample_pods(1).unwrap();
    let pods = || {
        let client = crate::support::client(&server);
        let source =
            kinformer::ListWatch::<k8s_openapi::api::core::v1::Pod>::from_client(&client, None);
        kinformer::SharedInformer::builder(source)
    };
    for keep in [false, true] {
        let informer = pods().keep_managed_fields(keep).build().unwrap();
        informer.start().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        let pod = &informer.store().list()[0];
        assert_eq!(pod.json().contains("managedFields"), keep);
    }
}

#[test]
fn bodies_are_kept_decoded_or_only_while_somebody_holds_them() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    for (policy, kept) in [(Decoded::Keep, true), (Decoded::WhileHeld, false)] {
        let informer = started(builder(&server).decoded(policy));
        let object = informer.lister().get("default/a").unwrap();
        let body = object.get().unwrap();
        assert!(Arc::ptr_eq(&body, &object.get().unwrap()), "one body while it is held");
        let weak = Arc::downgrade(&body);
        drop(body);
        assert_eq!(weak.upgrade().is_some(), kept, "{policy:?}");
        assert_eq!(value(&object), "1");
    }
}

#[test]
fn a_transform_runs_once_for_each_state() {
    let source = Source::new();
    for n in 0..10 {
        source.put(&format!("m{n}"), "1");
    }
    let count = Arc::new(AtomicUsize::new(0));
    let counting = count.clone();
    let informer = started(source.informer().transform(move |_: &mut ConfigMap| {
        counting.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let told = Arc::new(AtomicUsize::new(0));
    let telling = told.clone();
    informer
        .on_event(move |_: Event<ConfigMap>| {
            telling.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    let version = source.put("m0", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 11);
    wait_until("all told", || told.load(Ordering::SeqCst) == 11);
}
