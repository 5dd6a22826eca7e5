//! Scenario 7: a store with indices of your own: pods by the label `app`, and by node.

use k8s_openapi::api::core::v1::Pod;
use kinformer::{
    ApiResource, Object, Result,
    cache::{Indexer, Indexers},
};
use serde_json::json;

fn main() -> Result<()> {
    let app = |pod: &Object<Pod>| pod.labels().get("app").map(Into::into).into_iter().collect();
    let node = |pod: &Object<Pod>| {
        let spec = pod.get().ok().and_then(|pod| pod.spec.clone());
        spec.and_then(|spec| spec.node_name).into_iter().collect()
    };
    let indexer = Indexer::new(
        |pod: &Object<Pod>| pod.key().clone(),
        Indexers::new().with("app", app).with("node", node),
    );
    for (namespace, name, label, node) in
        [("ns1", "pod1", "l1", "n1"), ("ns1", "pod2", "l2", "n1"), ("ns2", "pod3", "l2", "n2")]
    {
        indexer.add(pod(namespace, name, label, node)?);
    }

    println!("app l1: {:?}", names(&indexer.index_keys("app", "l1")?));
    println!("app l2: {:?}", names(&indexer.index_keys("app", "l2")?));
    println!("node n1: {:?}", names(&indexer.index_keys("node", "n1")?));

    indexer.update(pod("ns1", "pod2", "l1", "n2")?);
    println!("after a change, app l1: {:?}", names(&indexer.index_keys("app", "l1")?));
    for pod in indexer.by_index("node", "n2")? {
        println!("on n2: {pod}");
    }
    if let Err(error) = indexer.by_index("colour", "red") {
        println!("error: {error}");
    }
    Ok(())
}

fn pod(namespace: &str, name: &str, app: &str, node: &str) -> Result<Object<Pod>> {
    let json = json!({"metadata": {"namespace": namespace, "name": name, "labels": {"app": app}},
        "spec": {"nodeName": node, "containers": []}});
    Object::from_json(&ApiResource::of::<Pod>(), json.to_string().as_bytes())
}

fn names(keys: &[kinformer::ObjectKey]) -> Vec<String> {
    let mut names: Vec<_> = keys.iter().map(ToString::to_string).collect();
    names.sort();
    names
}
