//! Sets of field paths, in the shape of `FieldsV1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A set of paths. Each step is spelled as in `FieldsV1`: `f:name` for a field, `k:{...}` for the
/// list item with these keys, `v:...` for a value of a set.
///
/// Invariant: every node but the root is a member, or has one below it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct FieldSet {
    member: bool,
    children: BTreeMap<String, Self>,
}

impl FieldSet {
    /// Reads `FieldsV1`; `None` if it is not an object of objects.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let mut set = Self { member: map.contains_key("."), children: BTreeMap::new() };
        for (step, below) in map.iter().filter(|(step, _)| *step != ".") {
            let mut child = Self::from_json(below)?;
            child.member |= child.children.is_empty();
            set.children.insert(step.clone(), child);
        }
        Some(set)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        map.extend(self.children.iter().map(|(step, child)| (step.clone(), child.to_json())));
        Value::Object(map)
    }

    pub(super) fn insert(&mut self, path: &[String]) {
        let mut node = self;
        for step in path {
            node = node.children.entry(step.clone()).or_default();
        }
        node.member = true;
    }

    /// Whether the root of this set is a member.
    pub(super) fn set_member(&mut self, member: bool) {
        self.member = member;
    }

    /// Puts a set below a step, unless it is empty.
    pub(super) fn attach(&mut self, step: &str, below: Self) {
        if !below.is_empty() {
            self.children.insert(step.to_owned(), below);
        }
    }

    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((step, rest)) = path.split_first() else {
            self.member = false;
            return;
        };
        if let Some(child) = self.children.get_mut(*step) {
            child.remove(rest);
            if child.is_empty() {
                self.children.remove(*step);
            }
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.member |= other.member;
        for (step, child) in &other.children {
            self.children.entry(step.clone()).or_default().add_all(child);
        }
    }

    /// Takes out the members of `other`; what lies below them stays.
    pub(super) fn remove_all(&mut self, other: &Self) {
        self.member &= !other.member;
        for (step, below) in &other.children {
            if let Some(child) = self.children.get_mut(step) {
                child.remove_all(below);
                if child.is_empty() {
                    self.children.remove(step);
                }
            }
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let common = |(step, child): (&String, &Self)| {
            let below = child.intersection(other.children.get(step)?);
            (!below.is_empty()).then(|| (step.clone(), below))
        };
        Self {
            member: self.member && other.member,
            children: self.children.iter().filter_map(common).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.children.iter().map(|(step, child)| (step.as_str(), child))
    }

    pub(super) fn below(&self, step: &str) -> Option<&Self> {
        self.children.get(step)
    }

    /// Every member as people read it: `.spec.containers[name="c"].image`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths(&mut String::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut String, paths: &mut Vec<String>) {
        if self.member {
            paths.push(prefix.clone());
        }
        for (step, child) in &self.children {
            let length = prefix.len();
            prefix.push_str(&readable(step));
            child.collect_paths(prefix, paths);
            prefix.truncate(length);
        }
    }
}

fn readable(step: &str) -> String {
    match step.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        Some(("v", value)) => format!("[={value}]"),
        _ => format!("[{step}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(fields: Value) -> FieldSet {
        FieldSet::from_json(&fields).unwrap()
    }

    #[test]
    fn fields_v1_is_read_and_written_without_loss() {
        let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}, "v:\"x\"": {}}}});
        assert_eq!(set(fields.clone()).to_json(), fields);
        assert!(FieldSet::from_json(&json!({"f:a": 1})).is_none());
    }

    #[test]
    fn taking_out_a_member_leaves_what_is_below_it() {
        let mut fields = set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        fields.remove_all(&set(json!({"f:a": {}, "f:c": {}})));
        assert_eq!(fields.to_json(), json!({"f:a": {"f:b": {}}}));
        fields.remove(&["f:a", "f:b"]);
        assert!(fields.is_empty());
    }

    #[test]
    fn an_intersection_has_the_members_of_both() {
        let a = set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let b = set(json!({"f:a": {"f:b": {}}, "f:d": {}}));
        assert_eq!(a.intersection(&b).to_json(), json!({"f:a": {"f:b": {}}}));
    }

    #[test]
    fn paths_are_written_for_people() {
        let fields = json!({"f:a": {"k:{\"name\":\"c\",\"port\":80}": {"f:image": {}},
                                    "v:\"x\"": {}}});
        assert_eq!(set(fields).paths(), [".a[name=\"c\",port=80].image", ".a[=\"x\"]"]);
    }
}
