//! A small living cluster.

use std::{io, time::Duration};

use serde_json::{Value, json};

use crate::testing::{
    patch,
    server::ApiServer,
    shared::Shared,
    store::storage,
    write::{DeleteOptions, WriteContext},
};

/// How often something changes.
const STEP: Duration = Duration::from_millis(300);

impl ApiServer {
    /// Starts a server with a small workload that lives: every 300 ms something in it changes.
    ///
    /// There are StatefulSets `db` and `cache`, pods (some with the label `app: busy-box`) and
    /// ConfigMaps in `default`; Deployments, pods and ConfigMaps in `kube-system`; a Deployment
    /// with pods in `shop`. ConfigMaps get new content, a Deployment is scaled up and down, pods
    /// come and go with it, and a StatefulSet reports progress.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub fn demo() -> io::Result<Self> {
        let server = Self::start()?;
        server.live()?;
        Ok(server)
    }

    /// Fills this server with the workload of [`demo`](Self::demo).
    ///
    /// # Errors
    /// If an object of the same name is there already, or no thread can be started.
    pub fn live(&self) -> io::Result<()> {
        for object in initial() {
            self.create(object).map_err(io::Error::other)?;
        }
        self.spawn("api:demo", |shared| {
            for step in 0.. {
                if shared.stop.wait_timeout(STEP) {
                    return;
                }
                advance(shared, step);
            }
        })
    }
}

/// One change, in turn.
fn advance(shared: &Shared, step: u64) {
    let round = step / 6;
    match step % 6 {
        0 => {
            let data = json!({"data": {"round": round.to_string()}});
            merge(shared, "ConfigMap", "v1", "default/settings", &data);
        }
        1 => {
            let replicas = 2 + round % 2;
            let change = json!({"spec": {"replicas": replicas}});
            merge(shared, "Deployment", "apps/v1", "kube-system/coredns", &change);
        }
        2 if round % 2 == 1 => create(shared, pod("kube-system", "coredns-c", "coredns", "node-b")),
        2 => delete(shared, "Pod", "v1", "kube-system", "coredns-c"),
        3 => {
            let replicas = 2 + round % 2;
            let change = json!({"status": {"replicas": replicas, "readyReplicas": replicas,
                "availableReplicas": replicas, "updatedReplicas": replicas,
                    "observedGeneration": round + 1}});
            merge(shared, "Deployment", "apps/v1", "kube-system/coredns", &change);
        }
        4 => {
            let change = json!({"status": {"observedGeneration": 1, "replicas": 3,
                "readyReplicas": 2 + round % 2, "currentReplicas": 3}});
            merge(shared, "StatefulSet", "apps/v1", "default/db", &change);
        }
        _ => {
            delete(shared, "Pod", "v1", "default", &format!("job-{}", round.wrapping_sub(1)));
            create(shared, pod("default", &format!("job-{round}"), "job", "node-a"));
        }
    }
}

/// Merges a change into an object, if it is (still) there.
fn merge(shared: &Shared, kind: &str, api_version: &str, key: &str, change: &Value) {
    shared.write(|state| {
        let def = state.registry.find_type(api_version, kind)?;
        let old = state.object(&storage(&def), key)?.clone();
        let current = old.value(&def);
        let mut new = current.clone();
        patch::merge::apply(&mut new, change);
        state.replace(&def, &old, current, new, None, &context()).ok()
    });
}

fn create(shared: &Shared, object: Value) {
    shared.write(|state| {
        let def = state.registry.find_type("v1", object["kind"].as_str()?)?;
        let namespace = object["metadata"]["namespace"].as_str()?.to_owned();
        state.create(&def, Some(&namespace), object, &context()).ok()
    });
}

fn delete(shared: &Shared, kind: &str, api_version: &str, namespace: &str, name: &str) {
    shared.write(|state| {
        let def = state.registry.find_type(api_version, kind)?;
        state.delete(&def, Some(namespace), name, &DeleteOptions::default(), &context()).ok()
    });
}

fn context() -> WriteContext {
    WriteContext { manager: "demo".into(), ..WriteContext::direct() }
}

fn initial() -> Vec<Value> {
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        node("node-a"),
        node("node-b"),
        config_map("default", "settings", json!({"round": "0", "mode": "demo"})),
        config_map("default", "banner", json!({"text": "hello"})),
        config_map(
            "kube-system",
            "coredns",
            json!({"Corefile": ".:53 {\n    errors\n    health\n}\n"}),
        ),
        set("Deployment", "kube-system", "coredns", 2),
        set("Deployment", "kube-system", "metrics-server", 1),
        set("Deployment", "shop", "web", 3),
        set("StatefulSet", "default", "db", 3),
        set("StatefulSet", "default", "cache", 1),
        pod("kube-system", "coredns-a", "coredns", "node-a"),
        pod("kube-system", "coredns-b", "coredns", "node-b"),
        pod("kube-system", "metrics-server-a", "metrics-server", "node-a"),
        pod("default", "busy-box-1", "busy-box", "node-a"),
        pod("default", "busy-box-2", "busy-box", "node-b"),
        pod("default", "cache-0", "cache", "node-a"),
    ];
    objects.extend((0..3).map(|ordinal| pod("default", &format!("db-{ordinal}"), "db", "node-b")));
    objects.extend(["x", "y", "z"].map(|id| pod("shop", &format!("web-{id}"), "web", "node-a")));
    objects
}

fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": namespace}})
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "v1.37.0", "osImage": "demo"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
}

fn set(kind: &str, namespace: &str, name: &str, replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": containers(name)}}},
        "status": {"observedGeneration": 1, "replicas": replicas, "readyReplicas": replicas,
            "availableReplicas": replicas, "updatedReplicas": replicas}})
}

fn pod(namespace: &str, name: &str, app: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": {"nodeName": node, "containers": containers(app)},
        "status": {"phase": "Running", "podIP": "10.0.0.7",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "image": image(app), "imageID": "",
                "ready": true,
                "restartCount": 0, "state": {"running": {}}}]}})
}

fn containers(app: &str) -> Value {
    json!([{"name": "main", "image": image(app)}])
}

fn image(app: &str) -> String {
    format!("registry.example.com/{app}:1.0")
}
