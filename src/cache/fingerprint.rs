//! Which labels an object may have, in one machine word.
//!
//! A list by labels looks at this word of every object first, and at the labels themselves only where
//! the word does not rule them out: a list that finds one object in a hundred touches few others.

use crate::{
    object::Labels,
    selector::labels::{Operator, Selector},
};

/// The bits of all labels: one for each key, two for each key with its value.
pub(super) fn of_labels(labels: Labels<'_>) -> u64 {
    labels.iter().fold(0, |bits, (key, value)| bits | key_bits(&key) | pair_bits(&key, &value))
}

/// The bits that the labels of every selected object have.
pub(super) fn of_selector(selector: &Selector) -> u64 {
    selector.requirements().iter().fold(0, |bits, requirement| {
        let key = requirement.key();
        let one_value = match requirement.values() {
            [value] => pair_bits(key, value),
            _ => 0,
        };
        bits | match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals | Operator::In => key_bits(key) | one_value,
            Operator::Exists | Operator::GreaterThan | Operator::LessThan => key_bits(key),
            Operator::NotEquals | Operator::NotIn | Operator::DoesNotExist => 0,
        }
    })
}

fn key_bits(key: &str) -> u64 {
    1 << (hash(0, key) >> 58)
}

fn pair_bits(key: &str, value: &str) -> u64 {
    let hash = hash(hash(1, key), value);
    1 << (hash >> 58) | 1 << (hash >> 52 & 63)
}

/// FNV-1a, mixed at the end. Collisions cost time and nothing else.
fn hash(seed: u64, text: &str) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ seed;
    let hash = text
        .bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiResource, Object, labels};

    fn fingerprint(labels: &str) -> u64 {
        let pods = ApiResource::namespaced("v1", "Pod", "pods");
        let json = format!(r#"{{"metadata":{{"name":"a","labels":{labels}}}}}"#);
        let object: Object = Object::from_json(&pods, json.as_bytes()).unwrap();
        of_labels(object.labels())
    }

    #[test]
    fn nothing_that_a_selector_selects_is_ruled_out() {
        let bits = fingerprint(r#"{"app":"web","tier":"3","empty":""}"#);
        for selector in [
            "",
            "app=web",
            "app==web",
            "app in (web)",
            "app in (web,api)",
            "app",
            "tier>2",
            "tier<4",
            "app!=x",
            "app notin (x)",
            "!other",
            "empty=",
            "empty",
            "app=web,tier,empty=",
        ] {
            let wanted = of_selector(&labels::parse(selector).unwrap());
            assert_eq!(bits & wanted, wanted, "{selector}");
        }
    }

    #[test]
    fn most_of_what_a_selector_does_not_select_is_ruled_out() {
        let wanted = of_selector(&labels::parse("app=web").unwrap());
        let left = (0..1000).filter(|n| {
            let bits = fingerprint(&format!(r#"{{"app":"app-{n}","tier":"t","zone":"z"}}"#));
            bits & wanted == wanted
        });
        assert!(left.count() < 100);
    }
}
