//! How deep and how large an object may be.

use serde_json::Value;

use super::{
    failure::{self, Outcome},
    kinds::ResourceDef,
};
use crate::error::Reason;

/// As a real server: what a request may bring, what an object may grow to, and what the `copy`
/// operations of a JSON patch may add up to.
pub(crate) const MOST_BYTES: usize = 3 * 1024 * 1024;
/// How many objects and arrays may be inside each other. The parser gives up at 128, and lists,
/// events and `managedFields` hold what they are about some levels further in.
pub(crate) const MOST_LEVELS: usize = 100;
/// What `managedFields` may have beyond that, for they repeat the object's own levels.
const MORE_FOR_MANAGERS: usize = 10;
/// What nothing anywhere in an object may go beyond.
pub(crate) const DEEPEST: usize = MOST_LEVELS + MORE_FOR_MANAGERS;

/// Refuses an object that could be stored and not be read again.
///
/// # Errors
/// 422 if it is too deep, 413 if it is too large.
pub(crate) fn check(def: &ResourceDef, name: &str, object: &Value) -> Outcome<()> {
    if is_too_deep(object) {
        let why = format!("Invalid value: nested more than {MOST_LEVELS} levels deep");
        let problem = [("", "FieldValueInvalid", why)];
        return Err(failure::invalid(&def.kind, &def.group, name, &problem));
    }
    if size(object) > MOST_BYTES { Err(too_large()) } else { Ok(()) }
}

pub(crate) fn too_large() -> Box<crate::Status> {
    failure::failure(
        Reason::RequestEntityTooLarge,
        format!("Request entity too large: limit is {MOST_BYTES}"),
    )
}

/// Whether a value has more than `levels` of objects and arrays inside each other.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(inside) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(list) => list.iter().any(|item| is_deeper(item, inside)),
        Value::Object(map) => map.values().any(|member| is_deeper(member, inside)),
        _ => false,
    }
}

/// The length of a value's JSON, but for what escapes add.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) if number.is_f64() => 16,
        Value::Number(number) => number
            .as_i64()
            .map_or(20, |n| 1 + n.unsigned_abs().checked_ilog10().unwrap_or(0) as usize),
        Value::String(text) => text.len() + 2,
        Value::Array(list) => 2 + list.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(name, member)| name.len() + 4 + size(member)).sum::<usize>()
        }
    }
}

fn is_too_deep(object: &Value) -> bool {
    let Some(members) = object.as_object() else { return is_deeper(object, MOST_LEVELS) };
    members.iter().any(|(name, member)| match member.as_object() {
        Some(metadata) if name == "metadata" => metadata.iter().any(|(name, member)| {
            let more = if name == "managedFields" { MORE_FOR_MANAGERS } else { 0 };
            is_deeper(member, MOST_LEVELS - 2 + more)
        }),
        _ => is_deeper(member, MOST_LEVELS - 1),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inside, _| json!({ "a": inside }))
    }

    #[test]
    fn levels_are_counted_from_the_object_itself() {
        assert!(!is_deeper(&json!(1), 0));
        assert!(is_deeper(&json!([]), 0));
        assert!(!is_deeper(&nested(5), 5));
        assert!(is_deeper(&nested(6), 5));
        assert!(!is_too_deep(&json!({"spec": nested(MOST_LEVELS - 1)})));
        assert!(is_too_deep(&json!({"spec": nested(MOST_LEVELS)})));
    }

    #[test]
    fn managers_of_the_deepest_object_fit() {
        let managers = |levels| json!({"metadata": {"managedFields": nested(levels)}});
        assert!(!is_too_deep(&managers(MOST_LEVELS + 5)));
        assert!(is_too_deep(&managers(MOST_LEVELS + 10)));
    }

    #[test]
    fn a_size_is_about_that_of_the_text() {
        let value = json!({"a": [1, 22, -3, true, null], "b": {"c": "text", "d": 1.5}, "e": []});
        let length = value.to_string().len();
        assert!(size(&value).abs_diff(length) < 20, "{} {length}", size(&value));
    }
}
