//! Scenario 4: a raw watch on the Pods of `kube-system`, printed as `ADDED : name - phase`.
//!
//! A raw watch ends when the server ends it. To go on from there, with a cache, is what informers do.

mod common;

use k8s_openapi::api::core::v1::Pod;
use kinformer::{ListOptions, ListWatch, ListerWatcher, Object, StopToken, WatchEvent};

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let pods = ListWatch::<Pod>::from_client(&cluster.client, Some("kube-system"));
    let mut options = ListOptions::new();
    if cluster.embedded.is_some() {
        // There is nobody to press Ctrl-C: the server ends the watch.
        options = options.timeout_seconds(3);
    }

    let mut count = 0;
    for event in pods.watch(&options, &StopToken::new())? {
        match event? {
            WatchEvent::Added(pod) => print("ADDED", &pod)?,
            WatchEvent::Modified(pod) => print("MODIFIED", &pod)?,
            WatchEvent::Deleted(pod) => print("DELETED", &pod)?,
            WatchEvent::Bookmark(bookmark) => println!("BOOKMARK : {}", bookmark.resource_version),
            WatchEvent::Error(status) => println!("ERROR : {status}"),
            other => println!("{other:?}"),
        }
        count += 1;
    }
    println!("{count} events");
    Ok(())
}

fn print(what: &str, pod: &Object<Pod>) -> common::Result {
    let body = pod.get()?;
    let phase = body.status.as_ref().and_then(|status| status.phase.as_deref());
    println!("{what} : {} - {}", pod.name(), phase.unwrap_or("?"));
    Ok(())
}
