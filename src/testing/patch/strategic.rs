//! Strategic merge patch: a merge patch that knows which lists merge by key.

use serde_json::{Map, Value};

use super::{
    Error,
    types::{Merge, Types},
};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";

/// Merges `patch` into `object`, which is of the kind that `types` is about.
pub(crate) fn apply(object: &Value, patch: &Value, types: Types<'_>) -> Result<Value, Error> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err(Error::Malformed("a strategic merge patch is an object".to_owned()));
    };
    let mut merged = object.clone();
    Merger { types, path: Vec::new() }.object(&mut merged, patch)?;
    Ok(Value::Object(merged))
}

struct Merger<'a> {
    types: Types<'a>,
    path: Vec<&'a str>,
}

impl<'a> Merger<'a> {
    fn object(
        &mut self,
        object: &mut Map<String, Value>,
        patch: &'a Map<String, Value>,
    ) -> Result<(), Error> {
        match directive(patch)? {
            Some("delete") => {
                object.clear();
                return Ok(());
            }
            Some("replace") => object.clear(),
            _ => {}
        }
        if let Some(keys) = patch.get(RETAIN_KEYS) {
            retain_keys(object, patch, keys)?;
        }
        for (key, value) in patch {
            if let Some(list) = key.strip_prefix(DELETE_FROM_LIST) {
                let gone = values(key, value)?;
                if let Some(Value::Array(list)) = object.get_mut(list) {
                    list.retain(|item| !gone.contains(item));
                }
            } else if !key.starts_with('$') {
                let order = patch.get(&format!("{ELEMENT_ORDER}{key}"));
                let order = order.map(|order| values(ELEMENT_ORDER, order)).transpose()?;
                self.path.push(key);
                let merged = self.field(object, key, value, order);
                self.path.pop();
                merged?;
            } else if let Some(name) = key.strip_prefix(ELEMENT_ORDER)
                && !patch.contains_key(name)
                && let Some(Value::Array(list)) = object.get_mut(name)
            {
                self.path.push(name);
                let by = self.types.merge(&self.path);
                self.path.pop();
                let original = list.clone();
                sort(list, &original, values(key, value)?, by);
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        object: &mut Map<String, Value>,
        key: &str,
        patch: &'a Value,
        order: Option<&[Value]>,
    ) -> Result<(), Error> {
        match patch {
            Value::Null => {
                object.remove(key);
            }
            Value::Object(patch) => {
                let field = object.entry(key).or_insert(Value::Null);
                let mut merged = match field.take() {
                    Value::Object(map) => map,
                    _ => Map::new(),
                };
                self.object(&mut merged, patch)?;
                *field = Value::Object(merged);
                if directive(patch)? == Some("delete") {
                    object.remove(key);
                }
            }
            Value::Array(patch) => {
                let field = object.entry(key).or_insert(Value::Null);
                let original = match field.take() {
                    Value::Array(list) => list,
                    _ => Vec::new(),
                };
                let by = self.types.merge(&self.path);
                let mut merged = match by {
                    Merge::Replace => patch.iter().map(without_directives).collect(),
                    Merge::Union => union(original.clone(), patch),
                    Merge::ByKey(merge_key) => {
                        self.keyed_list(original.clone(), patch, merge_key)?
                    }
                };
                if by != Merge::Replace {
                    sort(&mut merged, &original, order.unwrap_or(patch), by);
                }
                *field = Value::Array(merged);
            }
            plain => {
                object.insert(key.to_owned(), plain.clone());
            }
        }
        Ok(())
    }

    fn keyed_list(
        &mut self,
        mut list: Vec<Value>,
        patch: &'a [Value],
        merge_key: &str,
    ) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        let mut replace = false;
        for item in patch {
            let Value::Object(item) = item else {
                return Err(Error::Malformed(format!(
                    "the items of {} have to be objects",
                    self.path.join(".")
                )));
            };
            match directive(item)? {
                Some("replace") => replace = true,
                Some("delete") => {
                    let gone = self.key_of(item, merge_key)?;
                    list.retain(|item| item.get(merge_key) != Some(gone));
                }
                _ => items.push(item),
            }
        }
        if replace {
            list.clear();
        }
        for item in items {
            let key = self.key_of(item, merge_key)?;
            let known = list.iter_mut().find(|known| known.get(merge_key) == Some(key));
            if let Some(Value::Object(known)) = known {
                self.object(known, item)?;
            } else {
                let mut added = Map::new();
                self.object(&mut added, item)?;
                list.push(Value::Object(added));
            }
        }
        Ok(list)
    }

    fn key_of<'i>(
        &self,
        item: &'i Map<String, Value>,
        merge_key: &str,
    ) -> Result<&'i Value, Error> {
        item.get(merge_key).ok_or_else(|| {
            Error::Malformed(format!(
                "an item of {} does not contain declared merge key: {merge_key}",
                self.path.join(".")
            ))
        })
    }
}

fn directive(patch: &Map<String, Value>) -> Result<Option<&str>, Error> {
    let Some(value) = patch.get(PATCH) else { return Ok(None) };
    match value.as_str() {
        Some(known @ ("delete" | "replace" | "merge")) => Ok(Some(known)),
        _ => Err(Error::Malformed(format!("unknown patch type found: {value}"))),
    }
}

fn retain_keys(
    object: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    keys: &Value,
) -> Result<(), Error> {
    let keys = values(RETAIN_KEYS, keys)?;
    let kept = |key: &str| keys.iter().any(|k| k == key);
    if let Some((stray, _)) =
        patch.iter().find(|(key, value)| !key.starts_with('$') && !value.is_null() && !kept(key))
    {
        return Err(Error::Malformed(format!("{RETAIN_KEYS} does not contain the field {stray}")));
    }
    object.retain(|key, _| kept(key));
    Ok(())
}

fn values<'v>(key: &str, value: &'v Value) -> Result<&'v [Value], Error> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| Error::Malformed(format!("{key} has to be a list")))
}

fn union(mut list: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    for item in patch {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
    list
}

/// Puts the items that `order` names into its order. The others keep theirs, each before the first
/// named one that it stood before in the original list.
fn sort(list: &mut Vec<Value>, original: &[Value], order: &[Value], by: Merge) {
    let same = |a: &Value, b: &Value| match by {
        Merge::ByKey(key) => a.get(key) == b.get(key),
        _ => a == b,
    };
    let position = |list: &[Value], item: &Value| list.iter().position(|known| same(known, item));
    let (mut named, others): (Vec<_>, Vec<_>) =
        list.drain(..).partition(|item| position(order, item).is_some());
    named.sort_by_key(|item| position(order, item));
    let mut others = others.into_iter().peekable();
    for item in named {
        if let Some(place) = position(original, &item) {
            let before = |other: &Value| position(original, other).is_some_and(|at| at < place);
            while let Some(other) = others.next_if(before) {
                list.push(other);
            }
        }
        list.push(item);
    }
    list.extend(others);
}

/// A value that replaces another one, as the patch means it: nulls and directives are not data.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| !key.starts_with('$') && !value.is_null())
            .map(|(key, value)| (key.clone(), without_directives(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(without_directives).collect(),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::kinds::Registry;

    fn patched(group: &str, kind: &str, object: &Value, patch: &Value) -> Result<Value, Error> {
        let registry = Registry::builtin();
        let resource = registry.find_kind(group, "v1", kind).unwrap();
        apply(object, patch, Types::of(&resource))
    }

    fn pod(object: &Value, patch: &Value) -> Value {
        patched("", "Pod", object, patch).unwrap()
    }

    #[test]
    fn containers_merge_by_name_and_their_ports_by_number() {
        let object = json!({"spec": {"containers": [
            {"name": "a", "image": "a:1", "ports": [{"containerPort": 80, "name": "web"}]},
            {"name": "b", "image": "b:1"}]}});
        let patch = json!({"spec": {"containers": [
            {"name": "a", "image": "a:2", "ports": [{"containerPort": 81}]}, {"name": "c"}]}});
        assert_eq!(
            pod(&object, &patch),
            json!({"spec": {"containers": [
                {"name": "a", "image": "a:2",
                 "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "web"}]},
                {"name": "c"}, {"name": "b", "image": "b:1"}]}})
        );
    }

    #[test]
    fn lists_without_a_merge_key_are_replaced() {
        let object = json!({"spec": {"tolerations": [{"key": "a"}], "args": [1]}});
        let patch = json!({"spec": {"tolerations": [{"key": "b"}]}});
        assert_eq!(pod(&object, &patch)["spec"]["tolerations"], json!([{"key": "b"}]));
    }

    #[test]
    fn null_deletes_a_field() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        let patch = json!({"metadata": {"labels": {"a": null, "c": null}}});
        assert_eq!(pod(&object, &patch), json!({"metadata": {"labels": {"b": "2"}}}));
    }

    #[test]
    fn the_delete_directive_removes_an_item_or_an_object() {
        let object = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}],
                                     "securityContext": {"runAsUser": 1}}});
        let patch = json!({"spec": {"containers": [{"name": "a", "$patch": "delete"}],
                                    "securityContext": {"$patch": "delete"}}});
        assert_eq!(pod(&object, &patch), json!({"spec": {"containers": [{"name": "b"}]}}));
    }

    #[test]
    fn the_replace_directive_replaces_a_list_or_an_object() {
        let object = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}],
                                     "securityContext": {"runAsUser": 1}}});
        let patch = json!({"spec": {
            "containers": [{"name": "c"}, {"$patch": "replace"}],
            "securityContext": {"$patch": "replace", "runAsGroup": 2}}});
        assert_eq!(
            pod(&object, &patch),
            json!({"spec": {"containers": [{"name": "c"}],
                            "securityContext": {"runAsGroup": 2}}})
        );
    }

    #[test]
    fn retain_keys_drops_the_other_fields() {
        let object = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}});
        let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
        let result = patched("apps", "Deployment", &object, &patch).unwrap();
        assert_eq!(result, json!({"spec": {"strategy": {"type": "Recreate"}}}));
        let stray = json!({"spec": {"strategy": {"$retainKeys": [], "type": "Recreate"}}});
        assert!(patched("apps", "Deployment", &object, &stray).is_err());
    }

    #[test]
    fn finalizers_are_a_set_that_items_can_be_deleted_from() {
        let object = json!({"metadata": {"finalizers": ["a", "b"]}});
        let patch = json!({"metadata": {"finalizers": ["c", "b"],
                                        "$deleteFromPrimitiveList/finalizers": ["a"]}});
        assert_eq!(pod(&object, &patch)["metadata"]["finalizers"], json!(["c", "b"]));
    }

    #[test]
    fn the_element_order_is_that_of_the_patch_with_the_servers_own_items_kept_in_place() {
        let object = json!({"spec": {"containers": [
            {"name": "a"}, {"name": "own"}, {"name": "b"}, {"name": "c"}]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "a"}, {"name": "new"}, {"name": "b"},
                                            {"name": "c"}],
            "containers": [{"name": "new"}]}});
        let result = pod(&object, &patch);
        let names: Vec<_> = result["spec"]["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a", "new", "own", "b", "c"]);
        let reorder = json!({"spec": {"$setElementOrder/containers": [
            {"name": "c"}, {"name": "b"}, {"name": "a"}]}});
        let result = pod(&object, &reorder);
        assert_eq!(result["spec"]["containers"][3]["name"], "a");
    }

    #[test]
    fn directives_do_not_end_up_in_new_objects() {
        let patch = json!({"spec": {
            "$setElementOrder/volumes": [{"name": "v"}],
            "volumes": [{"$retainKeys": ["name", "emptyDir"], "name": "v", "emptyDir": {}}]}});
        let result = pod(&json!({}), &patch);
        assert_eq!(result, json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}));
    }

    #[test]
    fn what_the_patch_language_does_not_know_is_malformed() {
        let object = json!({"spec": {"containers": [{"name": "a"}]}});
        for patch in [
            json!([]),
            json!({"spec": {"$patch": "shout"}}),
            json!({"spec": {"containers": [{"image": "x"}]}}),
            json!({"spec": {"containers": ["x"]}}),
            json!({"spec": {"$retainKeys": "x"}}),
        ] {
            assert!(
                matches!(patched("", "Pod", &object, &patch), Err(Error::Malformed(_))),
                "{patch}"
            );
        }
    }
}
