//! Several namespaces behind one lister.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kinformer::{
    ApiResource, Event, NamespaceSet, Selection, SharedInformer, SharedInformerFactory,
    cache::Deleted,
    labels,
    testing::{ApiServer, Fault, Moment, StatusFault, When},
};
use serde_json::json;

use crate::support::{
    LIMIT, add_namespace, builder, delete, factory, keys, listen, put, put_labelled, server, sync,
    wait_until,
};

fn in_namespaces(factory: &SharedInformerFactory, set: &NamespaceSet) -> SharedInformer<ConfigMap> {
    let several = Selection::new().namespaces(set);
    factory.informer_of(&ApiResource::of::<ConfigMap>(), &several)
}

fn server_with(namespaces: &[&str]) -> ApiServer {
    let server = server();
    for namespace in namespaces {
        put(&server, namespace, "first");
    }
    server
}

#[test]
fn objects_of_all_namespaces_are_behind_one_lister_with_one_watch_each() {
    let server = server_with(&["a", "b", "c"]);
    let factory = factory(&server);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let maps = in_namespaces(&factory, &set);
    assert!(in_namespaces(&factory, &set).is_same(&maps), "shared by the set");
    assert!(!in_namespaces(&factory, &NamespaceSet::new(["a", "b"]).unwrap()).is_same(&maps));
    factory.stop_informer(&in_namespaces(&factory, &NamespaceSet::new(["a"]).unwrap()));
    maps.start().unwrap();
    maps.wait_for_sync(LIMIT).unwrap();
    assert_eq!(keys(&maps), ["a/first", "b/first"]);
    assert_eq!(maps.lister().namespace("b").list(&labels::everything()).len(), 1);
    wait_until("two watches", || server.watches() == 2);
    put(&server, "a", "second");
    put(&server, "c", "second");
    delete(&server, "b", "first");
    wait_until("both are followed", || keys(&maps) == ["a/first", "a/second"]);
    assert_eq!(maps.name(), "configmaps in several namespaces");
}

#[test]
fn the_set_can_change_while_informers_run() {
    let server = server_with(&["a", "b", "c"]);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let factory = builder(&server).namespaces(&set).build();
    let maps = factory.informer::<ConfigMap>();
    let secrets = factory.informer::<Secret>();
    let namespaces = factory.informer::<Namespace>();
    let events = listen(&maps);
    sync(&factory);
    assert!(keys(&namespaces).contains(&"c".to_owned()), "no namespace for those without");
    wait_until("two kinds in two namespaces, and namespaces", || server.watches() == 5);
    let mut told: Vec<_> =
        events.iter().take(2).map(|event: Event<ConfigMap>| event.to_string()).collect();
    told.sort();
    assert_eq!(told, ["added ConfigMap a/first", "added ConfigMap b/first"]);

    assert!(set.insert("c").unwrap() && !set.insert("c").unwrap());
    wait_until("the new one", || keys(&maps) == ["a/first", "b/first", "c/first"]);
    let added = events.recv_timeout(LIMIT).unwrap();
    assert!(matches!(&added, Event::Added { object, initial: false } if object.name() == "first"));
    wait_until("one more of each kind", || server.watches() == 7);

    assert!(set.remove("a") && !set.remove("a"));
    wait_until("its objects are gone", || keys(&maps) == ["b/first", "c/first"]);
    let gone = events.recv_timeout(LIMIT).unwrap();
    let Event::Deleted(Deleted::FinalStateUnknown { key, last: Some(_) }) = &gone else {
        panic!("{gone:?}")
    };
    assert_eq!(key, &"a/first");
    wait_until("and its watches", || server.watches() == 5);
    put(&server, "a", "second");

    set.replace(["a", "c"]).unwrap();
    wait_until("one came back, one went", || keys(&maps) == ["a/first", "a/second", "c/first"]);
    set.replace(Vec::<String>::new()).unwrap();
    wait_until("nothing", || keys(&maps).is_empty() && server.watches() == 1);
    let before = maps.status();
    set.insert("a").unwrap();
    wait_until("again", || keys(&maps) == ["a/first", "a/second"]);
    wait_until("counters only grow", || maps.status().lists > before.lists);
    assert_eq!(set.names(), ["a"]);
    factory.shutdown().unwrap();
    assert!(secrets.is_stopped());
    wait_until("no watch", || server.watches() == 0);
}

#[test]
fn one_handler_is_told_of_all_namespaces_one_event_at_a_time() {
    let names: Vec<_> = (0..5).map(|n| format!("n{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let server = server_with(&names);
    let factory = factory(&server);
    let maps = in_namespaces(&factory, &NamespaceSet::new(names.clone()).unwrap());
    let (now, told) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let count = told.clone();
    maps.on_event(move |_| {
        assert_eq!(now.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
        std::thread::yield_now();
        now.fetch_sub(1, Ordering::SeqCst);
        count.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    sync(&factory);
    std::thread::scope(|scope| {
        for name in &names {
            let server = &server;
            scope.spawn(move || (0..20).for_each(|n| drop(put(server, name, &format!("m{n}")))));
        }
    });
    wait_until("all told", || told.load(Ordering::SeqCst) == 105);
    assert_eq!(maps.status().handlers[0].panics, 0);
}

#[test]
fn it_has_synced_when_every_namespace_has() {
    let server = server_with(&["a", "b"]);
    let refusal = StatusFault::new(403).reason("Forbidden").message("not in b");
    server.inject(When::any().namespace("b"), Fault::Status(refusal));
    let factory = factory(&server);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let maps = in_namespaces(&factory, &set);
    let events = listen(&maps);
    factory.start().unwrap();
    wait_until("one of them", || keys(&maps) == ["a/first"]);
    put(&server, "a", "second");
    wait_until("a change in it", || maps.store().len() == 2);
    wait_until("a refusal", || maps.status().last_error.is_some());
    assert!(!maps.has_synced());
    let error = factory.wait_for_cache_sync(Duration::from_millis(20)).unwrap_err().to_string();
    assert!(error.contains("b: ") && error.contains("not in b"), "{error}");
    server.clear_faults();
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert_eq!(keys(&maps), ["a/first", "a/second", "b/first"]);
    let initial =
        events.try_iter().filter(|event| matches!(event, Event::Added { initial: true, .. }));
    assert_eq!(initial.count(), 3, "all of the start");
}

#[test]
fn a_namespace_that_is_taken_out_is_not_waited_for() {
    let server = server_with(&["a", "b"]);
    server.inject(When::any().namespace("b"), Fault::Hang { at: Moment::AfterHead });
    let factory = factory(&server);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let maps = in_namespaces(&factory, &set);
    factory.start().unwrap();
    wait_until("one of them", || keys(&maps) == ["a/first"]);
    assert!(!maps.has_synced());
    set.remove("b");
    factory.wait_for_cache_sync(LIMIT).unwrap();
    assert_eq!(keys(&maps), ["a/first"]);
}

#[test]
fn no_namespace_at_all_is_in_sync_at_once() {
    let server = server_with(&["a"]);
    let factory = factory(&server);
    let set = NamespaceSet::new(Vec::<String>::new()).unwrap();
    let maps = in_namespaces(&factory, &set);
    sync(&factory);
    assert!(keys(&maps).is_empty() && server.requests().is_empty());
    set.insert("a").unwrap();
    wait_until("one", || keys(&maps) == ["a/first"]);
}

#[test]
fn a_list_of_one_namespace_says_nothing_about_another() {
    let server = server_with(&["a", "b"]);
    let factory = factory(&server);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let maps = in_namespaces(&factory, &set);
    let events = listen(&maps);
    sync(&factory);
    assert_eq!(events.iter().take(2).count(), 2);
    // What happens now is missed, and both are listed again.
    server.inject(When::any().resource("configmaps"), Fault::status(500));
    server.drop_connections();
    wait_until("a failure", || maps.status().failures > 0);
    delete(&server, "a", "first");
    put(&server, "b", "second");
    server.compact();
    server.clear_faults();
    wait_until("both are up to date", || keys(&maps) == ["b/first", "b/second"]);
    // Told again, as lists do, and neither gone nor new.
    let wrong = |event: &Event<ConfigMap>| {
        event.key().as_str() == "b/first" && !matches!(event, Event::Updated { .. })
    };
    assert_eq!(events.try_iter().find(wrong).map(|event| event.to_string()), None);
}

#[test]
fn selectors_and_stops_work_as_for_one_namespace() {
    let server = server();
    put_labelled(&server, "a", "web", json!({"app": "web"}));
    put_labelled(&server, "b", "db", json!({"app": "db"}));
    let factory = factory(&server);
    let set = NamespaceSet::new(["a", "b"]).unwrap();
    let web = Selection::new().namespaces(&set).labels(labels::parse("app=web").unwrap());
    let maps = factory.informer_of::<ConfigMap>(&ApiResource::of::<ConfigMap>(), &web);
    sync(&factory);
    assert_eq!(keys(&maps), ["a/web"]);
    assert!(factory.stop_informer(&maps));
    assert!(keys(&maps).is_empty() && maps.is_stopped());
    wait_until("no watch", || server.watches() == 0);
    set.insert("c").unwrap();
}

#[test]
fn names_that_no_namespace_can_have_are_refused() {
    for bad in ["", "A", "a/b"] {
        assert!(NamespaceSet::new([bad]).is_err(), "{bad:?}");
        let set = NamespaceSet::new(["a"]).unwrap();
        assert!(set.insert(bad).is_err() && set.replace(["b", bad]).is_err());
        assert_eq!(set.names(), ["a"], "unchanged");
    }
}

#[test]
fn a_set_that_changes_all_the_time_ends_where_it_should() {
    let server = server();
    for n in 0..6 {
        add_namespace(&server, &format!("n{n}"));
        put(&server, &format!("n{n}"), "first");
    }
    let set = NamespaceSet::new(Vec::<String>::new()).unwrap();
    let factory = builder(&server).namespaces(&set).build();
    let maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3_usize {
            let set = &set;
            scope.spawn(move || {
                for round in 0..20_usize {
                    let name = format!("n{}", (round * 5 + thread) % 6);
                    if (round + thread).is_multiple_of(2) {
                        set.insert(name).unwrap();
                    } else {
                        set.remove(&name);
                    }
                }
            });
        }
    });
    set.replace(["n1", "n4"]).unwrap();
    wait_until("the last word", || keys(&maps) == ["n1/first", "n4/first"]);
    wait_until("two watches", || server.watches() == 2);
}

#[test]
fn informers_of_different_sets_have_different_names() {
    let server = server_with(&["a", "b"]);
    let factory = factory(&server);
    let sets = ["a", "b"].map(|name| NamespaceSet::new([name]).unwrap());
    let maps = sets.each_ref().map(|set| in_namespaces(&factory, set));
    let names = maps.each_ref().map(SharedInformer::name);
    assert_eq!(names, ["configmaps in several namespaces", "configmaps in several namespaces #2"]);
    assert!(factory.stop_informer(&maps[0]));
    let again = in_namespaces(&factory, &sets[0]);
    assert_eq!(again.name(), names[0]);
}
