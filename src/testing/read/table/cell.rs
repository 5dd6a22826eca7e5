//! What cells are made of.

use std::time::SystemTime;

use serde_json::Value;

use crate::testing::{kinds::fields::plain, time};

/// An object that becomes a row, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) object: &'a Value,
    pub(super) now: SystemTime,
}

impl<'a> Item<'a> {
    pub(super) fn new(object: &'a Value, now: SystemTime) -> Self {
        Self { object, now }
    }

    /// The value at a JSON pointer; null if there is none.
    pub(super) fn at(&self, pointer: &str) -> &'a Value {
        self.object.pointer(pointer).unwrap_or(&Value::Null)
    }

    pub(super) fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// Text, number or boolean as text; empty if there is none.
    pub(super) fn text(&self, pointer: &str) -> String {
        plain(self.at(pointer))
    }

    pub(super) fn text_or(&self, pointer: &str, default: &str) -> String {
        or(self.text(pointer), default)
    }

    pub(super) fn int(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or(0)
    }

    pub(super) fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or(false)
    }

    pub(super) fn list(&self, pointer: &str) -> impl DoubleEndedIterator<Item = Self> + use<'a> {
        let now = self.now;
        let list = self.at(pointer).as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(move |object| Item { object, now })
    }

    /// How many items a list, or entries a map, has.
    pub(super) fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }

    pub(super) fn name(&self) -> Value {
        self.text("/metadata/name").into()
    }

    pub(super) fn is_being_deleted(&self) -> bool {
        self.has("/metadata/deletionTimestamp")
    }

    /// Time since the object was created.
    pub(super) fn age(&self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    pub(super) fn since(&self, pointer: &str) -> String {
        time::age(self.at(pointer).as_str(), self.now)
    }

    /// The condition of this type.
    pub(super) fn condition(&self, kind: &str) -> Option<Self> {
        self.list("/status/conditions").find(|c| c.text("/type") == kind)
    }

    pub(super) fn is_condition_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.text("/status") == "True")
    }

    /// Names and images of the containers of a pod template.
    pub(super) fn containers(&self, pointer: &str) -> [Value; 2] {
        let all = |field: &str| -> Value {
            let fields: Vec<_> = self.list(pointer).map(|c| c.text(field)).collect();
            fields.join(",").into()
        };
        [all("/name"), all("/image")]
    }

    /// A map of labels as `a=b,c=d`, or `<none>`.
    pub(super) fn labels(&self, pointer: &str) -> String {
        let labels = self.at(pointer).as_object().into_iter().flatten();
        let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={}", plain(value))).collect();
        or(labels.join(","), "<none>")
    }

    /// A `LabelSelector` in the syntax of selectors, or empty.
    pub(super) fn selector(&self, pointer: &str) -> String {
        let selector = Item { object: self.at(pointer), now: self.now };
        let labels = selector.at("/matchLabels").as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| (key.clone(), format!("{key}={}", plain(value))));
        let expressions = selector.list("/matchExpressions").map(|expression| {
            let key = expression.text("/key");
            let mut values: Vec<_> = expression.list("/values").map(|v| plain(v.object)).collect();
            values.sort_unstable();
            let values = values.join(",");
            let text = match expression.text("/operator").as_str() {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "DoesNotExist" => format!("!{key}"),
                _ => key.clone(),
            };
            (key, text)
        });
        let mut terms: Vec<_> = labels.chain(expressions).collect();
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        let terms: Vec<_> = terms.into_iter().map(|(_, text)| text).collect();
        terms.join(",")
    }
}

/// The first few of a list, and how many more there are.
pub(super) fn first_few(all: &[String], max: usize, separator: &str, none: &str) -> String {
    if all.is_empty() {
        return none.to_owned();
    }
    let shown = all[..max.min(all.len())].join(separator);
    if all.len() > max { format!("{shown} + {} more...", all.len() - max) } else { shown }
}

pub(super) fn or(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_is_written_by_key() {
        let object = json!({"s": {
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "ab", "operator": "In", "values": ["y", "x"]},
                {"key": "z", "operator": "DoesNotExist"},
                {"key": "c", "operator": "Exists"},
                {"key": "d", "operator": "NotIn", "values": ["q"]}]}});
        let item = Item::new(&object, SystemTime::UNIX_EPOCH);
        assert_eq!(item.selector("/s"), "a=1,ab in (x,y),b=2,c,d notin (q),!z");
        assert_eq!(item.selector("/none"), "");
    }

    #[test]
    fn a_long_list_is_cut_and_says_by_how_much() {
        let all = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(first_few(&all, 3, ",", "-"), "a,b,c + 1 more...");
        assert_eq!(first_few(&all[..3], 3, ",", "-"), "a,b,c");
        assert_eq!(first_few(&[], 3, ",", "-"), "-");
    }
}
