//! The store follows the server, and handlers are told.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    DynamicObject, Event, InformerState, labels,
    testing::{ApiServer, Fault, Verb, When},
};
use parking_lot::Mutex;

use crate::support::{
    LIMIT, Source, builder, client, delete, listen, put, started, value, wait_until,
};

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
        assert_eq!(events.sorted(2), ["+a 1 true", "+b 1 true"]);
        assert_eq!(informer.store().len(), 2);

        put(&server, "c", "1");
        assert_eq!(events.next(), "+c 1 false");
        put(&server, "a", "2");
        assert_eq!(events.next(), "~a 1>2");
        delete(&server, "b");
        assert_eq!(events.next(), "-b");
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
fn a_compressed_watch_that_is_spoilt_loses_and_doubles_nothing() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    put(&server, "b", "1");
    let watch = When::any().verb(Verb::Watch).resource("configmaps");
    // Of the streamed list, two are the initial events.
    server.inject(watch.once(), Fault::CorruptGzip { after_events: 3 });
    let told = Arc::new(Mutex::new(Vec::new()));
    let errors = told.clone();
    let informer =
        builder(&server).on_error(move |error| errors.lock().push(error.to_string())).build();
    let informer = informer.unwrap();
    let events = listen(&informer);
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert_eq!(events.sorted(2), ["+a 1 true", "+b 1 true"]);

    put(&server, "c", "1");
    put(&server, "a", "2");
    delete(&server, "b");
    let last = put(&server, "d", "1");
    informer.wait_for_resource_version(&last, LIMIT).unwrap();
    put(&server, "end", "1");
    let mut seen = Vec::new();
    loop {
        match events.next() {
            end if end == "+end 1 false" => break,
            // The list that came to the rescue tells what is still as it was.
            same if same.ends_with(" 1>1") || same.ends_with(" 2>2") => {}
            // Whether the list or a watch told of it.
            gone if gone == "?b 1" => seen.push("-b".to_owned()),
            event => seen.push(event),
        }
    }
    seen.sort();
    assert_eq!(seen, ["+c 1 false", "+d 1 false", "-b", "~a 1>2"]);
    let mut names: Vec<_> = informer
        .store()
        .list()
        .iter()
        .map(|map| format!("{} {}", map.name(), value(map)))
        .collect();
    names.sort();
    assert_eq!(names, ["a 2", "c 1", "d 1", "end 1"]);
    let told = told.lock();
    assert!(told.len() == 1 && told[0].contains("corrupt deflate stream"), "{told:?}");
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
    assert_eq!(events.sorted(2), ["+a 1 true", "+b 1 true"]);
    // Watches fail until the deletion is out of reach of the history.
    server.inject(When::any().verb(Verb::Watch), Fault::status(503));
    server.drop_connections();
    delete(&server, "a");
    put(&server, "b", "2");
    server.compact();
    server.clear_faults();
    assert_eq!(events.sorted(2), ["?a 1", "~b 1>2"]);
    assert_eq!(informer.store().list_keys(), ["default/b"]);
    events.assert_none();
}

#[test]
fn what_comes_with_a_later_list_is_not_initial() {
    let source = Source::new();
    source.put("a", "1");
    let informer = started(source.informer());
    let events = listen(&informer);
    assert_eq!(events.next(), "+a 1 true");
    source.put_unseen("a", "2");
    source.put_unseen("b", "1");
    source.relist();
    assert_eq!(events.sorted(2), ["+b 1 false", "~a 1>2"]);
    source.delete_unseen("a");
    source.relist();
    assert_eq!(events.next_but("~b 1>1"), "?a 2");
}

#[test]
fn one_reads_what_one_wrote() {
    let server = ApiServer::start().unwrap();
    let informer = started(builder(&server));
    let maps = client(&server).api::<ConfigMap>().namespace("default");
    for n in 0..20 {
        let made =
            maps.create(&serde_json::json!({"metadata": {"name": format!("m{n}")}})).unwrap();
        informer.wait_for_resource_version(made.resource_version(), LIMIT).unwrap();
        assert!(informer.store().get_by_key(made.key().as_str()).is_some());
    }
    let never = informer.wait_for_resource_version("999999999", Duration::from_millis(10));
    let never = never.unwrap_err();
    assert!(
        never.is_timeout() && never.to_string().contains("resource version 999999999"),
        "{never}"
    );
}

#[test]
fn a_version_is_reached_only_when_all_up_to_it_are_in_the_store() {
    let source = Source::new();
    source.put("a", "0");
    // An index function that takes its time lets changes pile up, several of one object.
    let slow =
        kinformer::cache::Indexers::new().with("slow", |_: &kinformer::Object<ConfigMap>| {
            std::thread::yield_now();
            let _ = kinformer::StopToken::new().wait_timeout(Duration::from_millis(1));
            vec![]
        });
    let informer = started(source.informer().indexers(slow));
    for round in 0..30 {
        source.put("a", "x");
        let name = format!("b{round}");
        let version = source.put(&name, "1");
        for _ in 0..5 {
            source.put("a", "y");
        }
        informer.wait_for_resource_version(&version, LIMIT).unwrap();
        assert!(informer.store().get_by_key(&format!("default/{name}")).is_some(), "{name}");
    }
}

#[test]
fn waiting_for_a_version_ends_with_the_informer() {
    let source = Source::new();
    let informer = started(source.informer());
    let waiting = informer.clone();
    let waiter = std::thread::spawn(move || waiting.wait_for_resource_version("77", LIMIT));
    informer.stop();
    assert!(waiter.join().unwrap().unwrap_err().to_string().contains("77"));
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

/// Promises 3 and 4, and invariant 8: what each handler is told of a key is a life.
#[test]
fn events_of_a_key_are_a_life_and_the_store_is_never_behind_them() {
    let server = ApiServer::start().unwrap();
    let informer = builder(&server).build().unwrap();
    let problems = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (problems, told, store) = (problems.clone(), told.clone(), informer.store());
        let mut versions: BTreeMap<String, u64> = BTreeMap::new();
        informer
            .on_event(move |event: Event<ConfigMap>| {
                let key = event.key().to_string();
                let version = |object: &kinformer::Object<ConfigMap>| {
                    object.resource_version().parse::<u64>().unwrap()
                };
                let new = event.object().map(version).unwrap();
                let before = versions.get(&key).copied();
                let is_right = match &event {
                    Event::Added { .. } => before.is_none(),
                    Event::Updated { old, .. } => {
                        before == Some(version(old)) && version(old) <= new
                    }
                    _ => before.is_some_and(|before| before <= new),
                };
                let in_store = store.get_by_key(&key).map(|object| version(&object));
                let is_late = match (&event, in_store) {
                    (Event::Deleted(_), Some(there)) => there < new,
                    (Event::Deleted(_), None) => false,
                    // Gone since, or not there yet: the last of all events tells.
                    (_, there) => there.is_some_and(|there| there < new),
                };
                if !is_right || is_late {
                    problems
                        .lock()
                        .push(format!("{event}: {before:?} before, {in_store:?} stored"));
                }
                match event {
                    Event::Deleted(_) => versions.remove(&key),
                    _ => versions.insert(key, new),
                };
                *told.lock() += 1;
            })
            .unwrap();
    }
    informer.start().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (server, informer) = (&server, &informer);
            scope.spawn(move || {
                for n in 0..60 {
                    let name = format!("m{writer}-{}", n % 4);
                    let version = put(server, &name, &n.to_string());
                    // Now and then in step, so that not all changes are seen as one.
                    if n % 3 == 0 {
                        informer.wait_for_resource_version(&version, LIMIT).unwrap();
                    }
                    if n % 5 == 4 {
                        delete(server, &name);
                    }
                    if n % 20 == 19 {
                        server.drop_connections();
                    }
                }
            });
        }
    });
    informer.wait_for_resource_version(&server.resource_version(), LIMIT).unwrap();
    let idle = || informer.status().handlers.iter().all(|h| h.pending == 0 && h.busy_for.is_none());
    wait_until("all events told", idle);
    assert!(problems.lock().is_empty(), "{:#?}", problems.lock());
    assert!(*told.lock() >= 3 * 3 * 20, "{}", told.lock());
}

#[test]
fn a_version_that_was_reached_is_reached_however_much_comes_after_it() {
    let server = ApiServer::start().unwrap();
    let informer = builder(&server).build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (server, informer) = (&server, &informer);
            scope.spawn(move || {
                for n in 0..400 {
                    let version = put(server, &format!("m{writer}"), &n.to_string());
                    informer.wait_for_resource_version(&version, LIMIT).unwrap();
                }
            });
        }
    });
}

#[test]
fn an_error_of_the_list_reaches_the_error_handler() {
    let server = ApiServer::start().unwrap();
    server.inject(When::any().resource("configmaps").times(3), Fault::status(500));
    let (send, receive) = std::sync::mpsc::channel();
    let on_error = move |error: &kinformer::Error| {
        let _ = send.send(error.is_internal_error());
    };
    let informer = builder(&server).on_error(on_error).build().unwrap();
    informer.start().unwrap();
    assert!(receive.recv_timeout(LIMIT).unwrap());
    informer.wait_for_sync(LIMIT).unwrap();
}

#[test]
fn an_empty_list_is_a_list() {
    let informer = Source::new().informer().build().unwrap();
    let registration = informer.on_event(|_| ()).unwrap();
    assert!(!informer.has_synced() && !registration.has_synced());
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    assert!(informer.has_synced() && registration.has_synced());
    assert!(informer.store().is_empty());
}
