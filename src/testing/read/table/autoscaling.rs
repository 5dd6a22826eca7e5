//! Autoscalers, in both versions.

use serde_json::Value;

use super::cell::{Item, first_few, or};

pub(super) fn horizontal_pod_autoscaler(item: Item<'_>) -> Vec<Value> {
    let specs = item.list("/spec/metrics");
    let mut targets: Vec<_> = specs
        .enumerate()
        .map(|(at, spec)| target(spec, item.at(&format!("/status/currentMetrics/{at}"))))
        .collect();
    if let Some(wanted) = item.at("/spec/targetCPUUtilizationPercentage").as_i64() {
        let current = percent(item.at("/status/currentCPUUtilizationPercentage"));
        targets.insert(0, format!("cpu: {}/{wanted}%", or(current, "<unknown>")));
    }
    let target = "/spec/scaleTargetRef";
    let part = |field: &str| item.text(&format!("{target}/{field}"));
    vec![
        item.name(),
        format!("{}/{}", part("kind"), part("name")).into(),
        first_few(&targets, 2, ", ", "<none>").into(),
        item.text_or("/spec/minReplicas", "<unset>").into(),
        item.int("/spec/maxReplicas").into(),
        item.int("/status/currentReplicas").into(),
        item.age(),
    ]
}

/// A metric as `current/wanted`.
fn target(spec: Item<'_>, status: &Value) -> String {
    let (field, is_resource) = match spec.text("/type").as_str() {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "External" => ("external", false),
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = |kind: &str| spec.text(&format!("/{field}/target/{kind}"));
    let status = Item::new(status, spec.now);
    let current = |kind: &str| status.text_or(&format!("/{field}/current/{kind}"), "<unknown>");
    let average = wanted("averageValue");
    if is_resource {
        let name = spec.text(&format!("/{field}/name"));
        if !average.is_empty() {
            return format!("{name}: {}/{average}", current("averageValue"));
        }
        let used = percent(status.at(&format!("/{field}/current/averageUtilization")));
        let limit = percent(spec.at(&format!("/{field}/target/averageUtilization")));
        return format!("{name}: {}/{}", or(used, "<unknown>"), or(limit, "<auto>"));
    }
    match (field, average.is_empty()) {
        ("pods", _) => format!("{}/{average}", current("averageValue")),
        (_, false) => format!("{}/{average} (avg)", current("averageValue")),
        (_, true) => format!("{}/{}", current("value"), wanted("value")),
    }
}

fn percent(value: &Value) -> String {
    value.as_i64().map(|percent| format!("{percent}%")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn metrics_show_what_is_and_what_is_wanted() {
        let object = json!({
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu",
                        "target": {"averageUtilization": 80}}},
                    {"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
                    {"type": "External", "external": {"target": {"value": "3"}}}]},
            "status": {"currentReplicas": 2, "currentMetrics": [
                {"resource": {"current": {"averageUtilization": 30}}}]}});
        assert_eq!(
            cells("autoscaling", "HorizontalPodAutoscaler", object),
            json!([
                "x",
                "Deployment/d",
                "cpu: 30%/80%, <unknown>/10 + 1 more...",
                "<unset>",
                5,
                2,
                "60m"
            ])
        );
    }

    #[test]
    fn version_one_shows_its_only_metric() {
        let object = json!({"spec": {"targetCPUUtilizationPercentage": 50, "minReplicas": 1}});
        let cells = cells("autoscaling", "HorizontalPodAutoscaler", object);
        assert_eq!((&cells[2], &cells[3]), (&json!("cpu: <unknown>/50%"), &json!("1")));
    }
}
