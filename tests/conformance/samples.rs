//! The smallest object of each built-in kind that a kube-apiserver accepts.

use serde_json::{Value, json};

use crate::server::pod_spec;

/// `None` for kinds whose objects are not made this way: they are read-only, name something outside the
/// server, or are in alpha or beta.
///
/// In a namespace of the same name, if it lives in one.
pub(crate) fn sample(kind: &str, name: &str) -> Option<Value> {
    let about = json!({"kind": "Pod", "name": name, "namespace": name});
    let mut object = match kind {
        "ClusterRole"
        | "ConfigMap"
        | "Endpoints"
        | "Namespace"
        | "Node"
        | "Role"
        | "Secret"
        | "ServiceAccount"
        | "MutatingWebhookConfiguration"
        | "ValidatingWebhookConfiguration" => json!({}),
        "CSINode" => json!({"spec": {"drivers": []}}),
        "CSIDriver"
        | "DeviceClass"
        | "Lease"
        | "NetworkPolicy"
        | "PodDisruptionBudget"
        | "ResourceClaim"
        | "ResourceQuota" => json!({"spec": {}}),
        "ClusterRoleBinding" | "RoleBinding" => {
            json!({"roleRef": {"kind": "ClusterRole", "name": "view",
            "apiGroup": "rbac.authorization.k8s.io"}})
        }
        "ControllerRevision" => json!({"revision": 1, "data": {}}),
        "CSIStorageCapacity" => json!({"storageClassName": name}),
        "CronJob" => json!({"spec": {"schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": once()}}}}),
        "DaemonSet" | "Deployment" | "ReplicaSet" => json!({"spec": selecting(name)}),
        "EndpointSlice" => json!({"addressType": "IPv4", "endpoints": []}),
        "Event" => json!({"involvedObject": about, "regarding": about, "type": "Normal",
            "reason": "Test", "action": "Testing", "reportingComponent": "example.com/test",
            "reportingController": "example.com/test", "reportingInstance": "one",
            "eventTime": "2026-01-01T00:00:00.000000Z"}),
        "FlowSchema" => json!({"spec": {"priorityLevelConfiguration": {"name": "global-default"}}}),
        "HorizontalPodAutoscaler" => json!({"spec": {"maxReplicas": 2,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}}),
        "Ingress" => {
            json!({"spec": {"defaultBackend": {"service": {"name": name, "port": {"number": 80}}}}})
        }
        "IngressClass" => json!({"spec": {"controller": "example.com/none"}}),
        "Job" => json!({"spec": {"template": once()}}),
        "LimitRange" => json!({"spec": {"limits": []}}),
        "PersistentVolume" => json!({"spec": {"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/var/empty"}}}),
        "PersistentVolumeClaim" => json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}),
        "Pod" => json!({"spec": pod_spec()}),
        "PodTemplate" => json!({"template": template(name)}),
        "PriorityClass" => json!({"value": 1}),
        "PriorityLevelConfiguration" => json!({"spec": {"type": "Limited",
            "limited": {"limitResponse": {"type": "Reject"}}}}),
        "ReplicationController" => {
            json!({"spec": {"selector": {"app": name}, "template": template(name)}})
        }
        "ResourceClaimTemplate" => json!({"spec": {"spec": {}}}),
        "RuntimeClass" => json!({"handler": "runc"}),
        "Service" => json!({"spec": {"ports": [{"port": 80}]}}),
        "StatefulSet" => {
            let mut spec = selecting(name);
            spec["serviceName"] = json!(name);
            json!({"spec": spec})
        }
        "StorageClass" => json!({"provisioner": "example.com/none"}),
        "ValidatingAdmissionPolicy" => json!({"spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["nothing.example.com"],
                "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}]},
            "validations": [{"expression": "true"}]}}),
        "ValidatingAdmissionPolicyBinding" => {
            json!({"spec": {"policyName": name, "validationActions": ["Deny"]}})
        }
        "VolumeAttachment" => json!({"spec": {"attacher": "example.com", "nodeName": name,
            "source": {"persistentVolumeName": name}}}),
        _ => return None,
    };
    object["metadata"] = json!({"name": name});
    Some(object)
}

fn template(name: &str) -> Value {
    json!({"metadata": {"labels": {"app": name}}, "spec": pod_spec()})
}

fn selecting(name: &str) -> Value {
    json!({"selector": {"matchLabels": {"app": name}}, "template": template(name)})
}

fn once() -> Value {
    let mut spec = pod_spec();
    spec["restartPolicy"] = json!("Never");
    json!({"spec": spec})
}
