//! Fills the server that KUBECONFIG names, and changes what is there.
//!
//!     load create FROM TO     pods of 12 KB, as the embedded server makes them, by two field managers
//!     load touch FROM TO N    gives each of them an annotation with value N
//!     load map NAMESPACE      one ConfigMap

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use kinformer::{Api, ApiResource, Client, DynamicObject, ListOptions, Patch, testing::ApiServer};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const THREADS: usize = 8;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<usize>();
    let client = Client::try_default()?;
    match arguments[0].as_str() {
        "create" => create(&client, number(1)?, number(2)?),
        "touch" => touch(&client, number(1)?, number(2)?, &arguments[3]),
        "map" => map(&client, &arguments[1]),
        other => Err(format!("{other}: create, touch or map").into()),
    }
}

fn pods(client: &Client) -> Api<DynamicObject> {
    client.dynamic(&ApiResource::namespaced("v1", "Pod", "pods"))
}

fn create(client: &Client, from: usize, to: usize) -> Result<()> {
    let server = ApiServer::start()?;
    server.create_sample_pods(to)?;
    // Of all namespaces, in the order of their numbers. As text, which is a tenth of a tree of values.
    let mut samples = Vec::with_capacity(to);
    for pod in pods(&Client::new(server.config())?).list_all(&ListOptions::new().limit(1_000)) {
        let pod = pod?;
        samples.push((pod.name().to_owned(), pod.json().into_owned()));
    }
    drop(server);
    samples.sort_unstable();
    let namespaces = client.dynamic(&ApiResource::cluster("v1", "Namespace", "namespaces"));
    for number in 0..20 {
        let name = format!("load-{number:02}");
        let _there_already = namespaces.create(&json!({"metadata": {"name": name}}));
    }
    let pods = pods(client);
    in_parallel(from, to, |n| {
        let mut pod: Value = serde_json::from_str(&samples[n].1)?;
        let metadata = pod["metadata"].as_object_mut().ok_or("no metadata")?;
        for given in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"]
        {
            metadata.remove(given);
        }
        let (namespace, name) = (text(&pod, "namespace"), text(&pod, "name"));
        let pods = pods.namespace(&namespace);
        let status = json!({"status": pod["status"].clone()});
        pod.as_object_mut().ok_or("no object")?.remove("status");
        pods.field_manager("kube-controller-manager").create(&pod)?;
        pods.status().field_manager("kubelet").patch(&name, &Patch::Merge(status))?;
        Ok(())
    })
}

fn touch(client: &Client, from: usize, to: usize, value: &str) -> Result<()> {
    let pods = pods(client);
    let patch = json!({"metadata": {"annotations": {"touched": value}}});
    in_parallel(from, to, |n| {
        let pods = pods.namespace(&format!("load-{:02}", n % 20));
        pods.field_manager("toucher").patch(&format!("pod-{n:07}"), &Patch::Merge(&patch))?;
        Ok(())
    })
}

fn map(client: &Client, namespace: &str) -> Result<()> {
    let namespaces = client.dynamic(&ApiResource::cluster("v1", "Namespace", "namespaces"));
    let _there_already = namespaces.create(&json!({"metadata": {"name": namespace}}));
    let maps = client.dynamic(&ApiResource::namespaced("v1", "ConfigMap", "configmaps"));
    maps.namespace(namespace).create(&json!({"metadata": {"name": "one"}}))?;
    Ok(())
}

fn text(pod: &Value, field: &str) -> String {
    pod["metadata"][field].as_str().unwrap_or_default().to_owned()
}

fn in_parallel(from: usize, to: usize, one: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(from);
    let work = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                n if n < to => one(n)?,
                _ => return Ok(()),
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}
