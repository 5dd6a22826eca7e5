//! What the server remembers, and what an informer does when it does not.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Client, ListOptions, ListWatch, ResourceVersionMatch, SharedInformer, StopToken, WatchEvent,
    cache::Deleted, labels,
};

use crate::{
    chaos::proxy::{Proxy, Spoil, server_of},
    cluster::{Cluster, LIMIT, informer, maps, put, started, wait_until},
};

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn compaction_expires_pages_and_watches_and_loses_no_deletion() {
    let cluster = Cluster::start();
    let client = cluster.client();
    for n in 0..6 {
        put(&client, &format!("m{n}"), "1");
    }
    let page = ListOptions::new().limit(2).labels(labels::parse("test").unwrap());
    let first = maps(&client).list(&page).unwrap();
    let proxy = Proxy::start(&server_of(&client));
    let watching = started(informer(&cluster.client_through(&proxy)));
    let (send, deleted) = std::sync::mpsc::channel();
    watching
        .add_event_handler(watching.handlers().on_delete(move |gone: Deleted<_>| {
            drop(send.send(gone.key().to_string()));
        }))
        .unwrap();

    // While it is held off, an object goes and the history with it: that of etcd, and that of the server's cache.
    proxy.refuse();
    proxy.spoil(Spoil::Reset);
    maps(&client).delete("m5").unwrap();
    put(&client, "m1", "2");
    cluster.compact();
    cluster.kill();
    cluster.start_again();

    let rest = page.continue_token(first.metadata.continue_token.clone());
    let error = maps(&client).list(&rest).unwrap_err();
    assert!(error.is_expired(), "{error}");
    assert!(is_forgotten(&client, &first.metadata.resource_version));
    let before = watching.status();
    assert_eq!((before.lists, before.objects), (1, 6), "{before:?}");
    proxy.listen();
    assert_eq!(deleted.recv_timeout(LIMIT).unwrap(), "default/m5");
    wait_until("the cache is as the server is", || watching.store().len() == 5);
    assert_eq!(watching.status().lists, 2, "{:?}", watching.status());
    let version = put(&client, "m2", "2");
    watching.wait_for_resource_version(&version, LIMIT).unwrap();
}

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_server_without_streamed_lists_is_listed_plainly() {
    let cluster = Cluster::audited(&["--feature-gates=WatchList=false"]);
    let client = cluster.client();
    for n in 0..6 {
        put(&client, &format!("m{n}"), "1");
    }
    let streamed = ListOptions::new()
        .send_initial_events(true)
        .resource_version_match(ResourceVersionMatch::NotOlderThan)
        .bookmarks(true);
    let refused = maps(&client).watch(&streamed).unwrap_err();
    assert_eq!(refused.status().unwrap().code, 422, "{refused}");

    let informer = started(informer(&cluster.client_named("informer")));
    assert_eq!(informer.store().len(), 6);
    let version = put(&client, "m0", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
    let asked = cluster.asked_by("informer");
    let is = |uri: &String| (uri.contains("watch="), uri.contains("sendInitialEvents=true"));
    let kinds: Vec<_> = asked.iter().map(is).collect();
    assert_eq!(kinds, [(true, true), (false, false), (true, false)], "{asked:#?}");
}

/// `tests/real/run --quiet-minutes 15` makes it longer.
///
/// The server remembers changes for 75 seconds at least, and as many as it once had room for; then a watch from where
/// this one began is refused. A quiet watch is opened again every half minute.
#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_quiet_watch_is_never_listed_again_however_much_others_change() {
    let minutes = std::env::var("KINF_QUIET_MINUTES").map_or(3.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(60.0 * minutes);
    let cluster = Cluster::start();
    let client = cluster.client();
    let beginning = put(&client, "m0", "first");
    let source = ListWatch::<ConfigMap>::from_client(&client, None);
    let quiet = SharedInformer::builder(
        source.tweak(|options| options.labels = labels::parse("nobody=ever").unwrap()),
    );
    let quiet = quiet.build().unwrap();
    quiet.start().unwrap();
    quiet.wait_for_sync(LIMIT).unwrap();
    let start = Instant::now();
    let (mut changes, mut compactions) = (0, 1);
    let mut change = || {
        put(&client, &format!("m{}", changes % 50), &changes.to_string());
        changes += 1;
        if start.elapsed() > time * compactions / 3 {
            cluster.compact();
            compactions += 1;
        }
    };
    // Slowly, so that the server makes little room.
    let pause = || {
        let _ = StopToken::new().wait_timeout(Duration::from_millis(50));
    };
    while start.elapsed() < time {
        change();
        pause();
    }
    // Or it would have been enough to stay where it began.
    wait_until("the server has forgotten the beginning", || {
        (0..100).for_each(|_| change());
        is_forgotten(&client, &beginning)
    });
    let watches = quiet.status().watches;
    wait_until("it is watched again", || {
        change();
        pause();
        quiet.status().watches > watches
    });
    let took = start.elapsed().as_secs_f64() / 60.0;
    let status = quiet.status();
    println!("{changes} changes, {} lists, {} watches", status.lists, status.watches);
    assert_eq!(status.lists, 1, "{status:?}");
    let per_minute = (status.lists + status.watches) as f64 / took;
    assert!(per_minute <= 3.0 + 1.0 / took, "{per_minute} requests a minute");
}

/// Whether a watch cannot go on from a version.
fn is_forgotten(client: &Client, version: &str) -> bool {
    let options = ListOptions::new().resource_version(version).timeout_seconds(1);
    match maps(client).watch(&options.labels(labels::parse("nobody=ever").unwrap())) {
        Err(error) => error.is_expired(),
        Ok(mut watch) => {
            matches!(watch.next(), Some(Ok(WatchEvent::Error(status))) if status.code == 410)
        }
    }
}
