//! Field selectors: which fields a kind can be selected by, and their values.

use serde_json::Value;

use super::registry::ResourceDef;

/// The field that a label of a field selector stands for.
///
/// # Errors
/// The text with which the real server refuses the label, for a 400 answer.
pub(crate) fn resolve<'l>(resource: &ResourceDef, label: &'l str) -> Result<&'l str, String> {
    if label == "metadata.name" {
        return Ok(label);
    }
    if !resource.builtin {
        let namespace = label == "metadata.namespace" && resource.namespaced;
        return if namespace || resource.selectable_fields.iter().any(|f| f == label) {
            Ok(label)
        } else {
            Err(format!("field label not supported: {label}"))
        };
    }
    let Some(known) = Known::of(resource) else {
        return if label == "metadata.namespace" {
            Ok(label)
        } else {
            Err(format!(
                "\"{label}\" is not a known field selector: only \"metadata.name\", \
                 \"metadata.namespace\""
            ))
        };
    };
    match label {
        "spec.host" if resource.kind == "Pod" => Ok("spec.nodeName"),
        "metadata.namespace" if known.namespace => Ok(label),
        _ if known.fields.contains(&label) => Ok(label),
        _ if resource.kind == "Job" => {
            Err(format!("field label \"{label}\" not supported for Job"))
        }
        _ if resource.kind == "ResourceSlice" => Err(format!(
            "field label not supported for {}/{}, Kind=ResourceSlice: {label}",
            resource.group, resource.version
        )),
        _ => Err(format!("field label not supported: {label}")),
    }
}

/// The value of a field, which [`resolve`] has returned; empty if the object has none.
pub(crate) fn value(resource: &ResourceDef, object: &Value, field: &str) -> String {
    let at = |path: &str| path.split('.').try_fold(object, |value, step| value.get(step));
    let text = |path: &str| at(path).map(plain).unwrap_or_default();
    let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
    if !resource.builtin {
        return text(field);
    }
    match (resource.kind.as_str(), field) {
        ("Pod", "spec.hostNetwork") | ("Node", "spec.unschedulable") => or(text(field), "false"),
        ("Pod", "status.podIP") => {
            let first = object.pointer("/status/podIPs/0/ip").map(plain);
            first.unwrap_or_else(|| text(field))
        }
        ("Pod", "status.podIPs") => String::new(),
        ("ReplicationController", "status.replicas") => or(text(field), "0"),
        ("Job", "status.successful") => or(text("status.succeeded"), "0"),
        ("Event", "source") => or(text("source.component"), &text("reportingComponent")),
        _ => text(field),
    }
}

/// The fields of the kinds that have more than name and namespace.
struct Known {
    /// Whether `metadata.namespace` is among them.
    namespace: bool,
    fields: &'static [&'static str],
}

impl Known {
    fn of(resource: &ResourceDef) -> Option<Self> {
        let namespaced = |fields| Some(Self { namespace: true, fields });
        let cluster = |fields| Some(Self { namespace: false, fields });
        match (resource.group.as_str(), resource.kind.as_str()) {
            ("", "Pod") => namespaced(&[
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            ]),
            ("", "Node") => cluster(&["spec.unschedulable"]),
            ("", "ReplicationController") => namespaced(&["status.replicas"]),
            ("", "Event") => namespaced(&[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ]),
            ("events.k8s.io", "Event") => namespaced(&[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ]),
            ("", "Namespace") => cluster(&["status.phase"]),
            ("", "Secret") => namespaced(&["type"]),
            ("", "Service") => namespaced(&["spec.clusterIP", "spec.type"]),
            ("batch", "Job") => namespaced(&["status.successful"]),
            ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle") => {
                cluster(&["spec.signerName"])
            }
            ("certificates.k8s.io", "PodCertificateRequest") => {
                cluster(&["spec.signerName", "spec.podName", "spec.nodeName"])
            }
            ("resource.k8s.io", "ResourceSlice") => {
                cluster(&["spec.nodeName", "spec.driver", "spec.pool.name"])
            }
            _ => None,
        }
    }
}

/// A scalar as text; empty for anything else.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    fn def(group: &str, plural: &str) -> Arc<ResourceDef> {
        Registry::builtin().find(group, "v1", plural).unwrap()
    }

    #[test]
    fn every_kind_can_be_selected_by_name() {
        let registry = Registry::builtin();
        for resource in registry.all() {
            assert_eq!(resolve(resource, "metadata.name"), Ok("metadata.name"));
        }
    }

    #[test]
    fn an_unsupported_label_is_refused_in_the_words_of_the_real_server() {
        let refused = |group, plural, label| resolve(&def(group, plural), label).unwrap_err();
        assert_eq!(refused("", "pods", "spec.x"), "field label not supported: spec.x");
        assert_eq!(
            refused("", "configmaps", "data"),
            "\"data\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert_eq!(refused("batch", "jobs", "x"), "field label \"x\" not supported for Job");
        assert_eq!(
            refused("resource.k8s.io", "resourceslices", "x"),
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x"
        );
        assert_eq!(
            refused("", "nodes", "metadata.namespace"),
            "field label not supported: metadata.namespace"
        );
        assert!(refused("apps", "replicasets", "status.replicas").contains("not a known field"));
    }

    #[test]
    fn the_old_name_of_a_pods_node_still_works() {
        assert_eq!(resolve(&def("", "pods"), "spec.host"), Ok("spec.nodeName"));
    }

    #[test]
    fn missing_values_read_as_the_zero_of_their_type() {
        let empty = json!({});
        assert_eq!(value(&def("", "pods"), &empty, "spec.hostNetwork"), "false");
        assert_eq!(value(&def("", "pods"), &empty, "spec.nodeName"), "");
        assert_eq!(value(&def("", "nodes"), &empty, "spec.unschedulable"), "false");
        assert_eq!(value(&def("batch", "jobs"), &empty, "status.successful"), "0");
    }

    #[test]
    fn values_that_have_another_place_are_found_there() {
        let pod = json!({"status": {"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}});
        assert_eq!(value(&def("", "pods"), &pod, "status.podIP"), "2.2.2.2");
        assert_eq!(value(&def("", "pods"), &pod, "status.podIPs"), "");
        let job = json!({"status": {"succeeded": 3}});
        assert_eq!(value(&def("batch", "jobs"), &job, "status.successful"), "3");
        let event = json!({"reportingComponent": "kubelet"});
        assert_eq!(value(&def("", "events"), &event, "source"), "kubelet");
    }

    #[test]
    fn a_custom_resource_has_the_fields_that_its_crd_lists() {
        let mut registry = Registry::builtin();
        registry
            .apply_crd(&json!({"metadata": {"name": "foos.x.io"}, "spec": {
                "group": "x.io", "scope": "Cluster", "names": {"kind": "Foo", "plural": "foos"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                              "selectableFields": [{"jsonPath": ".spec.n"}]}]}}))
            .unwrap();
        let foo = registry.find("x.io", "v1", "foos").unwrap();
        assert!(resolve(&foo, "metadata.namespace").is_err());
        assert_eq!(resolve(&foo, "spec.n"), Ok("spec.n"));
        assert_eq!(value(&foo, &json!({"spec": {"n": 7}}), "spec.n"), "7");
    }
}
