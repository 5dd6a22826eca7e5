//! Versions of a kind that spell the same things differently.
//!
//! Events are one resource in two groups, and autoscalers one in two versions. All other kinds with
//! several versions differ in nothing but their `apiVersion` here, although the real server renames
//! some fields of `resource.k8s.io`.

use serde_json::{Map, Value, json};

use super::registry::ResourceDef;

/// Gives an object the shape of a version, whichever it has. `apiVersion` and `kind` are not
/// touched.
///
/// Metrics other than the use of CPU have no place in `autoscaling/v1`: an annotation keeps them.
pub(crate) fn to_version(resource: &ResourceDef, object: &mut Value) {
    let Some(fields) = object.as_object_mut().filter(|_| resource.builtin) else { return };
    match (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str()) {
        ("", _, "Event") => {
            for (core, new) in EVENT_FIELDS {
                rename(fields, new, core);
            }
        }
        ("events.k8s.io", _, "Event") => {
            for (core, new) in EVENT_FIELDS {
                rename(fields, core, new);
            }
        }
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => autoscaler_to_v1(object),
        ("autoscaling", _, "HorizontalPodAutoscaler") => autoscaler_to_v2(object),
        _ => {}
    }
}

/// Fields of an event: in the core group, in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const TARGET: &str = "targetCPUUtilizationPercentage";
const CURRENT: &str = "currentCPUUtilizationPercentage";

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

fn autoscaler_to_v1(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(Value::Array(metrics)) = spec.remove("metrics")
    {
        let is_cpu = |metric: &Value| {
            let target = metric.pointer("/resource/target/averageUtilization");
            metric["resource"]["name"] == "cpu" && target.is_some()
        };
        let (cpu, others): (Vec<_>, Vec<_>) = metrics.into_iter().partition(is_cpu);
        if let Some(metric) = cpu.first() {
            let target = metric["resource"]["target"]["averageUtilization"].clone();
            spec.insert(TARGET.to_owned(), target);
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
            && !others.is_empty()
        {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(METRICS.to_owned(), Value::Array(others).to_string().into());
            }
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && let Some(metrics) = status.remove("currentMetrics")
    {
        let mut metrics = metrics.as_array().into_iter().flatten();
        let cpu = metrics.find(|metric| metric["resource"]["name"] == "cpu");
        let current = cpu.and_then(|m| m.pointer("/resource/current/averageUtilization"));
        if let Some(current) = current {
            status.insert(CURRENT.to_owned(), current.clone());
        }
    }
}

fn autoscaler_to_v2(object: &mut Value) {
    let mut metrics = Vec::new();
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(Value::String(kept)) = annotations.and_then(|all| all.remove(METRICS)) {
        metrics = serde_json::from_str(&kept).unwrap_or_default();
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(target) = spec.remove(TARGET) {
            let target = json!({"type": "Utilization", "averageUtilization": target});
            let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
            metrics.insert(0, metric);
        }
        if !metrics.is_empty() {
            spec.insert("metrics".to_owned(), metrics.into());
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && let Some(current) = status.remove(CURRENT)
    {
        let resource = json!({"name": "cpu", "current": {"averageUtilization": current}});
        let metrics = json!([{"type": "Resource", "resource": resource}]);
        status.insert("currentMetrics".to_owned(), metrics);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kinds::Registry;

    fn converted(group: &str, version: &str, plural: &str, object: &Value) -> Value {
        let mut object = object.clone();
        let registry = Registry::builtin();
        to_version(&registry.find(group, version, plural).unwrap(), &mut object);
        object
    }

    #[test]
    fn an_event_goes_to_the_other_group_and_back_unchanged() {
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"},
            "message": "m", "source": {"component": "c"}, "count": 2, "type": "Normal",
            "reportingComponent": "c", "firstTimestamp": "t", "eventTime": null});
        let new = converted("events.k8s.io", "v1", "events", &event);
        assert_eq!(new["regarding"]["kind"], "Pod");
        assert_eq!(new["note"], "m");
        assert!(new.get("message").is_none());
        assert_eq!(converted("events.k8s.io", "v1", "events", &new), new);
        assert_eq!(converted("", "v1", "events", &new), event);
        assert_eq!(converted("", "v1", "events", &event), event);
    }

    #[test]
    fn an_autoscaler_goes_to_the_other_version_and_back_unchanged() {
        let plural = "horizontalpodautoscalers";
        let v2 = json!({"metadata": {"name": "h", "annotations": {}},
            "spec": {"maxReplicas": 3, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {
                    "type": "Utilization", "averageUtilization": 50}}},
                {"type": "Pods", "pods": {"metric": {"name": "m"}}}]},
            "status": {"currentMetrics": [{"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageUtilization": 7}}}]}});
        let v1 = converted("autoscaling", "v1", plural, &v2);
        assert_eq!(v1["spec"], json!({"maxReplicas": 3, TARGET: 50}));
        assert_eq!(v1["status"], json!({CURRENT: 7}));
        assert_eq!(converted("autoscaling", "v1", plural, &v1), v1);
        assert_eq!(converted("autoscaling", "v2", plural, &v1), v2);
    }

    #[test]
    fn other_kinds_are_left_alone() {
        let object = json!({"count": 1, "message": "m", "spec": {"metrics": []}});
        assert_eq!(converted("", "v1", "configmaps", &object), object);
    }
}
