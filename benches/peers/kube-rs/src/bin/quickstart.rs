//! The same quickstart with kube-rs: `benches/peers/run` measures its size and its build.

use std::{error::Error, future::ready};

use futures::StreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, Event, watcher},
    },
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    let (reader, writer) = reflector::store();
    let sets = watcher(Api::<StatefulSet>::all(client), watcher::Config::default())
        .default_backoff()
        .reflect(writer);
    tokio::spawn(sets.for_each(|event| {
        match event {
            Ok(Event::Apply(set) | Event::InitApply(set)) => println!("applied {}", set.name_any()),
            Ok(Event::Delete(set)) => println!("deleted {}", set.name_any()),
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => eprintln!("{error}"),
        }
        ready(())
    }));
    reader.wait_until_ready().await?;
    for set in reader.state() {
        if set.namespace().as_deref() == Some("default") {
            println!("{} {}", set.name_any(), set.spec.replicas.unwrap_or(1));
        }
    }
    Ok(())
}
