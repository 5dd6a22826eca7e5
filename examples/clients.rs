//! Scenario 3: a typed client, a dynamic client and a discovery client on one connection.
//!
//! Lists ConfigMaps, makes a Deployment from YAML, and prints what the server serves as
//! `kubectl api-resources` does.

mod common;

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{ApiResource, DeleteOptions, ListOptions};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kinformer-example
  namespace: default
spec:
  replicas: 2
  selector: {matchLabels: {app: kinformer-example}}
  template:
    metadata: {labels: {app: kinformer-example}}
    spec:
      containers: [{name: web, image: 'nginx:1.29'}]
";

fn main() -> common::Result {
    let cluster = common::Cluster::find()?;
    let client = &cluster.client;

    println!("\nConfigMaps:");
    for map in client.api::<ConfigMap>().list_all(&ListOptions::new()) {
        let map = map?;
        let keys = map.get()?.data.as_ref().map_or(0, std::collections::BTreeMap::len);
        println!("  {} with {keys} keys", map.key());
    }

    println!("\nA Deployment from YAML:");
    let made = client.create_from_yaml(DEPLOYMENT)?;
    println!("  made {} at resource version {}", made[0], made[0].resource_version());
    let deployments = ApiResource::namespaced("apps/v1", "Deployment", "deployments");
    let api = client.dynamic(&deployments).namespace("default");
    let found = api.get("kinformer-example")?;
    println!("  found it with {} replicas", found.get()?["spec"]["replicas"]);
    api.delete_with("kinformer-example", &DeleteOptions::new().grace_period_seconds(0))?;
    println!("  deleted it");

    println!(
        "\n{:<36} {:<12} {:<36} {:<10} KIND",
        "NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED"
    );
    let resources = client.discovery().preferred_resources()?;
    for found in &resources {
        println!(
            "{:<36} {:<12} {:<36} {:<10} {}",
            found.resource.plural(),
            found.short_names.join(","),
            found.resource.api_version(),
            found.resource.is_namespaced(),
            found.resource.kind(),
        );
    }
    println!("{} resources", resources.len());
    Ok(())
}
