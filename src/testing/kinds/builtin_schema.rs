//! What built-in kinds consist of, as far as it is checked: the members of the object itself, and the
//! types of the few that tests get wrong most.

use serde_json::{Map, Value};

use super::registry::ResourceDef;
use crate::testing::failure;

/// Removes members that a built-in kind does not have; their names.
pub(crate) fn prune(def: &ResourceDef, object: &mut Value) -> Vec<String> {
    let known = of(def);
    let Value::Object(members) = object else { return Vec::new() };
    let mut unknown: Vec<String> = Vec::new();
    members.retain(|name, _| {
        let keep = matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
            || known.contains(&name.as_str());
        if !keep {
            unknown.push(name.clone());
        }
        keep
    });
    unknown
}

/// What has a wrong type, in Go's words.
pub(crate) fn mistyped(def: &ResourceDef, object: &Value) -> Option<String> {
    let complain = |value: &Value, field: &str, wanted: &str| {
        let part = if field.starts_with("spec.") { "Spec" } else { "" };
        Some(failure::mistyped(value, &format!("{}{part}.{field}", def.kind), wanted))
    };
    for part in ["spec", "status"] {
        if !matches!(object[part], Value::Null | Value::Object(_)) {
            return complain(&object[part], part, &format!("v1.{}", def.kind));
        }
    }
    let replicas = &object["spec"]["replicas"];
    if !replicas.is_null() && !replicas.is_i64() {
        return complain(replicas, "spec.replicas", "int32");
    }
    let texts: &[&str] = match (def.group.as_str(), def.kind.as_str()) {
        ("", "ConfigMap") => &["data", "binaryData"],
        ("", "Secret") => &["data", "stringData"],
        _ => &[],
    };
    for &field in texts {
        match &object[field] {
            Value::Null => {}
            Value::Object(entries) => {
                if let Some(wrong) = first_not_text(entries) {
                    return complain(wrong, field, "string");
                }
            }
            other => return complain(other, field, "map[string]string"),
        }
    }
    None
}

fn first_not_text(entries: &Map<String, Value>) -> Option<&Value> {
    entries.values().find(|value| !matches!(value, Value::Null | Value::String(_)))
}

/// The members of a kind beside version, kind and metadata: most have a specification and a status.
fn of(def: &ResourceDef) -> &'static [&'static str] {
    match (def.group.as_str(), def.kind.as_str()) {
        ("", "Binding") => &["target"],
        ("", "ComponentStatus") => &["conditions"],
        ("", "ConfigMap") => &["binaryData", "data", "immutable"],
        ("", "Endpoints") => &["subsets"],
        ("", "Event") => &[
            "action",
            "count",
            "eventTime",
            "firstTimestamp",
            "involvedObject",
            "lastTimestamp",
            "message",
            "reason",
            "related",
            "reportingComponent",
            "reportingInstance",
            "series",
            "source",
            "type",
        ],
        ("", "PodTemplate") => &["template"],
        ("", "Secret") => &["data", "immutable", "stringData", "type"],
        ("", "ServiceAccount") => &["automountServiceAccountToken", "imagePullSecrets", "secrets"],
        ("admissionregistration.k8s.io", kind) if kind.ends_with("WebhookConfiguration") => {
            &["webhooks"]
        }
        ("apps", "ControllerRevision") => &["data", "revision"],
        ("discovery.k8s.io", "EndpointSlice") => &["addressType", "endpoints", "ports"],
        ("events.k8s.io", "Event") => &[
            "action",
            "deprecatedCount",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
            "deprecatedSource",
            "eventTime",
            "note",
            "reason",
            "regarding",
            "related",
            "reportingController",
            "reportingInstance",
            "series",
            "type",
        ],
        ("node.k8s.io", "RuntimeClass") => &["handler", "overhead", "scheduling"],
        ("policy", "Eviction") => &["deleteOptions"],
        ("rbac.authorization.k8s.io", "ClusterRole") => &["aggregationRule", "rules"],
        ("rbac.authorization.k8s.io", "Role") => &["rules"],
        ("rbac.authorization.k8s.io", _) => &["roleRef", "subjects"],
        ("scheduling.k8s.io", "PriorityClass") => {
            &["description", "globalDefault", "preemptionPolicy", "value"]
        }
        ("storage.k8s.io", "CSIStorageCapacity") => {
            &["capacity", "maximumVolumeSize", "nodeTopology", "storageClassName"]
        }
        ("storage.k8s.io", "StorageClass") => &[
            "allowVolumeExpansion",
            "allowedTopologies",
            "mountOptions",
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ],
        ("storage.k8s.io", "VolumeAttributesClass") => &["driverName", "parameters"],
        _ => &["spec", "status"],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    #[test]
    fn members_that_a_kind_does_not_have_go() {
        let registry = Registry::builtin();
        let mut object =
            json!({"kind": "ConfigMap", "metadata": {}, "data": {}, "spec": {}, "x": 1});
        let unknown = prune(&registry.find("", "v1", "configmaps").unwrap(), &mut object);
        assert_eq!(unknown, ["spec", "x"]);
        assert_eq!(object, json!({"kind": "ConfigMap", "metadata": {}, "data": {}}));
    }

    #[test]
    fn wrong_types_are_named() {
        let registry = Registry::builtin();
        let deployments = registry.find("apps", "v1", "deployments").unwrap();
        assert_eq!(
            mistyped(&deployments, &json!({"spec": {"replicas": "two"}})).as_deref(),
            Some(
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas \
                 of type int32"
            )
        );
        assert!(mistyped(&deployments, &json!({"spec": []})).is_some());
        assert!(mistyped(&deployments, &json!({"spec": {"replicas": 2}})).is_none());
        let maps = registry.find("", "v1", "configmaps").unwrap();
        assert!(mistyped(&maps, &json!({"data": {"a": 1}})).is_some());
        assert!(mistyped(&maps, &json!({"data": {"a": "1"}})).is_none());
    }
}
