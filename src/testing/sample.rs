//! Pods as a busy cluster has them, for load and memory measurements.

use std::io;

use serde_json::{Value, json};

use crate::testing::{
    kinds::ResourceDef,
    server::ApiServer,
    write::{self, WriteContext},
};

const NAMESPACES: usize = 20;
const NODES: usize = 100;

/// How many pods of a namespace belong to one workload.
const REPLICAS: usize = 40;

impl ApiServer {
    /// Creates `count` pods of about 11 KB each as a real server returns them, `managedFields`
    /// included: `pod-0000000` and so on, spread over the namespaces `load-00` to `load-19`, a hundred
    /// nodes, and workloads of up to forty replicas. What pods of one workload have in common in a
    /// cluster they have in common here, and no more than that.
    ///
    /// # Errors
    /// If they cannot be created, because they are there already.
    pub fn create_sample_pods(&self, count: usize) -> io::Result<()> {
        self.shared().write(|state| {
            let find = |plural| {
                state
                    .registry
                    .find("", "v1", plural)
                    .ok_or_else(|| io::Error::other("no such kind"))
            };
            let (pods, namespaces) = (find("pods")?, find("namespaces")?);
            let context = WriteContext::direct();
            let refused = |status: Box<crate::Status>| io::Error::other(status.message);
            for namespace in 0..NAMESPACES {
                let object = json!({"metadata": {"name": format!("load-{namespace:02}")}});
                state.create(&namespaces, None, object, &context).map_err(refused)?;
            }
            let template = template(&pods, &context).to_string();
            for index in 0..count {
                let namespace = format!("load-{:02}", index % NAMESPACES);
                let pod = pod(&template, index, &namespace)?;
                state.create(&pods, Some(&namespace), pod, &context).map_err(refused)?;
            }
            Ok(())
        })
    }
}

/// The template with one pod's own values in it.
fn pod(template: &str, index: usize, namespace: &str) -> io::Result<Value> {
    let (replica, node) = (index / NAMESPACES, index * 7 % NODES);
    let workload = format!("w{:03}", replica / REPLICAS);
    let second =
        |of: usize| format!("2026-11-01T{:02}:{:02}:{:02}Z", of / 3600 % 24, of / 60 % 60, of % 60);
    let mut text = template.to_owned();
    for container in 0..3 {
        text = text.replace(&format!("CONTAINER-{container}"), &container_id(index, container));
    }
    for (what, by) in [
        ("INDEX", format!("{index:07}")),
        ("SUFFIX", format!("{:05x}", index * 2_654_435_761 % (1 << 20))),
        ("WORKLOAD", format!("{namespace}-{workload}")),
        ("NAMESPACE", namespace.to_owned()),
        ("NODE", format!("node-{node:03}")),
        ("192.168.7.21", format!("192.168.7.{node}")),
        ("10.0.0.0", format!("10.{}.{}.{}", index >> 16 & 255, index >> 8 & 255, index & 255)),
        ("2026-11-01T08:00:00Z", second(index)),
        ("2026-11-01T08:00:01Z", second(index + 1)),
        ("2026-11-01T08:00:04Z", second(index + 4)),
        ("2026-11-01T08:00:05Z", second(index + 5)),
    ] {
        text = text.replace(what, &by);
    }
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// As random as real ones are, and the same each time.
fn container_id(pod: usize, container: usize) -> String {
    let mut state = (pod as u64) << 2 | container as u64;
    let word = |_| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:016x}", mixed ^ mixed >> 31)
    };
    (0..4).map(word).collect()
}

/// A pod with all that a kubelet and a deployment's controller say about it.
fn template(def: &ResourceDef, context: &WriteContext) -> Value {
    let written = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-INDEX",
            "generateName": "pod-",
            "namespace": "NAMESPACE",
            "annotations": {
                "checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "prometheus.io/path": "/metrics",
                "prometheus.io/port": "9090",
                "prometheus.io/scrape": "true",
                "sidecar.example.com/status": "{\"version\":\"1.21.0\",\"initContainers\":[\"init\"],\"containers\":[\"proxy\"],\"volumes\":[\"proxy-envoy\",\"proxy-data\",\"proxy-podinfo\"]}",
            },
            "labels": {
                "app": "WORKLOAD",
                "app.kubernetes.io/component": "backend",
                "app.kubernetes.io/instance": "WORKLOAD",
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/name": "WORKLOAD",
                "app.kubernetes.io/version": "1.4.2",
                "pod-template-hash": "7c5ddbdf54",
                "tier": "backend",
            },
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "WORKLOAD-7c5ddbdf54",
                "uid": "5b3a1c2e-6d1f-4c39-9a51-5bd1WORKLOAD", "controller": true,
                    "blockOwnerDeletion": true}],
        },
        "spec": spec(),
    });
    let mut object = written;
    write::track(
        None,
        &mut object,
        def,
        "",
        &WriteContext { manager: "kube-controller-manager".into(), ..context.clone() },
    );
    let before = object.clone();
    object["status"] = status();
    write::track(
        Some(&before),
        &mut object,
        def,
        "status",
        &WriteContext { manager: "kubelet".into(), keep_status: false, ..context.clone() },
    );
    object
}

fn spec() -> Value {
    let env = |names: &[&str]| -> Value {
        names
            .iter()
            .map(|name| json!({"name": name, "value": format!("{}.WORKLOAD", name.to_lowercase())}))
            .collect()
    };
    let mounts = |names: &[&str]| -> Value {
        names
            .iter()
            .map(|name| {
                json!({"name": name, "mountPath": format!("/var/run/{name}"),
                "readOnly": true})
            })
            .collect()
    };
    let probe = |path: &str| {
        json!({"httpGet": {"path": path, "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": 10,
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})
    };
    let common = json!({"terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"});
    let container = |mut container: Value| {
        for (name, value) in common.as_object().into_iter().flatten() {
            container[name] = value.clone();
        }
        container
    };
    json!({
        "volumes": [
            {"name": "config", "configMap": {"name": "WORKLOAD", "defaultMode": 420}},
            {"name": "data", "emptyDir": {}},
            {"name": "kube-api-access-SUFFIX", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt",
                    "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1",
                    "fieldPath": "metadata.namespace"}}]}}]}},
        ],
        "initContainers": [container(json!({"name": "init",
            "image": "registry.example.com/platform/init:2.3.1",
            "args": ["--wait-for", "db:5432", "--timeout", "60s"], "resources": {},
                "volumeMounts": mounts(&["config", "kube-api-access-SUFFIX"])}))],
        "containers": [
            container(json!({"name": "server", "image": "registry.example.com/team/WORKLOAD:1.4.2",
                "args": ["--listen=:8080", "--metrics=:9090",
                    "--config=/var/run/config/server.yaml"],
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"},
                    {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
                "env": env(&["LOG_LEVEL", "REGION", "DATABASE_HOST", "CACHE_HOST", "QUEUE_URL"]),
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m",
                    "memory": "512Mi"}},
                "volumeMounts": mounts(&["config", "data", "kube-api-access-SUFFIX"]),
                "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                "securityContext": {"allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": true, "runAsNonRoot": true}})),
            container(json!({"name": "proxy", "image": "registry.example.com/mesh/proxy:1.21.0",
                "args": ["proxy", "sidecar", "--domain", "NAMESPACE.svc.cluster.local"],
                "ports": [{"name": "envoy", "containerPort": 15090, "protocol": "TCP"}],
                "env": env(&["POD_NAME", "CA_ADDR"]),
                "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}},
                "volumeMounts": mounts(&["data", "kube-api-access-SUFFIX"]),
                    "readinessProbe": probe("/healthz/ready")})),
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "WORKLOAD",
        "serviceAccount": "WORKLOAD",
        "nodeName": "NODE",
        "securityContext": {"fsGroup": 1000, "runAsUser": 1000},
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100,
            "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": "WORKLOAD"}},
                "topologyKey": "kubernetes.io/hostname"}}]}},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300}],
        "priority": 0,
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
    })
}

fn status() -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "lastProbeTime": null,
        "lastTransitionTime": "2026-11-01T08:00:00Z"})
    };
    let container = |number: usize, name: &str, image: &str| {
        json!({"name": name, "image": image, "ready": true, "restartCount": 0, "started": true,
            "lastState": {},
            "state": {"running": {"startedAt": "2026-11-01T08:00:05Z"}},
            "imageID": format!("{image}@sha256:2bb501e6429e81f1bdfb7b1ed4a1f9b1ddc32d3a3e0e2f7a4a9f9b1b2c3d4e5f"),
            "containerID": format!("containerd://CONTAINER-{number}")})
    };
    let conditions: Vec<Value> =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
            .into_iter()
            .map(condition)
            .collect();
    json!({
        "phase": "Running",
        "conditions": conditions,
        "hostIP": "192.168.7.21",
        "hostIPs": [{"ip": "192.168.7.21"}],
        "podIP": "10.0.0.0",
        "podIPs": [{"ip": "10.0.0.0"}],
        "startTime": "2026-11-01T08:00:00Z",
        "initContainerStatuses": [{"name": "init",
            "image": "registry.example.com/platform/init:2.3.1", "ready": true,
            "restartCount": 0, "started": false, "lastState": {},
                "imageID": "registry.example.com/platform/init@sha256:77af",
            "state": {"terminated": {"exitCode": 0, "reason": "Completed",
                "startedAt": "2026-11-01T08:00:01Z",
                "finishedAt": "2026-11-01T08:00:04Z", "containerID": "containerd://CONTAINER-0"}}}],
        "containerStatuses": [container(1, "server", "registry.example.com/team/WORKLOAD:1.4.2"),
            container(2, "proxy", "registry.example.com/mesh/proxy:1.21.0")],
        "qosClass": "Burstable",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_pod_has_the_size_of_a_real_one() {
        let server = ApiServer::start().unwrap();
        server.create_sample_pods(3).unwrap();
        let pods = server.list("v1", "Pod");
        assert_eq!(pods.len(), 3);
        let size = pods[0].to_string().len();
        assert!((10_000..12_500).contains(&size), "{size}");
        assert!(pods[0]["metadata"]["managedFields"][1]["subresource"] == "status");
        assert_ne!(pods[0]["status"]["podIP"], pods[1]["status"]["podIP"]);
        let id = |pod: usize, at: usize| {
            let id = &pods[pod]["status"]["containerStatuses"][at]["containerID"];
            id.as_str().and_then(|id| id.strip_prefix("containerd://")).unwrap().to_owned()
        };
        assert_eq!(id(0, 0).len(), 64);
        assert!(id(0, 0) != id(0, 1) && id(0, 0) != id(1, 0));
    }
}
