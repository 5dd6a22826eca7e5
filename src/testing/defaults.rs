//! The few defaults without which clients and controllers do not recognise an object.

use serde_json::{Value, json};

use super::registry::ResourceDef;

/// Fills in defaults of built-in kinds. A real server knows hundreds; these are the ones that tools look
/// at. Everything else is stored as sent.
pub(crate) fn apply(def: &ResourceDef, object: &mut Value) {
    if !def.builtin {
        return;
    }
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "namespaces") => {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            default(object, "/spec", "finalizers", json!(["kubernetes"]));
            default(object, "/status", "phase", json!("Active"));
        }
        ("", "pods") => {
            default(object, "/spec", "restartPolicy", json!("Always"));
            default(object, "/spec", "dnsPolicy", json!("ClusterFirst"));
            default(object, "/spec", "schedulerName", json!("default-scheduler"));
            default(object, "/spec", "terminationGracePeriodSeconds", json!(30));
            default(object, "/status", "phase", json!("Pending"));
        }
        ("", "secrets") => default(object, "", "type", json!("Opaque")),
        ("", "services") => {
            default(object, "/spec", "type", json!("ClusterIP"));
            default(object, "/spec", "sessionAffinity", json!("None"));
        }
        ("apps", "deployments" | "replicasets" | "statefulsets")
        | ("", "replicationcontrollers") => {
            default(object, "/spec", "replicas", json!(1));
        }
        ("batch", "jobs") => {
            default(object, "/spec", "completions", json!(1));
            default(object, "/spec", "parallelism", json!(1));
        }
        _ => {}
    }
}

/// Sets a member of the object at `pointer`, which is made if there is none, unless it is there.
fn default(object: &mut Value, pointer: &str, member: &str, value: Value) {
    if let Some(parent) = pointer.strip_prefix('/')
        && object[parent].is_null()
    {
        object[parent] = json!({});
    }
    if let Some(Value::Object(members)) = object.pointer_mut(pointer) {
        members.entry(member).or_insert(value);
    }
}
