//! What runs pods.

use serde_json::Value;

use super::cell::{Item, or};
use crate::{rfc3339, testing::time::human_duration};

const TEMPLATE: &str = "/spec/template/spec/containers";

pub(super) fn deployment(item: Item<'_>) -> Vec<Value> {
    let [names, images] = item.containers(TEMPLATE);
    vec![
        item.name(),
        ready(item),
        item.int("/status/updatedReplicas").into(),
        item.int("/status/availableReplicas").into(),
        item.age(),
        names,
        images,
        item.selector("/spec/selector").into(),
    ]
}

pub(super) fn stateful_set(item: Item<'_>) -> Vec<Value> {
    let [names, images] = item.containers(TEMPLATE);
    vec![item.name(), ready(item), item.age(), names, images]
}

pub(super) fn replica_set(item: Item<'_>) -> Vec<Value> {
    replicas(item, or(item.selector("/spec/selector"), "<none>"))
}

pub(super) fn replication_controller(item: Item<'_>) -> Vec<Value> {
    replicas(item, item.labels("/spec/selector"))
}

pub(super) fn daemon_set(item: Item<'_>) -> Vec<Value> {
    let [names, images] = item.containers(TEMPLATE);
    vec![
        item.name(),
        item.int("/status/desiredNumberScheduled").into(),
        item.int("/status/currentNumberScheduled").into(),
        item.int("/status/numberReady").into(),
        item.int("/status/updatedNumberScheduled").into(),
        item.int("/status/numberAvailable").into(),
        item.labels("/spec/template/spec/nodeSelector").into(),
        item.age(),
        names,
        images,
        or(item.selector("/spec/selector"), "<none>").into(),
    ]
}

pub(super) fn job(item: Item<'_>) -> Vec<Value> {
    let succeeded = item.int("/status/succeeded");
    let parallelism = item.int("/spec/parallelism");
    let completions = match item.at("/spec/completions").as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    };
    let time = |field: &str| item.at(field).as_str().and_then(rfc3339::parse);
    let duration = time("/status/startTime").map(|start| {
        let end = time("/status/completionTime").unwrap_or(item.now);
        human_duration(end.duration_since(start).unwrap_or_default())
    });
    let by_condition =
        |kinds: &[&'static str]| kinds.iter().copied().find(|kind| item.is_condition_true(kind));
    let deleted = || item.is_being_deleted().then_some("Terminating");
    let status = by_condition(&["Complete", "Failed"])
        .or_else(deleted)
        .or_else(|| by_condition(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]));
    let [names, images] = item.containers(TEMPLATE);
    vec![
        item.name(),
        status.unwrap_or("Running").into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        item.age(),
        names,
        images,
        or(item.selector("/spec/selector"), "<none>").into(),
    ]
}

pub(super) fn cron_job(item: Item<'_>) -> Vec<Value> {
    let last = "/status/lastScheduleTime";
    let [names, images] = item.containers("/spec/jobTemplate/spec/template/spec/containers");
    vec![
        item.name(),
        item.text("/spec/schedule").into(),
        item.text_or("/spec/timeZone", "<none>").into(),
        match item.at("/spec/suspend").as_bool() {
            Some(true) => "True",
            Some(false) => "False",
            None => "<unset>",
        }
        .into(),
        item.count("/status/active").into(),
        if item.has(last) { item.since(last) } else { "<none>".to_owned() }.into(),
        item.age(),
        names,
        images,
        or(item.selector("/spec/jobTemplate/spec/selector"), "<none>").into(),
    ]
}

pub(super) fn pod_template(item: Item<'_>) -> Vec<Value> {
    let [names, images] = item.containers("/template/spec/containers");
    vec![item.name(), names, images, item.labels("/template/metadata/labels").into()]
}

pub(super) fn controller_revision(item: Item<'_>) -> Vec<Value> {
    let owner = item.list("/metadata/ownerReferences").find(|owner| owner.flag("/controller"));
    let owner = owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let api_version = owner.text("/apiVersion");
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            let dot = if group.is_empty() { "" } else { "." };
            let kind = format!("{}{dot}{group}", owner.text("/kind")).to_lowercase();
            format!("{kind}/{}", owner.text("/name"))
        },
    );
    vec![item.name(), owner.into(), item.int("/revision").into(), item.age()]
}

pub(super) fn disruption_budget(item: Item<'_>) -> Vec<Value> {
    vec![
        item.name(),
        item.text_or("/spec/minAvailable", "N/A").into(),
        item.text_or("/spec/maxUnavailable", "N/A").into(),
        item.int("/status/disruptionsAllowed").into(),
        item.age(),
    ]
}

pub(super) fn priority_class(item: Item<'_>) -> Vec<Value> {
    vec![
        item.name(),
        item.int("/value").into(),
        item.flag("/globalDefault").into(),
        item.age(),
        item.text("/preemptionPolicy").into(),
    ]
}

fn replicas(item: Item<'_>, selector: String) -> Vec<Value> {
    let [names, images] = item.containers(TEMPLATE);
    vec![
        item.name(),
        item.int("/spec/replicas").into(),
        item.int("/status/replicas").into(),
        item.int("/status/readyReplicas").into(),
        item.age(),
        names,
        images,
        selector.into(),
    ]
}

fn ready(item: Item<'_>) -> Value {
    format!("{}/{}", item.int("/status/readyReplicas"), item.int("/spec/replicas")).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn a_deployment_shows_its_replicas_and_template() {
        let object = json!({
            "spec": {"replicas": 3, "selector": {"matchLabels": {"a": "b"}},
                     "template": {"spec": {"containers": [{"name": "c", "image": "i:1"},
                                                          {"name": "d", "image": "j:2"}]}}},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}});
        assert_eq!(
            cells("apps", "Deployment", object),
            json!(["x", "1/3", 2, 1, "60m", "c,d", "i:1,j:2", "a=b"])
        );
    }

    #[test]
    fn a_job_shows_its_end_before_anything_else() {
        let done = json!({
            "spec": {"completions": 2},
            "status": {"succeeded": 2, "startTime": "1970-01-01T00:00:00Z",
                       "completionTime": "1970-01-01T00:00:30Z",
                       "conditions": [{"type": "Suspended", "status": "True"},
                                      {"type": "Complete", "status": "True"}]}});
        assert_eq!(
            cells("batch", "Job", done),
            json!(["x", "Complete", "2/2", "30s", "60m", "", "", "<none>"])
        );
        let parallel = json!({"spec": {"parallelism": 3}});
        assert_eq!(cells("batch", "Job", parallel)[2], "0/1 of 3");
    }

    #[test]
    fn a_revision_names_its_controller_with_its_group() {
        let object = json!({"revision": 4, "metadata": {"ownerReferences": [
            {"kind": "Node", "apiVersion": "v1", "name": "n"},
            {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": "d", "controller": true}]}});
        assert_eq!(
            cells("apps", "ControllerRevision", object),
            json!(["x", "daemonset.apps/d", 4, "60m"])
        );
    }
}
