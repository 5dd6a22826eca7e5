//! Nodes, namespaces, events and other parts of the cluster itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cell::{Item, or};
use crate::testing::time;

pub(super) fn node(item: Item<'_>) -> Vec<Value> {
    let mut status = match item.condition("Ready") {
        Some(ready) if ready.text("/status") == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if item.flag("/spec/unschedulable") {
        status += ",SchedulingDisabled";
    }
    let info = |field: &str| item.text(&format!("/status/nodeInfo/{field}"));
    let address = |kind: &str| {
        let mut all = item.list("/status/addresses");
        let found = all.find(|address| address.text("/type") == kind);
        found.map_or_else(|| "<none>".to_owned(), |address| address.text("/address"))
    };
    let architecture = info("architecture");
    let mut kernel = or(info("kernelVersion"), "<unknown>");
    if !architecture.is_empty() {
        kernel += &format!(" ({architecture})");
    }
    vec![
        item.name(),
        status.into(),
        or(roles(item), "<none>").into(),
        item.age(),
        info("kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        or(info("osImage"), "<unknown>").into(),
        kernel.into(),
        or(info("containerRuntimeVersion"), "<unknown>").into(),
    ]
}

pub(super) fn namespace(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text("/status/phase").into(), item.age()]
}

/// Of the core group and of `events.k8s.io`, which names most fields differently.
pub(super) fn event(item: Item<'_>) -> Vec<Value> {
    let either = |core: &str, new: &str| item.text_or(core, &item.text(new));
    let when = |pointer: &str| item.at(pointer).as_str().filter(|text| !text.is_empty());
    let first = when("/firstTimestamp")
        .or_else(|| when("/deprecatedFirstTimestamp"))
        .or_else(|| when("/eventTime"));
    let last = when("/series/lastObservedTime")
        .filter(|_| item.has("/series"))
        .or_else(|| when("/lastTimestamp"))
        .or_else(|| when("/deprecatedLastTimestamp"))
        .or(first);
    let count = item.at("/series/count").as_i64();
    let count =
        count.unwrap_or_else(|| item.int("/count").max(item.int("/deprecatedCount")).max(1));
    let about = either("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let name = either("/involvedObject/name", "/regarding/name");
    let about = if name.is_empty() { about } else { format!("{about}/{name}") };
    let component = or(
        either("/source/component", "/deprecatedSource/component"),
        &either("/reportingComponent", "/reportingController"),
    );
    let host =
        or(either("/source/host", "/deprecatedSource/host"), &item.text("/reportingInstance"));
    let source = if host.is_empty() { component } else { format!("{component}, {host}") };
    vec![
        time::age(last, item.now).into(),
        item.text("/type").into(),
        item.text("/reason").into(),
        about.into(),
        either("/involvedObject/fieldPath", "/regarding/fieldPath").into(),
        source.into(),
        either("/message", "/note").trim().into(),
        time::age(first, item.now).into(),
        count.into(),
        item.name(),
    ]
}

pub(super) fn component_status(item: Item<'_>) -> Vec<Value> {
    let healthy = item.list("/conditions").find(|c| c.text("/type") == "Healthy");
    let Some(healthy) = healthy else {
        return vec![item.name(), "Unknown".into(), "".into(), "".into()];
    };
    let status = if healthy.text("/status") == "True" { "Healthy" } else { "Unhealthy" };
    let (message, error) = (healthy.text("/message"), healthy.text("/error"));
    vec![item.name(), status.into(), message.into(), error.into()]
}

pub(super) fn resource_quota(item: Item<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, _) in item.at("/status/hard").as_object().into_iter().flatten() {
        let pointer = resource.replace('~', "~0").replace('/', "~1");
        let used = item.text_or(&format!("/status/used/{pointer}"), "0");
        let hard = item.text(&format!("/status/hard/{pointer}"));
        let list = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        list.push(format!("{resource}: {used}/{hard}"));
    }
    vec![item.name(), requests.join(", ").into(), limits.join(", ").into(), item.age()]
}

pub(super) fn lease(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text("/spec/holderIdentity").into(), item.age()]
}

pub(super) fn lease_candidate(item: Item<'_>) -> Vec<Value> {
    vec![
        item.name(),
        item.text("/spec/leaseName").into(),
        item.text("/spec/binaryVersion").into(),
        item.text("/spec/emulationVersion").into(),
        item.age(),
    ]
}

pub(super) fn runtime_class(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text("/handler").into(), item.age()]
}

pub(super) fn device_taint_rule(item: Item<'_>) -> Vec<Value> {
    let added = "/spec/taint/timeAdded";
    vec![
        item.name(),
        item.text("/spec/taint/key").into(),
        item.text("/spec/taint/value").into(),
        item.text("/spec/taint/effect").into(),
        if item.has(added) { item.since(added) } else { String::new() }.into(),
        item.age(),
    ]
}

pub(super) fn resource_claim(item: Item<'_>) -> Vec<Value> {
    let allocated = item.has("/status/allocation");
    let deleted = item.is_being_deleted();
    let states = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && item.count("/status/reservedFor") > 0, "reserved"),
    ];
    let states: Vec<_> = states.iter().filter(|(is, _)| *is).map(|(_, state)| *state).collect();
    vec![item.name(), states.join(",").into(), item.age()]
}

pub(super) fn resource_slice(item: Item<'_>) -> Vec<Value> {
    vec![
        item.name(),
        item.text("/spec/nodeName").into(),
        item.text("/spec/driver").into(),
        item.text("/spec/pool/name").into(),
        item.age(),
    ]
}

fn roles(item: Item<'_>) -> String {
    let labels = item.at("/metadata/labels").as_object().into_iter().flatten();
    let roles: BTreeSet<_> = labels
        .filter_map(|(key, value)| {
            let by_key = key.strip_prefix("node-role.kubernetes.io/");
            let by_value = value.as_str().filter(|_| key == "kubernetes.io/role");
            by_key.or(by_value).filter(|role| !role.is_empty())
        })
        .collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn a_node_shows_readiness_roles_and_versions() {
        let object = json!({
            "metadata": {"labels": {"node-role.kubernetes.io/control-plane": "",
                                    "kubernetes.io/role": "agent", "a": "b"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "False"}],
                       "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                       "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "osImage": "os",
                                    "architecture": "arm64"}}});
        assert_eq!(
            cells("", "Node", object),
            json!([
                "x",
                "NotReady,SchedulingDisabled",
                "agent,control-plane",
                "60m",
                "v1",
                "10.0.0.1",
                "<none>",
                "os",
                "6 (arm64)",
                "<unknown>"
            ])
        );
    }

    #[test]
    fn an_event_reads_the_same_in_both_groups() {
        let core = json!({"type": "Normal", "reason": "R", "message": " m\n", "count": 3,
            "involvedObject": {"kind": "Pod", "name": "p"},
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:30:00Z"});
        let new = json!({"type": "Normal", "reason": "R", "note": " m\n", "deprecatedCount": 3,
            "regarding": {"kind": "Pod", "name": "p"},
            "deprecatedSource": {"component": "c", "host": "h"},
            "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "1970-01-01T00:30:00Z"});
        let shown = json!(["30m", "Normal", "R", "pod/p", "", "c, h", "m", "60m", 3, "x"]);
        assert_eq!(cells("", "Event", core), shown);
        assert_eq!(cells("events.k8s.io", "Event", new), shown);
    }

    #[test]
    fn a_quota_keeps_limits_apart() {
        let object = json!({"status": {
            "hard": {"limits.cpu": "2", "pods": "9", "count/widgets.example.com": "5"},
            "used": {"pods": "1", "count/widgets.example.com": "2"}}});
        assert_eq!(
            cells("", "ResourceQuota", object),
            json!(["x", "count/widgets.example.com: 2/5, pods: 1/9", "limits.cpu: 0/2", "60m"])
        );
    }
}
