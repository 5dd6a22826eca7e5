//! Custom resources and the schema of their definition: defaults, unknown fields, and what is
//! wrong.
//!
//! Types, required fields, enums and limits are checked; patterns, formats, combinations (`anyOf`
//! and the like) and CEL rules are not.

use serde_json::{Map, Value};

/// A field, the reason, and the message of what is wrong with it.
pub(super) type Problem = (String, &'static str, String);

/// Puts in the defaults of missing fields.
pub(crate) fn set_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = schema.get("default")
                    && members
                        .get(name)
                        .is_none_or(|member| member.is_null() && schema["nullable"] != true)
                {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, member) in members {
                if let Some(schema) = member_schema(schema, name) {
                    set_defaults(schema, member);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                set_defaults(&schema["items"], item);
            }
        }
        _ => {}
    }
}

/// Removes the fields that the schema does not know; the paths of those it has removed.
pub(crate) fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { path: Vec::new(), removed: Vec::new() };
    pruner.object(schema, object, true);
    pruner.removed
}

struct Pruner {
    path: Vec<String>,
    removed: Vec<String>,
}

impl Pruner {
    fn value(&mut self, schema: &Value, value: &mut Value) {
        match value {
            Value::Object(_) => {
                self.object(schema, value, schema["x-kubernetes-embedded-resource"] == true);
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    let place = self.path.pop().unwrap_or_default();
                    self.path.push(format!("{place}[{at}]"));
                    self.value(&schema["items"], item);
                    self.path.pop();
                    self.path.push(place);
                }
            }
            _ => {}
        }
    }

    /// `whole` is an object with a kind, a version and metadata, of which the schema need not
    /// speak.
    fn object(&mut self, schema: &Value, object: &mut Value, whole: bool) {
        let Value::Object(members) = object else { return };
        let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let mut kept = Map::new();
        for (name, mut member) in std::mem::take(members) {
            self.path.push(name.clone());
            let of_every_object = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            if whole && of_every_object {
                kept.insert(name, member);
            } else if let Some(schema) = member_schema(schema, &name) {
                self.value(schema, &mut member);
                kept.insert(name, member);
            } else if keeps {
                kept.insert(name, member);
            } else {
                self.removed.push(self.path.join("."));
            }
            self.path.pop();
        }
        *members = kept;
    }
}

/// What is wrong with a value.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    check(schema, value, "", &mut problems);
    problems
}

fn check(schema: &Value, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if !has_type(schema, value) {
        let (found, wanted) = (type_name(value), schema["type"].as_str().unwrap_or_default());
        let why =
            format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
        problems.push((path.to_owned(), "FieldValueTypeInvalid", why));
        return;
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        let why = format!("Unsupported value: {value}: supported values: {}", choices.join(", "));
        problems.push((path.to_owned(), "FieldValueNotSupported", why));
    }
    let mut invalid = |wrong: bool, why: String| {
        if wrong {
            let why = format!("Invalid value: {}: {path} in body {why}", shown(value));
            problems.push((path.to_owned(), "FieldValueInvalid", why));
        }
    };
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            if let Some(least) = schema["minimum"].as_f64() {
                let why = format!("should be greater than or equal to {}", schema["minimum"]);
                invalid(number < least, why);
            }
            if let Some(most) = schema["maximum"].as_f64() {
                let why = format!("should be less than or equal to {}", schema["maximum"]);
                invalid(number > most, why);
            }
        }
        Value::String(text) => {
            let length = text.chars().count() as u64;
            if let Some(least) = schema["minLength"].as_u64() {
                invalid(length < least, format!("should be at least {least} chars long"));
            }
            if let Some(most) = schema["maxLength"].as_u64() {
                invalid(length > most, format!("should be at most {most} chars long"));
            }
        }
        Value::Array(items) => {
            let length = items.len() as u64;
            if let Some(least) = schema["minItems"].as_u64() {
                invalid(length < least, format!("should have at least {least} items"));
            }
            if let Some(most) = schema["maxItems"].as_u64() {
                invalid(length > most, format!("should have at most {most} items"));
            }
            for (at, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{at}]"), problems);
            }
        }
        Value::Object(members) => {
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap_or_default();
                if !members.contains_key(name) {
                    let place = join(path, name);
                    problems.push((place, "FieldValueRequired", "Required value".to_owned()));
                }
            }
            for (name, member) in members {
                if let Some(schema) = member_schema(schema, name) {
                    check(schema, member, &join(path, name), problems);
                }
            }
        }
        _ => {}
    }
}

/// The schema of a member of an object, if its schema says anything about it.
fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let known = schema["properties"].get(name);
    known.or_else(|| schema.get("additionalProperties").filter(|others| **others != false))
}

fn has_type(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        _ => true,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value in a message: lists and objects are too long for that.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => items.len().to_string(),
        other => other.to_string(),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "port": {"x-kubernetes-int-or-string": true},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                "parts": {"type": "array", "minItems": 1, "items": {"type": "object",
                    "properties": {
                    "name": {"type": "string", "default": "x"}}}}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut object = json!({"kind": "W", "metadata": {"name": "a"}, "extra": 1,
            "spec": {"size": 1, "nope": 2, "tags": {"a": "b"}, "parts": [{"name": "n", "no": 1}]},
            "status": {"anything": {"goes": true}}});
        let removed = prune(&schema(), &mut object);
        assert_eq!(removed, ["extra", "spec.nope", "spec.parts[0].no"]);
        assert_eq!(object["spec"]["tags"], json!({"a": "b"}));
        assert_eq!(object["status"]["anything"]["goes"], true);
        assert_eq!(object["metadata"]["name"], "a");
    }

    #[test]
    fn defaults_fill_in_what_is_missing_in_what_is_there() {
        let mut object = json!({"spec": {"size": 1, "parts": [{}]}});
        set_defaults(&schema(), &mut object);
        assert_eq!(object, json!({"spec": {"size": 1, "color": "red", "parts": [{"name": "x"}]}}));
        let mut object = json!({});
        set_defaults(&schema(), &mut object);
        assert_eq!(object, json!({}), "there is no default for the specification itself");
    }

    #[test]
    fn each_problem_names_its_field() {
        let object = json!({"spec": {"size": "big", "color": "green", "port": true,
            "tags": {"a": 1},
            "parts": []}});
        let found = problems(&schema(), &object);
        let fields: Vec<&str> = found.iter().map(|(field, _, _)| field.as_str()).collect();
        assert_eq!(fields, ["spec.color", "spec.parts", "spec.port", "spec.size", "spec.tags.a"]);
        assert_eq!(
            found[3].2,
            "Invalid value: \"string\": spec.size in body must be of type integer: \"string\""
        );
        let missing = problems(&schema(), &json!({"spec": {}}));
        assert_eq!(missing, [("spec.size".into(), "FieldValueRequired", "Required value".into())]);
        let small = problems(&schema(), &json!({"spec": {"size": 0}}));
        assert!(small[0].2.ends_with("should be greater than or equal to 1"), "{small:?}");
        assert!(problems(&schema(), &json!({"spec": {"size": 3, "port": "http"}})).is_empty());
    }
}
