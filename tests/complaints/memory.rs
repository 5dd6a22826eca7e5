//! What a cache costs, and what is not kept.

use std::sync::{Arc, Weak, mpsc};

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kinformer::{
    Client, Decoded, DynamicObject, Event, FilteringHandler, ListOptions, ListWatch, Object,
    SharedInformer,
    cache::Indexers,
    config::{Config, Timeouts},
    testing::{ApiServer, Fault, Verb, When},
};
use serde_json::json;

use crate::{
    alone,
    support::{LIMIT, builder, client, put, quick, started},
};

/// So many pods as an API server has them, 11 KB each, half of it managed fields.
const PODS: usize = 1_000;

/// What threads and buffers take however many objects there are, in kilobytes.
const SLACK: usize = 4 * 1024;

/// What a process holds: now, and at most so far, in kilobytes.
#[cfg(target_os = "linux")]
fn memory() -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (field("VmRSS:"), field("VmHWM:"))
}

#[cfg(target_os = "linux")]
fn alone_client() -> Client {
    let mut timeouts = Timeouts::default();
    // However busy the machine is.
    timeouts.list_page = 10 * LIMIT;
    let config = Config::builder(alone::server()).no_proxy().timeouts(timeouts);
    Client::new(config.build().unwrap()).unwrap()
}

/// Says how much it held after the first list and after the second, relative to what it held before.
#[cfg(target_os = "linux")]
fn caches(streamed: bool) {
    let source = ListWatch::<Pod>::from_client(&alone_client(), None);
    let (before, _) = memory();
    let informer =
        SharedInformer::builder(source).streamed_lists(streamed).backoff(quick()).build().unwrap();
    let (told, count) = mpsc::channel();
    informer
        .on_event(move |_| {
            let _ = told.send(());
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(10 * LIMIT).unwrap();
    for lists in 1..=2 {
        for _ in 0..PODS {
            count.recv_timeout(LIMIT).unwrap();
        }
        let (now, most) = memory();
        let texts: usize = informer.store().list().iter().map(|pod| pod.json().len()).sum();
        let least = before.min(now);
        println!("\nlist {lists}: {} {} {}", texts / 1024, now - least, most - least);
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by a_cache_costs_its_texts_and_little_more_at_the_first_list_and_at_the_next"]
fn caches_alone_from_pages() {
    caches(false);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by a_cache_costs_its_texts_and_little_more_at_the_first_list_and_at_the_next"]
fn caches_alone_from_a_stream() {
    caches(true);
}

/// What a process held at each list: the texts in its cache, all that it held, and at most so far, in
/// kilobytes. Between the lists, `between` is called.
#[cfg(target_os = "linux")]
fn measured(server: &ApiServer, test: &str, between: impl Fn(&ApiServer)) -> Vec<[usize; 3]> {
    let mut found = Vec::new();
    alone::run(test, &server.url(), |line| {
        let Some(figures) = line.strip_prefix("list ") else { return };
        println!("{test}: list {figures} KiB of text, held, held at most");
        let figures: Vec<usize> =
            figures.split_whitespace().skip(1).map(|figure| figure.parse().unwrap()).collect();
        found.push(figures.try_into().unwrap());
        if found.len() == 1 {
            server.inject(When::any().verb(Verb::Watch), Fault::status(503));
            server.drop_connections();
            between(server);
            server.compact();
            server.clear_faults();
        }
    });
    assert_eq!(found.len(), 2, "{test}");
    found
}

#[cfg(target_os = "linux")]
fn server_with_pods() -> ApiServer {
    let server = ApiServer::start().unwrap();
    server.create_sample_pods(PODS).unwrap();
    server
}

#[cfg(target_os = "linux")]
#[test]
fn a_cache_costs_its_texts_and_little_more_at_the_first_list_and_at_the_next() {
    let server = server_with_pods();
    for test in ["memory::caches_alone_from_pages", "memory::caches_alone_from_a_stream"] {
        // Something else, so that there is something to be forgotten.
        let found = measured(&server, test, |server| drop(put(server, "other", test)));
        for figures in found {
            let [text, held, most] = figures;
            assert!(text < PODS * 11 * 2 / 3, "{test}: without managed fields: {figures:?}");
            assert!(held < text * 3 / 2 + SLACK, "{test}: {figures:?}");
            assert!(most < text * 3 / 2 + SLACK, "{test}: no spike: {figures:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_in_which_everything_has_changed_costs_no_more_than_both_states() {
    let found = measured(&server_with_pods(), "memory::caches_alone_from_pages", |server| {
        for mut pod in server.list("v1", "Pod") {
            pod["metadata"]["labels"]["changed"] = "yes".into();
            server.update(pod).unwrap();
        }
    });
    let [text, _, most] = found[1];
    assert!(most < text * 5 / 2 + SLACK, "{found:?}");
}

/// An object that is kept decoded is alive as long as its body.
#[test]
fn an_object_that_is_held_keeps_no_other_of_its_list_alive() {
    let server = ApiServer::start().unwrap();
    for n in 0..20 {
        put(&server, &format!("m{n}"), "1");
    }
    for streamed in [true, false] {
        let informer = started(builder(&server).decoded(Decoded::Keep).streamed_lists(streamed));
        let objects = informer.store().list();
        let bodies: Vec<Weak<ConfigMap>> =
            objects.iter().map(|object| Arc::downgrade(&object.get().unwrap())).collect();
        let held = objects[7].clone();
        drop(objects);
        assert!(bodies.iter().all(|body| body.upgrade().is_some()), "they are in the cache");
        informer.stop();
        drop(informer);
        let alive: Vec<_> = bodies.iter().map(|body| body.upgrade().is_some()).collect();
        assert_eq!(alive.iter().filter(|alive| **alive).count(), 1, "{alive:?}");
        assert!(alive[7] && held.get().is_ok());
    }
}

#[test]
fn reading_starts_no_informer_and_a_cache_asks_nobody() {
    let server = ApiServer::start().unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    server.create(secret).unwrap();
    let client = client(&server);
    let secrets = client.api::<Secret>().namespace("default");
    secrets.get("s").unwrap();
    secrets.list(&ListOptions::new()).unwrap();
    assert_eq!((server.requests().len(), server.watches()), (2, 0), "one request each");

    let informer = builder(&server).build().unwrap();
    server.clear_requests();
    let lister = informer.lister();
    assert!(lister.get("default/s").unwrap_err().is_not_found());
    assert!(lister.list(&kinformer::labels::everything()).is_empty());
    assert!(server.requests().is_empty(), "not even before it is started");
}

#[test]
fn secrets_can_be_cached_without_what_they_hold() {
    let server = ApiServer::start().unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "labels": {"app": "a"}}, "stringData": {"password": "hidden"}});
    server.create(secret).unwrap();
    let source = ListWatch::from_api(client(&server).metadata::<Secret>());
    let informer = started(SharedInformer::builder(source));
    let cached = informer.lister().get("default/s").unwrap();
    assert_eq!(cached.labels().get("app").as_deref(), Some("a"));
    assert_eq!((cached.kind(), cached.api_version()), ("Secret", "v1"));
    assert!(!cached.json().contains("password"), "{}", cached.json());
    let accepted: Vec<_> =
        server.requests().iter().map(|seen| seen.header("accept").unwrap().to_owned()).collect();
    let metadata = |accept: &String| accept.contains("PartialObjectMetadata");
    assert!(accepted.iter().all(metadata), "nor are they sent: {accepted:?}");
}

#[test]
fn names_that_never_come_again_leave_no_trace_in_cache_indices_and_filters() {
    let server = ApiServer::start().unwrap();
    let by_name =
        Indexers::new().with("name", |map: &Object<ConfigMap>| vec![map.name().to_owned()]);
    let informer = started(builder(&server).indexers(by_name));
    let (send, deleted) = mpsc::channel();
    let filtered = FilteringHandler::new(
        |_: &Object<ConfigMap>| true,
        move |event: Event<ConfigMap>| {
            if matches!(event, Event::Deleted(_)) {
                let _ = send.send(());
            }
        },
    );
    informer.add_event_handler(filtered).unwrap();
    for n in 0..300 {
        let name = format!("generated-{n}");
        put(&server, &name, "1");
        informer.wait_for_resource_version(&server.resource_version(), LIMIT).unwrap();
        server.delete("v1", "ConfigMap", &format!("default/{name}")).unwrap();
    }
    for _ in 0..300 {
        deleted.recv_timeout(LIMIT).unwrap();
    }
    let indexer = informer.indexer();
    assert!(indexer.is_empty() && indexer.list_index_func_values("name").is_empty());
    let status = informer.status();
    assert_eq!((status.objects, status.queued, status.handlers[0].pending), (0, 0, 0));
}

/// The dynamic kind costs no more than a typed one: both are handles on the same text.
#[test]
fn dynamic_and_typed_handles_of_an_informer_share_one_object() {
    let server = ApiServer::start().unwrap();
    put(&server, "a", "1");
    let typed = started(builder(&server));
    let dynamic = typed.cast::<DynamicObject>();
    let (one, other) = (typed.store().list(), dynamic.store().list());
    assert!(one[0].is_same(&other[0]));
    assert_eq!(other[0].get().unwrap()["data"]["value"], "1");
    assert_eq!(server.watches(), 1);
}
