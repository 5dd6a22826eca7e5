//! Which labels an object may have, in two machine words.
//!
//! A list by labels looks at these words of every object first, and at the labels themselves only where
//! the words do not rule them out: a list that finds one object in a hundred touches few others.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    object::Labels,
    selector::labels::{Operator, Selector},
};

/// A set of bits, those of all labels of an object, or those that every selected object has.
///
/// Of each label with its value there are two bits in the first word and one in the upper half of the second; of its
/// key there is one in the lower half. The lowest bit of each word says that the word is known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Fingerprint([u64; 2]);

/// The fingerprints of the objects in a store, by slot.
///
/// There are none until somebody lists by labels, and then that of an object is computed when it is first wanted:
/// most objects change more often than that.
#[derive(Debug, Default)]
pub(super) struct Fingerprints(OnceLock<Vec<Known>>);

/// A fingerprint, of which each word is known or zero.
#[derive(Debug, Default)]
struct Known([AtomicU64; 2]);

const IS_KNOWN: u64 = 1;

impl Fingerprint {
    /// Rules nothing out.
    pub(super) const NOTHING: Self = Self([0; 2]);

    pub(super) fn of_labels(labels: Labels<'_>) -> Self {
        let all = labels.iter();
        all.fold(Self::NOTHING, |bits, (key, value)| bits.and(Self::of_label(&key, &value)))
    }

    /// What the labels of every selected object have.
    pub(super) fn of_selector(selector: &Selector) -> Self {
        selector.requirements().iter().fold(Self::NOTHING, |bits, requirement| {
            let key = requirement.key();
            let needs_key = match requirement.operator() {
                Operator::Equals | Operator::DoubleEquals | Operator::In => {
                    if let [value] = requirement.values() {
                        return bits.and(Self::of_label(key, value));
                    }
                    true
                }
                Operator::Exists | Operator::GreaterThan | Operator::LessThan => true,
                Operator::NotEquals | Operator::NotIn | Operator::DoesNotExist => false,
            };
            if needs_key { bits.and(Self::of_key(key)) } else { bits }
        })
    }

    fn of_label(key: &str, value: &str) -> Self {
        let hash = hash(hash(1, key), value);
        let bit =
            |shift: u32, first: u64, count: u64| 1 << (first + (hash >> shift & 0xFFFF) % count);
        let pair = Self([bit(48, 1, 63) | bit(32, 1, 63), bit(16, 32, 32)]);
        pair.and(Self::of_key(key))
    }

    fn of_key(key: &str) -> Self {
        Self([0, 1 << (1 + (hash(0, key) >> 48) % 31)])
    }

    fn and(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Whether labels of this fingerprint may be those that are wanted.
    pub(super) fn may_have(self, wanted: Self) -> bool {
        self.and(wanted) == self
    }
}

impl Fingerprints {
    /// That of the object in a slot of `slots`, which `compute` finds out if nobody has wanted it since it came.
    pub(super) fn get(
        &self,
        slot: u32,
        slots: usize,
        compute: impl FnOnce() -> Fingerprint,
    ) -> Fingerprint {
        let known = self.0.get_or_init(|| (0..slots).map(|_| Known::default()).collect());
        let Some(Known(known)) = known.get(slot as usize) else { return compute() };
        // Whoever computes the same at the same time stores the same, one word after the other.
        let words = known.each_ref().map(|word| word.load(Ordering::Relaxed));
        if words[0] & words[1] & IS_KNOWN != 0 {
            return Fingerprint(words.map(|word| word & !IS_KNOWN));
        }
        let computed = compute();
        for (known, word) in known.iter().zip(computed.0) {
            known.store(word | IS_KNOWN, Ordering::Relaxed);
        }
        computed
    }

    /// Another object is in the slot, which may be the first after all others.
    pub(super) fn forget(&mut self, slot: u32) {
        let Some(known) = self.0.get_mut() else { return };
        match known.get_mut(slot as usize) {
            Some(known) => *known = Known::default(),
            None => known.resize_with(slot as usize + 1, Known::default),
        }
    }
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

    fn fingerprint(labels: &str) -> Fingerprint {
        let pods = ApiResource::namespaced("v1", "Pod", "pods");
        let json = format!(r#"{{"metadata":{{"name":"a","labels":{labels}}}}}"#);
        let object: Object = Object::from_json(&pods, json.as_bytes()).unwrap();
        Fingerprint::of_labels(object.labels())
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
            let wanted = Fingerprint::of_selector(&labels::parse(selector).unwrap());
            assert!(bits.may_have(wanted), "{selector}");
        }
    }

    #[test]
    fn most_of_what_a_selector_does_not_select_is_ruled_out() {
        let wanted = Fingerprint::of_selector(&labels::parse("app=web").unwrap());
        let left = (0..1000).filter(|n| {
            // As many as charts give.
            let labels = format!(
                r#"{{"app":"app-{n}","b":"{}","c":"c","d":"d","e":"{}","f":"f","g":"g","h":"{n}"}}"#,
                n % 3,
                n % 20
            );
            fingerprint(&labels).may_have(wanted)
        });
        assert!(left.count() < 30);
        let without = Fingerprint::of_selector(&labels::parse("other").unwrap());
        assert!(!fingerprint(r#"{"app":"a","tier":"b"}"#).may_have(without));
    }

    #[test]
    fn what_is_in_a_slot_is_found_out_once_until_something_else_is() {
        let bits = |n: u64| Fingerprint([n << 1, n << 33]);
        let mut all = Fingerprints::default();
        all.forget(0);
        assert_eq!(all.get(1, 2, || bits(1)), bits(1));
        assert_eq!(all.get(1, 2, || unreachable!()), bits(1));
        all.forget(1);
        all.forget(2);
        assert_eq!([1, 2].map(|slot| all.get(slot, 3, || bits(2))), [bits(2); 2]);
        // Of an object without labels too.
        assert_eq!(all.get(0, 3, || Fingerprint::NOTHING), Fingerprint::NOTHING);
        assert_eq!(all.get(0, 3, || unreachable!()), Fingerprint::NOTHING);
    }
}
