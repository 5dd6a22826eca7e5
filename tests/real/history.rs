//! What the server remembers, and what an informer does when it does not.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ListOptions, ListWatch, SharedInformer, StopToken, WatchEvent, cache::Deleted, labels,
};

use crate::cluster::{Cluster, LIMIT, informer, maps, put, started, wait_until};

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
    let watching = started(informer(&client));
    let (send, deleted) = std::sync::mpsc::channel();
    watching
        .add_event_handler(watching.handlers().on_delete(move |gone: Deleted<_>| {
            drop(send.send(gone.key().to_string()));
        }))
        .unwrap();

    // While nobody is there, an object goes and the history with it.
    cluster.kill();
    cluster.start_again();
    maps(&client).delete("m5").unwrap();
    put(&client, "m0", "2");
    cluster.kill();
    cluster.start_again();
    put(&client, "m1", "2");
    cluster.compact();

    let rest = page.continue_token(first.metadata.continue_token.clone());
    let error = maps(&client).list(&rest).unwrap_err();
    assert!(error.is_expired(), "{error}");
    let old = ListOptions::new().resource_version(&first.metadata.resource_version);
    let expired = match maps(&client).watch(&old) {
        Err(error) => error.is_expired(),
        Ok(mut watch) => {
            matches!(watch.next(), Some(Ok(WatchEvent::Error(status))) if status.code == 410)
        }
    };
    assert!(expired);
    assert_eq!(deleted.recv_timeout(LIMIT).unwrap(), "default/m5");
    wait_until("the cache is as the server is", || watching.store().len() == 5);
}

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_server_without_streamed_lists_is_listed_in_pages() {
    let cluster = Cluster::with(&["--feature-gates=WatchList=false"]);
    let client = cluster.client();
    for n in 0..6 {
        put(&client, &format!("m{n}"), "1");
    }
    let informer = started(informer(&client).page_size(2));
    assert_eq!(informer.store().len(), 6);
    let version = put(&client, "m0", "2");
    informer.wait_for_resource_version(&version, LIMIT).unwrap();
}

/// `tests/real/run --quiet-minutes 15` makes it longer.
#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn a_quiet_watch_is_never_listed_again_however_much_others_change() {
    let minutes = std::env::var("KINF_QUIET_MINUTES").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(60.0 * minutes.unwrap_or(2.0));
    let cluster = Cluster::start();
    let client = cluster.client();
    let source = ListWatch::<ConfigMap>::from_client(&client, None);
    let quiet = SharedInformer::builder(
        source.tweak(|options| options.labels = labels::parse("nobody=ever").unwrap()),
    );
    let quiet = quiet.build().unwrap();
    quiet.start().unwrap();
    quiet.wait_for_sync(LIMIT).unwrap();
    let start = Instant::now();
    let (mut changes, mut compacted) = (0, Instant::now());
    while start.elapsed() < time {
        put(&client, &format!("m{}", changes % 50), &changes.to_string());
        changes += 1;
        if compacted.elapsed() > Duration::from_secs(60) {
            cluster.compact();
            compacted = Instant::now();
        }
        let _ = StopToken::new().wait_timeout(Duration::from_millis(20));
    }
    let status = quiet.status();
    let per_minute = (status.lists + status.watches) as f64 / (time.as_secs_f64() / 60.0);
    println!("{changes} changes, {} lists, {} watches", status.lists, status.watches);
    assert_eq!(status.lists, 1, "{status:?}");
    assert!(
        per_minute <= 3.0 + 1.0 / (time.as_secs_f64() / 60.0),
        "{per_minute} requests a minute"
    );
}
