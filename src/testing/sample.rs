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

/// What programs are told by their environment: each workload has some of these.
const VARIABLES: [&str; 23] = [
    "LOG_LEVEL",
    "REGION",
    "DATABASE_HOST",
    "CACHE_HOST",
    "QUEUE_URL",
    "HTTP_PROXY",
    "FEATURE_FLAGS",
    "SENTRY_DSN",
    "OTEL_ENDPOINT",
    "WORKER_THREADS",
    "SMTP_HOST",
    "BUCKET_NAME",
    "KAFKA_BROKERS",
    "REDIS_URL",
    "SESSION_TTL",
    "METRICS_PREFIX",
    "AUTH_ISSUER",
    "TENANT_ID",
    "RATE_LIMIT",
    "VAULT_ADDR",
    "LOCALE",
    "SEARCH_HOST",
    "BILLING_API",
];

/// How many of them: of one workload more than of another.
const VARIABLES_OF_ONE: [usize; 5] = [5, 2, 7, 3, 8];

/// What pods are made from: those of one team are not those of another.
#[derive(Clone, Copy)]
enum Chart {
    /// In a mesh, with an init container.
    Mesh,
    /// With its logs shipped, probed by commands.
    Logs,
    /// With a way to its database, spread over zones.
    Database,
}

const CHARTS: [Chart; 3] = [Chart::Mesh, Chart::Logs, Chart::Database];

/// How many pods of a namespace belong to one workload, if nothing else is said.
const REPLICAS: usize = 40;

impl ApiServer {
    /// Creates `count` pods of about 11 KB each as a real server returns them, `managedFields`
    /// included: `pod-0000000` and so on, spread over the namespaces `load-00` to `load-19`, a hundred
    /// nodes, and workloads of up to forty replicas. What pods of one workload have in common in a
    /// cluster they have in common here, and no more than that: some have been restarted, some are not ready. And so it is
    /// with workloads, which are made from one of three charts and have an image, an environment, ports and resources of
    /// their own.
    ///
    /// # Errors
    /// If they cannot be created, because they are there already.
    pub fn create_sample_pods(&self, count: usize) -> io::Result<()> {
        self.create_sample_workloads(count, REPLICAS)
    }

    /// The same pods in workloads of up to so many `replicas`.
    ///
    /// # Errors
    /// If they cannot be created, because they are there already.
    pub fn create_sample_workloads(&self, count: usize, replicas: usize) -> io::Result<()> {
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
            let templates: Vec<_> = (0..VARIABLES_OF_ONE.len() * CHARTS.len())
                .map(|workload| template(&pods, workload, &context).to_string())
                .collect();
            for index in 0..count {
                let namespace = format!("load-{:02}", index % NAMESPACES);
                let pod = pod(&templates, index, &namespace, index / NAMESPACES / replicas.max(1))?;
                state.create(&pods, Some(&namespace), pod, &context).map_err(refused)?;
            }
            Ok(())
        })
    }
}

/// The template of its workload with one pod's own values in it.
fn pod(templates: &[String], index: usize, namespace: &str, workload: usize) -> io::Result<Value> {
    let node = index * 7 % NODES;
    let second =
        |of: usize| format!("2026-11-01T{:02}:{:02}:{:02}Z", of / 3600 % 24, of / 60 % 60, of % 60);
    // What is different between workloads, and not within one.
    let number = workload * NAMESPACES + index % NAMESPACES;
    let variables = variables(workload);
    let mut text = templates[workload % templates.len()].clone();
    let (port, cpu, memory) = (8000 + number % 90, 50 + number % 9 * 50, 64 + number % 13 * 64);
    for (what, by) in [
        ("8080", port.to_string()),
        ("250m", format!("{cpu}m")),
        ("512Mi", format!("{memory}Mi")),
        ("VERSION", format!("{}.{}.{}", number % 5, number % 17, number % 7)),
        ("TEMPLATE", digits(1, [number, 10])[..10].to_owned()),
        ("CHECKSUM", digits(4, [number, 11])),
        ("DIGEST", digits(4, [number, 12])),
    ] {
        text = text.replace(what, &by);
    }
    for variable in 0..variables {
        // Different ones, whatever the number is: how many there are is a prime.
        let which = (number + variable * (number % 21 + 1)) % VARIABLES.len();
        let value = &digits(1, [number, variable])[..4 + number % 9];
        text = text.replace(&format!("VARIABLE-{variable}"), VARIABLES[which]);
        text = text.replace(&format!("VALUE-{variable}"), value);
    }
    for container in 0..3 {
        let id = digits(4, [index, 13 + container]);
        text = text.replace(&format!("CONTAINER-{container}"), &id);
    }
    for (what, by) in [
        ("INDEX", format!("{index:07}")),
        ("SUFFIX", format!("{:05x}", index * 2_654_435_761 % (1 << 20))),
        ("WORKLOAD", format!("{namespace}-w{workload:03}")),
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
    let mut pod = serde_json::from_str(&text).map_err(io::Error::other)?;
    if index % 10 == 3 {
        restart(&mut pod, 1 + index % 4, &digits(4, [index, 9]), &second(index + 3));
    }
    if index % 40 == 7 {
        make_unready(&mut pod);
    }
    Ok(pod)
}

/// How many variables of its own the pods of a workload have.
fn variables(workload: usize) -> usize {
    VARIABLES_OF_ONE[workload % VARIABLES_OF_ONE.len()]
}

/// Its server has been killed before, for want of memory.
fn restart(pod: &mut Value, count: usize, id: &str, at: &str) {
    let server = &mut pod["status"]["containerStatuses"][0];
    server["restartCount"] = count.into();
    server["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled",
        "startedAt": at, "finishedAt": at, "containerID": format!("containerd://{id}")}});
}

/// Its server does not answer.
fn make_unready(pod: &mut Value) {
    pod["status"]["containerStatuses"][0]["ready"] = false.into();
    for condition in pod["status"]["conditions"].as_array_mut().into_iter().flatten() {
        if condition["type"] == "Ready" || condition["type"] == "ContainersReady" {
            condition["status"] = "False".into();
            condition["reason"] = "ContainersNotReady".into();
            condition["message"] = "containers with unready status: [server]".into();
        }
    }
}

/// So many times sixteen digits, as random as those of real ids and sums, and the same each time.
fn digits(words: usize, [of, which]: [usize; 2]) -> String {
    let mut state = (of as u64) << 4 | which as u64;
    let word = |_| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:016x}", mixed ^ mixed >> 31)
    };
    (0..words).map(word).collect()
}

/// A pod with all that a kubelet and a deployment's controller say about it.
fn template(def: &ResourceDef, workload: usize, context: &WriteContext) -> Value {
    let chart = CHARTS[workload % CHARTS.len()];
    let written = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-INDEX",
            "generateName": "pod-",
            "namespace": "NAMESPACE",
            "annotations": {
                "checksum/config": "CHECKSUM",
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
                "app.kubernetes.io/version": "VERSION",
                "pod-template-hash": "TEMPLATE",
                "tier": "backend",
            },
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "WORKLOAD-TEMPLATE",
                "uid": "5b3a1c2e-6d1f-4c39-9a51-5bd1WORKLOAD", "controller": true,
                    "blockOwnerDeletion": true}],
        },
        "spec": spec(variables(workload), chart),
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
    object["status"] = status(chart);
    write::track(
        Some(&before),
        &mut object,
        def,
        "status",
        &WriteContext { manager: "kubelet".into(), keep_status: false, ..context.clone() },
    );
    object
}

fn spec(variables: usize, chart: Chart) -> Value {
    let env = |names: &[&str]| -> Value {
        names
            .iter()
            .map(|name| json!({"name": name, "value": format!("{}.WORKLOAD", name.to_lowercase())}))
            .collect()
    };
    let own_env: Value = (0..variables)
        .map(|n| json!({"name": format!("VARIABLE-{n}"), "value": format!("VALUE-{n}.WORKLOAD")}))
        .collect();
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
    let mut spec = json!({
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
            container(json!({"name": "server", "image": "registry.example.com/team/WORKLOAD:VERSION",
                "args": ["--listen=:8080", "--metrics=:9090",
                    "--config=/var/run/config/server.yaml"],
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"},
                    {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
                "env": own_env,
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m",
                    "memory": "512Mi"}},
                "volumeMounts": mounts(&["config", "data", "kube-api-access-SUFFIX"]),
                "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
                "securityContext": {"allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": true, "runAsNonRoot": true}})),
            container(json!({"name": "proxy", "image": PROXY,
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
    });
    let command = |path: &str| {
        json!({"exec": {"command": ["/bin/probe", "--addr=:8080", path]}, "initialDelaySeconds": 5,
            "timeoutSeconds": 3, "periodSeconds": 20, "successThreshold": 1, "failureThreshold": 5})
    };
    match chart {
        Chart::Mesh => {}
        Chart::Logs => {
            spec["initContainers"] = json!([]);
            spec["volumes"][1] = json!({"name": "logs", "hostPath": {"path": "/var/log/WORKLOAD", "type": "DirectoryOrCreate"}});
            spec["containers"][0]["volumeMounts"][1]["name"] = "logs".into();
            spec["containers"][0]["livenessProbe"] = command("live");
            spec["containers"][0]["readinessProbe"] = command("ready");
            spec["containers"][1] = container(json!({"name": "shipper", "image": SHIPPER,
                "command": ["/fluent-bit/bin/fluent-bit", "-c", "/etc/shipper/shipper.conf"],
                "env": env(&["NODE_NAME", "CLUSTER", "LOKI_HOST"]),
                "resources": {"limits": {"memory": "96Mi"}, "requests": {"cpu": "20m", "memory": "64Mi"}},
                "volumeMounts": mounts(&["logs", "kube-api-access-SUFFIX"]),
                "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 5"]}}}}));
        }
        Chart::Database => {
            spec["volumes"][1] = json!({"name": "credentials", "secret": {"secretName": "WORKLOAD-db", "defaultMode": 256}});
            spec["containers"][0]["volumeMounts"][1]["name"] = "credentials".into();
            spec["containers"][0]["envFrom"] =
                json!([{"configMapRef": {"name": "WORKLOAD-env", "optional": true}}]);
            spec["containers"][1] = container(json!({"name": "database", "image": DATABASE,
                "args": ["--structured-logs", "--port=5432", "project:region:WORKLOAD"],
                "ports": [{"name": "postgres", "containerPort": 5432, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                "volumeMounts": mounts(&["credentials", "kube-api-access-SUFFIX"]),
                "livenessProbe": {"tcpSocket": {"port": 5432}, "periodSeconds": 30,
                    "timeoutSeconds": 5, "successThreshold": 1, "failureThreshold": 3}}));
            spec["affinity"] = Value::Null;
            spec["nodeSelector"] = json!({"pool": "general", "kubernetes.io/arch": "amd64"});
            spec["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "WORKLOAD"}}}]);
        }
    }
    if let Some(members) = spec.as_object_mut() {
        members.retain(|_, value| !value.is_null() && *value != json!([]));
    }
    spec
}

const PROXY: &str = "registry.example.com/mesh/proxy:1.21.0";
const SHIPPER: &str = "registry.example.com/logging/fluent-bit:3.1.4";
const DATABASE: &str = "registry.example.com/data/database-proxy:2.11.0";

fn status(chart: Chart) -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "lastProbeTime": null,
        "lastTransitionTime": "2026-11-01T08:00:00Z"})
    };
    let container = |number: usize, name: &str, image: &str, digest: &str| {
        json!({"name": name, "image": image, "ready": true, "restartCount": 0, "started": true,
            "lastState": {},
            "state": {"running": {"startedAt": "2026-11-01T08:00:05Z"}},
            "imageID": format!("{image}@sha256:{digest}"),
            "containerID": format!("containerd://CONTAINER-{number}")})
    };
    let conditions: Vec<Value> =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
            .into_iter()
            .map(condition)
            .collect();
    let (name, image) = match chart {
        Chart::Mesh => ("proxy", PROXY),
        Chart::Logs => ("shipper", SHIPPER),
        Chart::Database => ("database", DATABASE),
    };
    let mut status = json!({
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
        "containerStatuses": [container(1, "server", "registry.example.com/team/WORKLOAD:VERSION", "DIGEST"),
            container(2, name, image,
                "2bb501e6429e81f1bdfb7b1ed4a1f9b1ddc32d3a3e0e2f7a4a9f9b1b2c3d4e5f")],
        "qosClass": "Burstable",
    });
    if let (Chart::Logs, Some(members)) = (chart, status.as_object_mut()) {
        members.remove("initContainerStatuses");
    }
    status
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

    #[test]
    fn workloads_have_an_environment_of_their_own() {
        let server = ApiServer::start().unwrap();
        server.create_sample_workloads(3 * NAMESPACES, 2).unwrap();
        let pods = server.list("v1", "Pod");
        let in_first = |pod: &&Value| pod["metadata"]["namespace"] == "load-00";
        let [one, two, three] = &*pods.iter().filter(in_first).collect::<Vec<_>>() else {
            panic!("three pods of each namespace")
        };
        let server = |pod: &Value| pod["spec"]["containers"][0].clone();
        assert_eq!(server(one)["env"], server(two)["env"]);
        assert_ne!(server(one)["env"], server(three)["env"]);
        assert_ne!(server(one)["image"], server(three)["image"]);
    }
}
