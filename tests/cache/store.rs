//! Stores: what goes in comes out, in one step, and the resource version follows.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use kinformer::{
    ApiResource, Object,
    cache::{Indexer, Indexers, KnownObjects, Store, ThreadSafeStore},
};

use crate::{Item, key, sorted, store};

/// What every store does.
fn check_contract(store: &Store<Item>) {
    assert!(store.is_empty());
    assert_eq!(store.get(&("a", 0)), None);

    assert_eq!(store.add(("a", 1)), None);
    assert_eq!(store.get(&("a", 0)), Some(("a", 1)));
    assert_eq!(store.get_by_key("a"), Some(("a", 1)));

    assert_eq!(store.update(("a", 2)), Some(("a", 1)), "what it replaces");
    assert_eq!(store.add(("a", 3)), Some(("a", 2)));
    assert_eq!(store.update(("b", 1)), None, "an update of nothing adds");
    assert_eq!(sorted(store.list()), [("a", 3), ("b", 1)]);
    assert_eq!(sorted(store.list_keys()), ["a", "b"]);
    assert_eq!(store.len(), 2);

    assert_eq!(store.delete(&("a", 0)), Some(("a", 3)));
    assert_eq!(store.delete(&("a", 0)), None);
    assert_eq!(store.delete_by_key("nowhere"), None);
    assert_eq!(store.list(), [("b", 1)]);

    store.replace([("c", 1), ("d", 1), ("c", 2)], "7");
    assert_eq!(sorted(store.list()), [("c", 2), ("d", 1)], "the last of a key counts");
    assert_eq!(store.resource_version(), "7");
    assert_eq!(store.get_by_key("b"), None);

    store.clear();
    assert!(store.is_empty());
    assert_eq!(store.resource_version(), "");
    store.add(("e", 1));
    assert_eq!(store.list(), [("e", 1)]);
    store.clear();
}

#[test]
fn a_store_does_what_stores_do() {
    check_contract(&Store::new(key));
}

#[test]
fn an_indexer_does_what_stores_do() {
    let by_value = Indexers::new().with("value", |item: &Item| vec![item.1.to_string()]);
    let indexer = Indexer::new(key, by_value);
    check_contract(&indexer);
    check_contract(&indexer.store());
}

#[test]
fn all_clones_are_one_store() {
    let first = store([("a", 1)]);
    let second = first.clone();
    second.add(("b", 1));
    assert_eq!(first.len(), 2);
    let indexer = Indexer::from(first);
    indexer.delete_by_key("a");
    assert_eq!(second.list(), [("b", 1)]);
}

#[test]
fn a_store_and_an_indexer_can_be_what_a_queue_knows() {
    fn keys(known: &impl KnownObjects<Item>) -> Vec<kinformer::ObjectKey> {
        assert_eq!(known.get(&"a".into()), Some(("a", 1)));
        assert_eq!(known.get(&"b".into()), None);
        known.keys()
    }
    let store = store([("a", 1)]);
    assert_eq!(keys(&store), ["a"]);
    assert_eq!(keys(&Indexer::from(store)), ["a"]);
}

#[test]
fn a_thread_safe_store_takes_its_keys_from_outside() {
    let store = ThreadSafeStore::new(Indexers::new());
    assert_eq!(store.insert("x".into(), 1), None);
    assert_eq!(store.insert("x".into(), 2), Some(1));
    store.insert("y".into(), 3);
    assert_eq!((store.get("x"), store.get("z")), (Some(2), None));
    assert_eq!(sorted(store.list()), [2, 3]);
    assert_eq!(sorted(store.list_keys()), ["x", "y"]);
    assert_eq!(store.remove("x"), Some(2));
    assert_eq!(store.remove_with("y", &9), Some(3));
    assert_eq!(store.remove("y"), None);
    store.replace([("a".into(), 1), ("a".into(), 2)], "5");
    assert_eq!((store.list(), store.resource_version()), (vec![2], "5".to_owned()));
    assert!(!store.is_empty());
}

fn pod(name: &str, version: &str) -> Object {
    let pods = ApiResource::namespaced("v1", "Pod", "pods");
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","resourceVersion":"{version}"}}}}"#
    );
    Object::from_json(&pods, json.as_bytes()).unwrap()
}

#[test]
fn the_resource_version_is_that_of_the_last_change() {
    let store = Indexer::of_objects(Indexers::new());
    assert_eq!(store.resource_version(), "");
    store.add(pod("a", "5"));
    assert_eq!(store.resource_version(), "5");
    store.update(pod("a", "7"));
    store.add(pod("b", "6"));
    assert_eq!(store.resource_version(), "6", "the last, not the largest");
    store.delete(&pod("b", "9"));
    assert_eq!(store.resource_version(), "9");
    store.delete(&pod("never", "10"));
    assert_eq!(store.resource_version(), "10", "also if there was nothing to delete");
    store.delete_by_key("n/a");
    assert_eq!(store.resource_version(), "10", "a key has no version");
    store.add(pod("d", "13"));
    store.add(pod("e", "11"));
    store.delete_by_key("n/e");
    assert_eq!(store.resource_version(), "11", "that of what is gone");
    store.delete_by_key("n/d");
    assert_eq!(store.resource_version(), "11", "and of nothing older");
    store.bookmark("12");
    assert_eq!(store.resource_version(), "12");
    store.replace([pod("c", "3")], "20");
    assert_eq!(store.resource_version(), "20", "that of the list");
    store.replace([], "");
    assert_eq!(store.resource_version(), "");
}

#[test]
fn the_resource_version_of_a_store_of_other_things_is_that_of_the_last_list() {
    let store = store([]);
    store.replace([("a", 1)], "5");
    store.add(("a", 2));
    store.delete(&("a", 3));
    assert_eq!(store.resource_version(), "5");
}

#[test]
fn slots_are_used_again_and_a_store_that_was_emptied_goes_on() {
    let store = Store::new(|n: &u32| n.to_string());
    for round in 0..3 {
        for n in 0..1_000 {
            assert_eq!(store.add(n), None, "round {round}");
        }
        for n in (0..1_000).step_by(2) {
            assert_eq!(store.delete(&n), Some(n));
        }
        for n in 2_000..2_400 {
            store.add(n);
        }
        assert_eq!(store.len(), 900);
        assert!((0..1_000).all(|n| store.get(&n).is_some() == (n % 2 == 1)));
        for n in store.list() {
            store.delete(&n);
        }
        assert!(store.is_empty());
    }
}

#[test]
fn readers_see_a_whole_list_or_the_one_before() {
    const SIZE: u32 = 200;
    let by_round = Indexers::new().with("round", |item: &(u32, u32)| vec![item.1.to_string()]);
    let store = Indexer::new(|item: &(u32, u32)| item.0.to_string(), by_round);
    let list = |round| (0..SIZE).map(move |n| (n, round));
    store.replace(list(0), "");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..200 {
                store.replace(list(round), "");
            }
            done.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let all = store.list();
                    assert_eq!(all.len(), SIZE as usize);
                    let round = all[0].1;
                    assert!(all.iter().all(|item| item.1 == round), "two lists at once");
                    let indexed = store.by_index("round", &round.to_string()).unwrap();
                    assert!(indexed.is_empty() || indexed.len() == SIZE as usize);
                    assert_eq!(store.list_index_func_values("round").len(), 1);
                }
            });
        }
    });
}

#[test]
fn what_a_store_gives_up_is_dropped_without_its_lock() {
    /// Looks at the store when it is dropped.
    #[derive(Clone)]
    struct Nosy(u32, std::sync::Weak<std::sync::OnceLock<Store<Self>>>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            if let Some(cell) = self.1.upgrade()
                && let Some(store) = cell.get()
            {
                store.add(Self(99, std::sync::Weak::new()));
            }
        }
    }
    let cell = std::sync::Arc::new(std::sync::OnceLock::new());
    let store: Store<Nosy> = Store::new(|nosy: &Nosy| nosy.0.to_string());
    assert!(cell.set(store.clone()).is_ok());
    let nosy = |n| Nosy(n, std::sync::Arc::downgrade(&cell));
    store.add(nosy(1));
    drop(store.add(nosy(1)));
    drop(store.delete_by_key("1"));
    store.add(nosy(2));
    store.replace([nosy(3)], "");
    store.clear();
    store.add(nosy(4));
    store.clear();
    assert_eq!(store.list_keys(), ["99"], "added back by the last to go");
}

/// Changes are applied one by one; what they wait for is the lists that are under way, not those to come.
#[test]
fn a_writer_gets_its_turn_while_everybody_lists_without_a_pause() {
    let store = Store::new(|n: &u32| n.to_string());
    store.replace(0..20_000, "");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(store.list().len() >= 20_000);
                }
            });
        }
        let start = std::time::Instant::now();
        for n in 20_000..20_200 {
            store.add(n);
            assert!(start.elapsed().as_secs() < 60, "{n}");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.len(), 20_200);
}
