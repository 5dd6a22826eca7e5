//! What a server fills in: defaults of the kinds that most tools look at.
//!
//! A real server knows defaults for every field. Here are those of pods and of everything that has
//! a pod template, of Services, Namespaces and Secrets; all else is stored as sent.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use super::registry::ResourceDef;

/// Fills in the defaults of an object, new or changed.
pub(crate) fn apply(def: &ResourceDef, object: &mut Value) {
    if !def.builtin {
        return;
    }
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "namespaces") => {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
        }
        ("", "pods") => pod(object),
        ("", "secrets") => secret(object),
        ("", "services") => service(object),
        ("apps", "deployments") => {
            set(
                object,
                "spec",
                json!({"replicas": 1, "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600, "strategy": {"type": "RollingUpdate"}}),
            );
            let strategy = &mut object["spec"]["strategy"];
            if strategy["type"] == "RollingUpdate" {
                let quarter = json!({"maxUnavailable": "25%", "maxSurge": "25%"});
                set(strategy, "rollingUpdate", quarter);
            }
            template(object);
        }
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            set(object, "spec", json!({"replicas": 1}));
            template(object);
        }
        ("apps", "statefulsets") => {
            set(
                object,
                "spec",
                json!({"replicas": 1, "podManagementPolicy": "OrderedReady",
                "revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate"},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain",
                    "whenScaled": "Retain"}}),
            );
            let strategy = &mut object["spec"]["updateStrategy"];
            if strategy["type"] == "RollingUpdate" {
                set(strategy, "rollingUpdate", json!({"partition": 0}));
            }
            template(object);
        }
        ("apps", "daemonsets") => {
            set(
                object,
                "spec",
                json!({"revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate"}}),
            );
            let strategy = &mut object["spec"]["updateStrategy"];
            if strategy["type"] == "RollingUpdate" {
                set(strategy, "rollingUpdate", json!({"maxUnavailable": 1, "maxSurge": 0}));
            }
            template(object);
        }
        ("batch", "jobs") => {
            set(
                object,
                "spec",
                json!({"parallelism": 1, "completions": 1, "backoffLimit": 6,
                "completionMode": "NonIndexed", "suspend": false,
                "podReplacementPolicy": "TerminatingOrFailed"}),
            );
            template(object);
        }
        ("batch", "cronjobs") => set(
            object,
            "spec",
            json!({"concurrencyPolicy": "Allow",
            "suspend": false, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}),
        ),
        _ => {}
    }
}

/// Fills in what the server decides rather than defaults: nobody owns these fields.
pub(crate) fn decide(def: &ResourceDef, object: &mut Value) {
    if !def.builtin {
        return;
    }
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "namespaces") => {
            set(object, "spec", json!({"finalizers": ["kubernetes"]}));
            set(object, "status", json!({"phase": "Active"}));
        }
        ("", "pods") => {
            if object["spec"].is_object() {
                set(
                    object,
                    "spec",
                    json!({"priority": 0, "tolerations": tolerations(),
                    "preemptionPolicy": "PreemptLowerPriority"}),
                );
            }
            let class = quality(&object["spec"]);
            set(object, "status", json!({"phase": "Pending", "qosClass": class}));
        }
        ("", "services") => set(object, "status", json!({"loadBalancer": {}})),
        // Kinds with a status always show one.
        ("" | "apps" | "batch", _) if def.subresource("status").is_some() => {
            set(object, "status", json!({}));
        }
        _ => {}
    }
}

fn pod(object: &mut Value) {
    if object["spec"].is_object() {
        pod_spec(&mut object["spec"]);
        set(object, "spec", json!({"enableServiceLinks": true}));
    }
}

/// What every pod puts up with for five minutes.
fn tolerations() -> Vec<Value> {
    let missing = |key: &str| {
        json!({"key": key, "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 300})
    };
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map(missing).to_vec()
}

fn template(object: &mut Value) {
    if let Some(spec @ Value::Object(_)) = object.pointer_mut("/spec/template/spec") {
        pod_spec(spec);
    }
}

fn pod_spec(spec: &mut Value) {
    let Value::Object(members) = spec else { return };
    fill(
        members,
        json!({"restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst", "securityContext": {}, "schedulerName": "default-scheduler"}),
    );
    for list in ["containers", "initContainers"] {
        for container in members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Value::Object(container) = container else { continue };
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let tag = image.rsplit('/').next().and_then(|name| name.split_once(':'));
            let newest = !image.contains('@') && tag.is_none_or(|(_, tag)| tag == "latest");
            let pull = if newest { "Always" } else { "IfNotPresent" };
            fill(
                container,
                json!({"resources": {}, "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File", "imagePullPolicy": pull}),
            );
            let ports = container.get_mut("ports").and_then(Value::as_array_mut);
            for port in ports.into_iter().flatten() {
                if let Value::Object(port) = port {
                    fill(port, json!({"protocol": "TCP"}));
                }
            }
        }
    }
}

/// The quality of service class: every container limited as requested, none at all, or in between.
fn quality(spec: &Value) -> &'static str {
    let containers = spec["containers"].as_array().into_iter().flatten();
    let resources: Vec<&Value> = containers.map(|container| &container["resources"]).collect();
    let has = |resources: &Value, which: &str| {
        ["cpu", "memory"].iter().all(|name| !resources[which][name].is_null())
    };
    if resources.iter().all(|one| one["limits"].is_null() && one["requests"].is_null()) {
        "BestEffort"
    } else if resources.iter().all(|one| {
        has(one, "limits") && (one["requests"].is_null() || one["requests"] == one["limits"])
    }) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// What is given as text is stored in base64.
fn secret(object: &mut Value) {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let Value::Object(members) = object else { return };
    if let Some(Value::Object(texts)) = members.remove("stringData") {
        let data = members.entry("data").or_insert_with(|| json!({}));
        for (key, text) in &texts {
            data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }
    fill(members, json!({"type": "Opaque"}));
}

fn service(object: &mut Value) {
    set(object, "spec", json!({"type": "ClusterIP", "sessionAffinity": "None"}));
    let address = cluster_address(&object["metadata"]["uid"]);
    let spec = &mut object["spec"];
    if spec["type"] != "ExternalName" {
        if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
            spec["clusterIP"] = address.into();
        }
        let addresses = json!([spec["clusterIP"]]);
        let Value::Object(members) = spec else { return };
        fill(
            members,
            json!({"clusterIPs": addresses, "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"}),
        );
    }
    for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
        let target = port["port"].clone();
        if let Value::Object(port) = port {
            fill(port, json!({"protocol": "TCP", "targetPort": target}));
        }
    }
}

/// An address of the usual service range, made from the UID: nobody keeps a list of those in use.
fn cluster_address(uid: &Value) -> String {
    let hash = uid
        .as_str()
        .unwrap_or_default()
        .bytes()
        .fold(7_u16, |hash, byte| hash.wrapping_mul(31).wrapping_add(u16::from(byte)));
    let [high, low] = hash.to_be_bytes();
    Ipv4Addr::new(10, 96 | (high & 15), high, low.max(1)).to_string()
}

/// Merges defaults into a member, which is made if there is none.
fn set(object: &mut Value, member: &str, defaults: Value) {
    if !object.is_object() {
        return;
    }
    if object[member].is_null() {
        object[member] = json!({});
    }
    if let Value::Object(members) = &mut object[member] {
        fill(members, defaults);
    }
}

/// Puts defaults where nothing is, or nothing but an empty object that the default is more than.
fn fill(members: &mut Map<String, Value>, defaults: Value) {
    let Value::Object(defaults) = defaults else { return };
    for (name, value) in defaults {
        let nothing = members.get(&name).is_none_or(|present| {
            present.is_null() || present.as_object().is_some_and(Map::is_empty)
        });
        if nothing {
            members.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kinds::Registry;

    fn filled(group: &str, plural: &str, mut object: Value) -> Value {
        let def = Registry::builtin().find(group, "v1", plural).unwrap();
        apply(&def, &mut object);
        decide(&def, &mut object);
        let once = object.clone();
        apply(&def, &mut object);
        decide(&def, &mut object);
        assert_eq!(once, object, "defaults of an object with defaults change nothing");
        object
    }

    #[test]
    fn a_pod_gets_what_a_real_server_gives_it() {
        let pod = filled(
            "",
            "pods",
            json!({"spec": {"containers": [
            {"name": "a", "image": "host:5000/i"}, {"name": "b", "image": "i:1",
                "ports": [{"containerPort": 1}]}]}}),
        );
        let containers = &pod["spec"]["containers"];
        assert_eq!(containers[0]["imagePullPolicy"], "Always");
        assert_eq!(containers[1]["imagePullPolicy"], "IfNotPresent");
        assert_eq!(containers[1]["ports"][0]["protocol"], "TCP");
        assert_eq!(pod["spec"]["tolerations"].as_array().unwrap().len(), 2);
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    }

    #[test]
    fn an_empty_strategy_is_no_strategy() {
        let object = filled("apps", "deployments", json!({"spec": {"strategy": {}}}));
        assert_eq!(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
        let object =
            filled("apps", "deployments", json!({"spec": {"strategy": {"type": "Recreate"}}}));
        assert!(object["spec"]["strategy"].get("rollingUpdate").is_none());
        assert_eq!(object["status"], json!({}));
    }

    #[test]
    fn a_service_gets_an_address_and_target_ports() {
        let service = filled(
            "",
            "services",
            json!({"metadata": {"uid": "u"}, "spec": {"ports": [{"port": 80}]}}),
        );
        assert!(service["spec"]["clusterIP"].as_str().unwrap().parse::<Ipv4Addr>().is_ok());
        assert_eq!(service["spec"]["ports"][0]["targetPort"], 80);
        let headless = filled("", "services", json!({"spec": {"clusterIP": "None"}}));
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    }

    #[test]
    fn text_of_secrets_is_encoded() {
        let secret = filled("", "secrets", json!({"stringData": {"a": "b"}}));
        assert_eq!(secret, json!({"data": {"a": "Yg=="}, "type": "Opaque"}));
    }
}
