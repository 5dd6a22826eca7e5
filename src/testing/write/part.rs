//! Parts of objects that are read and written on their own.

use serde_json::Value;

use crate::testing::kinds::ResourceDef;

/// What an update of one part makes of an object: `part` names the subresource, or is `None` for
/// the object itself, which leaves its status alone if that is a part of its own.
pub(super) fn merge(
    def: &ResourceDef,
    part: Option<&str>,
    current: &Value,
    incoming: Value,
) -> Value {
    match part {
        None => {
            let mut new = incoming;
            if def.subresource("status").is_some() {
                copy(current, &mut new, "status");
            }
            new
        }
        Some("finalize") => {
            let mut new = current.clone();
            new["spec"]["finalizers"] = incoming["spec"]["finalizers"].clone();
            new
        }
        Some("ephemeralcontainers" | "resize") => {
            let mut new = current.clone();
            copy(&incoming, &mut new, "spec");
            new
        }
        Some(_) => {
            let mut new = current.clone();
            copy(&incoming, &mut new, "status");
            if !incoming["metadata"]["managedFields"].is_null() {
                new["metadata"]["managedFields"] = incoming["metadata"]["managedFields"].clone();
            }
            new
        }
    }
}

fn copy(from: &Value, to: &mut Value, member: &str) {
    if let Some(members) = to.as_object_mut() {
        match from.get(member) {
            Some(value) => members.insert(member.to_owned(), value.clone()),
            None => members.remove(member),
        };
    }
}
