//! Patches. STAND-IN until `patch/` lands: merge patches only, no managed fields.

use serde_json::Value;

use super::{call::Call, registry::ResourceDef};

pub(crate) fn track(
    _old: Option<&Value>,
    _new: &mut Value,
    _def: &ResourceDef,
    _part: &str,
    _call: &Call,
) {
}

pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(members) = target {
        for (name, change) in changes {
            if change.is_null() {
                members.remove(name);
            } else {
                merge(members.entry(name.clone()).or_insert(Value::Null), change);
            }
        }
    }
}
