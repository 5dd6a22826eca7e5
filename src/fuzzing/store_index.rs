//! Sequences of operations on a store with indices, against a map that is searched from end to end.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::Choices;
use crate::cache::{Indexers, ThreadSafeStore};

/// An object: the values it has in each index.
type Thing = [Vec<u8>; INDICES];

const INDICES: usize = 3;
const KEYS: u8 = 12;
const VALUES: u8 = 6;

/// Does what the bytes say.
pub fn store_index(data: &[u8]) {
    let mut choices = Choices::new(data);
    let first = choices.below(INDICES as u8 + 1);
    let mut named: Vec<usize> = (0..first.into()).collect();
    let store = ThreadSafeStore::new(indexers(&named));
    let mut model: BTreeMap<u8, Thing> = BTreeMap::new();
    let mut version = String::new();
    while !choices.is_empty() {
        match choices.below(16) {
            0..=7 => {
                let (key, thing) = (choices.below(KEYS), thing(&mut choices));
                let old = store.insert(name(key).into(), thing.clone());
                assert_eq!(old, model.insert(key, thing), "what an object replaces");
            }
            8..=11 => {
                let key = choices.below(KEYS);
                let old = store.remove(&name(key));
                assert_eq!(old, model.remove(&key), "what is removed");
            }
            12 | 13 => {
                let count = choices.below(6);
                let things: Vec<_> =
                    (0..count).map(|_| (choices.below(KEYS), thing(&mut choices))).collect();
                version = choices.byte().to_string();
                let keyed = things.iter().map(|(key, thing)| (name(*key).into(), thing.clone()));
                store.replace(keyed, &version);
                model = things.into_iter().collect();
            }
            14 => {
                store.clear();
                model.clear();
                version.clear();
            }
            _ => {
                let index = usize::from(choices.below(INDICES as u8));
                let added = store.add_indexers(indexers(&[index]));
                assert_eq!(added.is_err(), named.contains(&index), "a name is taken once");
                if added.is_ok() {
                    named.push(index);
                }
            }
        }
        check(&store, &model, &named);
        assert_eq!(store.resource_version(), version);
    }
}

fn name(key: u8) -> String {
    format!("ns/{key}")
}

fn thing(choices: &mut Choices) -> Thing {
    std::array::from_fn(|_| {
        let count = choices.below(4);
        (0..count).map(|_| choices.below(VALUES)).collect()
    })
}

/// The first index has at most one value for each object, the others any number, with duplicates.
fn indexers(indices: &[usize]) -> Indexers<Thing> {
    indices.iter().fold(Indexers::new(), |indexers, &index| match index {
        0 => indexers.with_value("0", |thing: &Thing| {
            thing[0].first().map(|value| value.to_string().into())
        }),
        _ => indexers.with(&index.to_string(), move |thing: &Thing| {
            thing[index].iter().map(ToString::to_string).collect()
        }),
    })
}

fn values(thing: &Thing, index: usize) -> BTreeSet<u8> {
    let count = if index == 0 { 1 } else { usize::MAX };
    thing[index].iter().take(count).copied().collect()
}

/// Everything that can be read, recomputed from what was stored.
fn check(store: &ThreadSafeStore<Thing>, model: &BTreeMap<u8, Thing>, named: &[usize]) {
    assert_eq!(store.len(), model.len());
    assert_eq!(store.is_empty(), model.is_empty());
    assert_eq!(sorted(store.list()), sorted(model.values().cloned()), "invariant 6: all objects");
    let keys = sorted(store.list_keys().iter().map(ToString::to_string));
    assert_eq!(keys, sorted(model.keys().copied().map(name)), "invariant 6: all keys");
    for key in 0..KEYS {
        assert_eq!(store.get(&name(key)), model.get(&key).cloned(), "invariant 6: {key}");
    }
    let names = sorted(store.index_names());
    assert_eq!(names, sorted(named.iter().map(ToString::to_string)));
    for index in 0..INDICES {
        check_index(store, model, index, named.contains(&index));
    }
}

fn check_index(
    store: &ThreadSafeStore<Thing>,
    model: &BTreeMap<u8, Thing>,
    index: usize,
    exists: bool,
) {
    let index_name = index.to_string();
    let mut expected: BTreeMap<u8, BTreeSet<String>> = BTreeMap::new();
    for (key, thing) in model.iter().filter(|_| exists) {
        for value in values(thing, index) {
            expected.entry(value).or_default().insert(name(*key));
        }
    }
    let found = sorted(store.list_index_func_values(&index_name));
    let all: Vec<_> = expected.keys().map(ToString::to_string).collect();
    assert_eq!(found, all, "invariant 6: index {index} has the values that objects have, no other");
    for value in 0..VALUES {
        let of_value = expected.remove(&value).unwrap_or_default();
        let keys = store.index_keys(&index_name, &value.to_string());
        let objects = store.by_index(&index_name, &value.to_string());
        let mut probe = Thing::default();
        probe[index].push(value);
        let probed = store.index(&index_name, &probe);
        assert_eq!((keys.is_ok(), objects.is_ok(), probed.is_ok()), (exists, exists, exists));
        let (Ok(keys), Ok(objects), Ok(probed)) = (keys, objects, probed) else { continue };
        let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(
            keys,
            of_value.into_iter().collect::<Vec<_>>(),
            "invariant 6: index {index}, value {value} is what one finds by looking at everything"
        );
        let having = model.values().filter(|thing| values(thing, index).contains(&value));
        let having = sorted(having.cloned());
        assert_eq!((sorted(objects), sorted(probed)), (having.clone(), having));
    }
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_unstable();
    items
}

/// The same with index functions that panic, which a fuzzer would take for a finding.
pub fn store_index_with_panics(data: &[u8]) {
    let mut choices = Choices::new(data);
    let indexers = Indexers::new().with("some", |thing: &Vec<u8>| {
        assert!(!thing.contains(&0), "zero");
        thing.iter().map(ToString::to_string).collect()
    });
    let store = ThreadSafeStore::new(indexers);
    let mut model: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    while !choices.is_empty() {
        let key = choices.below(KEYS);
        let thing: Vec<_> = (0..choices.below(4)).map(|_| choices.below(VALUES)).collect();
        let stored = catch_unwind(AssertUnwindSafe(|| {
            store.insert(name(key).into(), thing.clone());
        }));
        assert!(stored.is_ok(), "the panic of an index function is nobody else's");
        model.insert(key, thing);
        for value in 0..VALUES {
            let has = |thing: &[u8]| !thing.contains(&0) && thing.contains(&value);
            let expected = model.iter().filter(|(_, thing)| has(thing)).map(|(key, _)| name(*key));
            let keys = store.index_keys("some", &value.to_string());
            let keys = keys.iter().flatten().map(ToString::to_string);
            assert_eq!(keys.collect::<Vec<_>>(), sorted(expected), "value {value}");
        }
    }
}
