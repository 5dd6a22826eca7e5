//! Walks over objects that know which lists have items of their own: what differs, what is there,
//! and how a configuration merges into an object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    fieldset::FieldSet,
    types::{ListType, Types, default_key},
};

/// How one object differs from another.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

/// Compares two objects of a kind, but for their `managedFields`. An added part is in `added` with
/// everything below it, unless every object of the kind has it.
pub(super) fn compare(types: Types<'_>, old: &Value, new: &Value) -> Comparison {
    let mut walk = CompareWalk { types, fields: Vec::new() };
    walk.visit(true, Some(old), Some(new))
}

struct CompareWalk<'a> {
    types: Types<'a>,
    /// Where we are, in the terms of [`Types`].
    fields: Vec<&'a str>,
}

impl<'a> CompareWalk<'a> {
    /// Compares what is at one path: a field, or an item of a list.
    fn visit(
        &mut self,
        is_field: bool,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Comparison {
        if is_null(old) && is_null(new) {
            return Comparison::default();
        }
        let is_there =
            is_field && (is_null(old) || is_null(new)) && self.types.is_always_there(&self.fields);
        if is_there && is_empty(old) && is_empty(new) {
            return Comparison::default();
        }
        let parts = |value: Option<&'a Value>| Parts::of(self.types, &self.fields, value);
        let (Some(old_parts), Some(mut new_parts)) = (parts(old), parts(new)) else {
            return Comparison::of_leaf(old, new);
        };
        if old_parts.is_empty() && new_parts.is_empty() {
            return Comparison::of_leaf(old, new);
        }
        let mut result = Comparison::default();
        for (step, part) in old_parts.0 {
            let new_part = new_parts.0.remove(&step);
            self.descend(&mut result, step, Some(part), new_part);
        }
        for (step, part) in new_parts.0 {
            self.descend(&mut result, step, None, Some(part));
        }
        if !is_there {
            result.added.set_member(old.is_none());
            result.removed.set_member(new.is_none());
        }
        result
    }

    fn descend(
        &mut self,
        result: &mut Comparison,
        step: String,
        old: Option<Part<'a>>,
        new: Option<Part<'a>>,
    ) {
        let field = old.or(new).and_then(|part| part.field);
        if self.fields == ["metadata"] && field == Some("managedFields") {
            return;
        }
        self.fields.extend(field);
        let part =
            self.visit(field.is_some(), old.map(|part| part.value), new.map(|part| part.value));
        if field.is_some() {
            self.fields.pop();
        }
        result.added.attach(&step, part.added);
        result.modified.attach(&step, part.modified);
        result.removed.attach(&step, part.removed);
    }
}

impl Comparison {
    /// Of what is one piece.
    fn of_leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        let mut result = Self::default();
        match (old, new) {
            (None, _) => result.added.set_member(true),
            (_, None) => result.removed.set_member(true),
            (Some(old), Some(new)) => result.modified.set_member(old != new),
        }
        result
    }
}

/// Null is as good as missing.
fn is_null(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}

/// The fields of an object, or the items of a list that has items of their own, by step.
#[derive(Default)]
struct Parts<'a>(BTreeMap<String, Part<'a>>);

#[derive(Clone, Copy)]
struct Part<'a> {
    /// The name, if it is a field.
    field: Option<&'a str>,
    value: &'a Value,
}

impl<'a> Parts<'a> {
    /// `None` if the value is one piece. What is missing or null has no parts, but could have.
    fn of(types: Types<'_>, fields: &[&str], value: Option<&'a Value>) -> Option<Self> {
        match value {
            None | Some(Value::Null) => Some(Self::default()),
            Some(Value::Object(map)) if fields.is_empty() || !types.is_atomic(fields) => {
                let part = |(key, value): (&'a String, &'a Value)| {
                    (format!("f:{key}"), Part { field: Some(key), value })
                };
                Some(Self(map.iter().map(part).collect()))
            }
            Some(Value::Array(list)) => {
                let kind = types.list(fields);
                let part = |value| Some((item_step(&kind, value)?, Part { field: None, value }));
                list.iter().map(part).collect::<Option<_>>().map(Self)
            }
            Some(_) => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = (&String, Part<'a>)> {
        self.0.iter().map(|(step, part)| (step, *part))
    }
}

/// The step to an item of a list; `None` if the list is one piece, or the item has none of its
/// keys.
fn item_step(kind: &ListType, item: &Value) -> Option<String> {
    match kind {
        ListType::Atomic => None,
        ListType::Set => Some(format!("v:{item}")),
        ListType::Map(keys) => {
            let item = item.as_object()?;
            keys.iter().find(|key| item.contains_key(*key))?;
            let value = |key: &String| {
                Some((key.clone(), item.get(key).cloned().or_else(|| default_key(key))?))
            };
            let keys: Map<_, _> = keys.iter().filter_map(value).collect();
            Some(format!("k:{}", Value::Object(keys)))
        }
    }
}

/// The fields that a configuration sets.
pub(super) fn fields_of(types: Types<'_>, config: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    add_fields(types, &mut Vec::new(), &mut Vec::new(), config, &mut set);
    set
}

fn add_fields<'a>(
    types: Types<'_>,
    fields: &mut Vec<&'a str>,
    steps: &mut Vec<String>,
    value: &'a Value,
    set: &mut FieldSet,
) {
    let parts = Parts::of(types, fields, Some(value)).filter(|parts| !parts.is_empty());
    let Some(parts) = parts else {
        set.insert(steps);
        return;
    };
    for (step, part) in parts.iter().filter(|(_, part)| !part.value.is_null()) {
        steps.push(step.clone());
        fields.extend(part.field);
        add_fields(types, fields, steps, part.value, set);
        if part.field.is_some() {
            fields.pop();
        } else {
            set.insert(steps);
        }
        steps.pop();
    }
}

/// Merges a configuration into an object.
///
/// # Errors
/// The key of an item that occurs twice in a list of the configuration.
pub(super) fn merge(types: Types<'_>, live: &Value, config: &Value) -> Result<Value, String> {
    merge_at(types, &mut Vec::new(), Some(live), config)
}

fn merge_at<'a>(
    types: Types<'_>,
    fields: &mut Vec<&'a str>,
    live: Option<&Value>,
    config: &'a Value,
) -> Result<Value, String> {
    match config {
        Value::Object(map) if fields.is_empty() || !types.is_atomic(fields) => {
            let mut merged = live.and_then(Value::as_object).cloned().unwrap_or_default();
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                fields.push(key);
                let field = merge_at(types, fields, merged.get(key), value);
                fields.pop();
                merged.insert(key.clone(), field?);
            }
            Ok(Value::Object(merged))
        }
        Value::Array(list) => {
            let kind = types.list(fields);
            let live = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let steps = |list: &[Value]| -> Option<Vec<_>> {
                list.iter().map(|item| item_step(&kind, item)).collect()
            };
            let (Some(live_steps), Some(steps)) = (steps(live), steps(list)) else {
                return Ok(config.clone());
            };
            let mut merged = BTreeMap::new();
            for (step, item) in steps.iter().zip(list) {
                let known = live_steps.iter().position(|known| known == step);
                let item = merge_at(types, fields, known.map(|at| &live[at]), item)?;
                if merged.insert(step.as_str(), item).is_some() {
                    return Err(format!(".{}: duplicate entries for key {step}", fields.join(".")));
                }
            }
            Ok(Value::Array(in_order(live, &live_steps, &steps, merged)))
        }
        plain => Ok(plain.clone()),
    }
}

/// The items of the configuration in its order; those that only the object has keep their place
/// among the ones that both have.
fn in_order(
    live: &[Value],
    live_steps: &[String],
    steps: &[String],
    mut merged: BTreeMap<&str, Value>,
) -> Vec<Value> {
    let mut items = Vec::new();
    let mut live = live_steps.iter().zip(live).peekable();
    for (at, step) in steps.iter().enumerate() {
        let shared = steps[at..].iter().find(|step| live_steps.contains(step));
        while let Some((known, item)) = live.next_if(|(known, _)| Some(*known) != shared) {
            if !steps.contains(known) {
                items.push(item.clone());
            }
        }
        if Some(step) == shared {
            live.next();
        }
        items.extend(merged.remove(step.as_str()));
    }
    let rest = live.filter(|(known, _)| !steps.contains(known));
    items.extend(rest.map(|(_, item)| item.clone()));
    items
}

/// Removes from `value` what is in `last` and nobody claims: not in `claimed`.
pub(crate) fn prune(types: Types<'_>, value: &mut Value, last: &FieldSet, claimed: &FieldSet) {
    prune_at(types, &mut Vec::new(), value, last, Some(claimed));
}

fn prune_at<'a>(
    types: Types<'_>,
    fields: &mut Vec<&'a str>,
    value: &mut Value,
    last: &'a FieldSet,
    claimed: Option<&FieldSet>,
) {
    let claim = |step: &str| claimed.and_then(|claimed| claimed.below(step));
    match value {
        Value::Object(map) => {
            for (step, below) in last.steps() {
                let Some(name) = step.strip_prefix("f:") else { continue };
                let Some(field) = map.get_mut(name) else { continue };
                if claim(step).is_none() {
                    map.remove(name);
                    continue;
                }
                fields.push(name);
                prune_at(types, fields, field, below, claim(step));
                fields.pop();
            }
        }
        Value::Array(list) => {
            let kind = types.list(fields);
            list.retain_mut(|item| {
                let Some(step) = item_step(&kind, item) else { return true };
                let Some(below) = last.below(&step) else { return true };
                let claimed = claim(&step);
                if claimed.is_some() {
                    prune_at(types, fields, item, below, claimed);
                }
                claimed.is_some()
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    fn with_types<R>(group: &str, kind: &str, run: impl Fn(Types<'_>) -> R) -> R {
        let registry = Registry::builtin();
        let resource = registry.find_kind(group, "v1", kind).unwrap();
        run(Types::of(&resource))
    }

    #[test]
    fn an_added_part_is_owned_with_all_below_but_not_the_fields_that_are_always_there() {
        let pod = json!({"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}],
                     "nodeSelector": {"x": "y"}, "tolerations": []}});
        let added = with_types("", "Pod", |types| compare(types, &json!({}), &pod).added);
        assert_eq!(
            added.to_json(),
            json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {}, "f:name": {},
                    "f:ports": {".": {},
                        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}":
                            {".": {}, "f:containerPort": {}}},
                }},
                "f:nodeSelector": {}, "f:tolerations": {},
            }})
        );
    }

    #[test]
    fn a_configuration_owns_its_leaves_and_its_list_items() {
        let config = json!({"data": {"k": "v"}, "metadata": {"finalizers": ["x"]}});
        let set = with_types("", "ConfigMap", |types| fields_of(types, &config));
        assert_eq!(
            set.to_json(),
            json!({"f:data": {"f:k": {}}, "f:metadata": {"f:finalizers": {"v:\"x\"": {}}}})
        );
    }

    #[test]
    fn merged_items_keep_the_order_of_the_configuration_and_others_their_place() {
        let of = |names: &[&str]| {
            let containers: Vec<_> = names.iter().map(|n| json!({"name": n})).collect();
            json!({"spec": {"containers": containers}})
        };
        for (live, config, merged) in [
            (&["a", "b"][..], &["b", "a"][..], &["b", "a"][..]),
            (&["a", "x", "b"], &["a", "b"], &["a", "x", "b"]),
            (&["a", "b"], &["a", "n", "b"], &["a", "n", "b"]),
            (&["x", "y"], &["n"], &["x", "y", "n"]),
            (&["a", "x"], &["n", "a"], &["n", "a", "x"]),
            (&["x", "a"], &["n", "a"], &["x", "n", "a"]),
        ] {
            let result = with_types("", "Pod", |t| merge(t, &of(live), &of(config)).unwrap());
            assert_eq!(result, of(merged), "{live:?} {config:?}");
        }
    }

    #[test]
    fn an_item_that_occurs_twice_in_a_configuration_is_an_error_that_names_it() {
        let config = json!({"spec": {"containers": [{"name": "c"}, {"name": "c"}]}});
        let error = with_types("", "Pod", |t| merge(t, &json!({}), &config).unwrap_err());
        assert!(error.starts_with(".spec.containers: duplicate entries for key"), "{error}");
    }

    #[test]
    fn what_nobody_claims_any_more_is_removed() {
        let pod = json!({"metadata": {"labels": {"a": "1", "b": "2"}},
            "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d"}]}});
        let last = json!({"metadata": {"labels": {"a": "1"}},
            "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d"}]}});
        let claimed = json!({"spec": {"containers": [{"name": "c"}]},
                             "metadata": {"labels": {"b": "2"}}});
        with_types("", "Pod", |types| {
            let (last, claimed) = (fields_of(types, &last), fields_of(types, &claimed));
            let mut pruned = pod.clone();
            prune(types, &mut pruned, &last, &claimed);
            assert_eq!(
                pruned,
                json!({"metadata": {"labels": {"b": "2"}},
                       "spec": {"containers": [{"name": "c"}]}})
            );
        });
    }
}
