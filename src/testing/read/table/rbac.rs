//! Who may do what: bindings, certificates, admission and priority of requests.

use std::time::Duration;

use serde_json::Value;

use super::cell::{Item, or};
use crate::testing::time::human_duration;

pub(super) fn role_binding(item: Item<'_>) -> Vec<Value> {
    let subjects = |kind: &str| -> Value {
        let names: Vec<_> = item
            .list("/subjects")
            .filter(|subject| subject.text("/kind") == kind)
            .map(|subject| {
                let name = subject.text("/name");
                if kind == "ServiceAccount" {
                    format!("{}/{name}", subject.text("/namespace"))
                } else {
                    name
                }
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        item.name(),
        format!("{}/{}", item.text("/roleRef/kind"), item.text("/roleRef/name")).into(),
        item.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn certificate_request(item: Item<'_>) -> Vec<Value> {
    let duration = item.at("/spec/expirationSeconds").as_u64();
    let duration = duration.map(|seconds| human_duration(Duration::from_secs(seconds)));
    let mut state = if item.condition("Denied").is_some() {
        "Denied".to_owned()
    } else if item.condition("Approved").is_some() {
        "Approved".to_owned()
    } else {
        "Pending".to_owned()
    };
    if item.condition("Failed").is_some() {
        state += ",Failed";
    }
    if !item.text("/status/certificate").is_empty() {
        state += ",Issued";
    }
    vec![
        item.name(),
        item.age(),
        item.text_or("/spec/signerName", "<none>").into(),
        item.text("/spec/username").into(),
        duration.unwrap_or_else(|| "<none>".to_owned()).into(),
        state.into(),
    ]
}

pub(super) fn trust_bundle(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.text_or("/spec/signerName", "<none>").into()]
}

pub(super) fn pod_certificate_request(item: Item<'_>) -> Vec<Value> {
    let known = ["Issued", "Denied", "Failed"];
    let kinds = item.list("/status/conditions").map(|condition| condition.text("/type"));
    let state = kinds.rev().find(|kind| known.contains(&kind.as_str()));
    vec![
        item.name(),
        item.text("/spec/podName").into(),
        item.text("/spec/serviceAccountName").into(),
        item.text("/spec/nodeName").into(),
        item.text("/spec/signerName").into(),
        or(state.unwrap_or_default(), "Pending").into(),
        item.labels("/spec/unverifiedUserAnnotations").into(),
    ]
}

pub(super) fn webhooks(item: Item<'_>) -> Vec<Value> {
    vec![item.name(), item.count("/webhooks").into(), item.age()]
}

pub(super) fn mutating_policy(item: Item<'_>) -> Vec<Value> {
    policy(item, "/spec/mutations")
}

pub(super) fn validating_policy(item: Item<'_>) -> Vec<Value> {
    policy(item, "/spec/validations")
}

pub(super) fn policy_binding(item: Item<'_>) -> Vec<Value> {
    let name = item.text("/spec/paramRef/name");
    let parameter = if name.is_empty() {
        or(item.selector("/spec/paramRef/selector"), "<unset>")
    } else {
        format!("{}/{name}", item.text_or("/spec/paramRef/namespace", "*"))
    };
    vec![item.name(), item.text("/spec/policyName").into(), parameter.into(), item.age()]
}

pub(super) fn flow_schema(item: Item<'_>) -> Vec<Value> {
    let dangling = item.condition("Dangling").map(|condition| condition.text("/status"));
    vec![
        item.name(),
        item.text("/spec/priorityLevelConfiguration/name").into(),
        item.int("/spec/matchingPrecedence").into(),
        item.text_or("/spec/distinguisherMethod/type", "<none>").into(),
        item.age(),
        dangling.unwrap_or_else(|| "?".to_owned()).into(),
    ]
}

pub(super) fn priority_level(item: Item<'_>) -> Vec<Value> {
    let number = |field: &str| match item.at(&format!("/spec/limited/{field}")) {
        Value::Number(number) => Value::Number(number.clone()),
        _ => "<none>".into(),
    };
    vec![
        item.name(),
        item.text("/spec/type").into(),
        number("nominalConcurrencyShares"),
        number("limitResponse/queuing/queues"),
        number("limitResponse/queuing/handSize"),
        number("limitResponse/queuing/queueLengthLimit"),
        item.age(),
    ]
}

fn policy(item: Item<'_>, rules: &str) -> Vec<Value> {
    let kind = if item.has("/spec/paramKind") {
        format!("{}/{}", item.text("/spec/paramKind/apiVersion"), item.text("/spec/paramKind/kind"))
    } else {
        "<unset>".to_owned()
    };
    vec![item.name(), item.count(rules).into(), kind.into(), item.age()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cells;

    #[test]
    fn a_binding_sorts_its_subjects_by_kind() {
        let object = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
            {"kind": "User", "name": "v"},
            {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]});
        assert_eq!(
            cells("rbac.authorization.k8s.io", "RoleBinding", object),
            json!(["x", "Role/r", "60m", "u, v", "g", "n/s"])
        );
    }

    #[test]
    fn a_certificate_request_shows_how_far_it_is() {
        let object = json!({"spec": {"expirationSeconds": 3600, "username": "u"},
            "status": {"certificate": "x", "conditions": [{"type": "Approved"}]}});
        assert_eq!(
            cells("certificates.k8s.io", "CertificateSigningRequest", object),
            json!(["x", "60m", "<none>", "u", "60m", "Approved,Issued"])
        );
    }
}
