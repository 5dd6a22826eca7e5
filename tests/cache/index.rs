//! Indices: what they find, when values vanish, and index functions that misbehave.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use kinformer::cache::{Indexer, Indexers};

use crate::sorted;

/// Something with a name and any number of users.
type Thing = (&'static str, Vec<&'static str>);

fn users(thing: &Thing) -> Vec<String> {
    thing.1.iter().map(ToString::to_string).collect()
}

fn by_users() -> Indexer<Thing> {
    Indexer::new(|thing: &Thing| thing.0, Indexers::new().with("user", users))
}

fn thing<const N: usize>(name: &'static str, users: [&'static str; N]) -> Thing {
    (name, users.to_vec())
}

/// Every value of the index with its keys.
fn contents(indexer: &Indexer<Thing>) -> Vec<(String, Vec<String>)> {
    let values = sorted(indexer.list_index_func_values("user"));
    let keys = |value: &str| indexer.index_keys("user", value).unwrap();
    values
        .into_iter()
        .map(|value| (value.clone(), keys(&value).iter().map(ToString::to_string).collect()))
        .collect()
}

fn entry<const N: usize>(value: &str, keys: [&str; N]) -> (String, Vec<String>) {
    (value.to_owned(), keys.map(str::to_owned).to_vec())
}

#[test]
fn objects_are_found_by_a_value_they_share_with_another() {
    let indexer = by_users();
    indexer.add(thing("a", ["ernie", "bert"]));
    indexer.add(thing("b", ["bert", "oscar"]));
    indexer.add(thing("c", ["elmo"]));
    let find = |probe: Thing| sorted(indexer.index("user", &probe).unwrap().iter().map(|t| t.0));
    assert_eq!(find(thing("probe", ["elmo"])), ["c"]);
    assert_eq!(find(thing("probe", ["bert"])), ["a", "b"]);
    assert_eq!(find(thing("probe", ["ernie", "bert", "bert"])), ["a", "b"], "each once");
    assert!(find(thing("probe", ["nobody"])).is_empty());
    assert!(find(thing("probe", [])).is_empty());
}

#[test]
fn the_values_of_an_index_are_listed_once_each() {
    let indexer = by_users();
    indexer.add(thing("a", ["ernie"]));
    indexer.add(thing("b", ["ernie", "bert"]));
    indexer.add(thing("c", ["bert"]));
    assert_eq!(sorted(indexer.list_index_func_values("user")), ["bert", "ernie"]);
}

#[test]
fn an_object_with_several_values_is_found_by_each_and_by_no_old_one() {
    let indexer = by_users();
    indexer.add(thing("one", ["ernie", "bert"]));
    indexer.add(thing("two", ["bert", "oscar"]));
    indexer.add(thing("tre", ["ernie", "elmo"]));
    let expected = [
        entry("bert", ["one", "two"]),
        entry("elmo", ["tre"]),
        entry("ernie", ["one", "tre"]),
        entry("oscar", ["two"]),
    ];
    assert_eq!(contents(&indexer), expected);
    assert_eq!(indexer.by_index("user", "elmo").unwrap(), [thing("tre", ["ernie", "elmo"])]);
    assert!(indexer.by_index("user", "nobody").unwrap().is_empty());

    indexer.delete(&thing("tre", []));
    let expected =
        [entry("bert", ["one", "two"]), entry("ernie", ["one"]), entry("oscar", ["two"])];
    assert_eq!(contents(&indexer), expected);

    indexer.update(thing("two", ["ernie"]));
    assert_eq!(contents(&indexer), [entry("bert", ["one"]), entry("ernie", ["one", "two"])]);
}

#[test]
fn a_value_vanishes_with_its_last_object_and_not_before() {
    let indexer = by_users();
    indexer.add(thing("a", ["x", "y"]));
    indexer.add(thing("b", ["y"]));
    indexer.delete_by_key("a");
    assert_eq!(contents(&indexer), [entry("y", ["b"])]);
    indexer.delete_by_key("b");
    assert!(indexer.list_index_func_values("user").is_empty());
    indexer.add(thing("c", ["x"]));
    assert_eq!(contents(&indexer), [entry("x", ["c"])]);
}

#[test]
fn a_long_sequence_of_overlapping_values_keeps_every_set_right() {
    let indexer = by_users();
    type Contents = Vec<(String, Vec<String>)>;
    let steps: [(&str, Option<&[&'static str]>, Contents); 8] = [
        ("k1", Some(&["foo"]), vec![entry("foo", ["k1"])]),
        ("k2", Some(&["foo", "bar"]), vec![entry("bar", ["k2"]), entry("foo", ["k1", "k2"])]),
        ("k1", Some(&["bar"]), vec![entry("bar", ["k1", "k2"]), entry("foo", ["k2"])]),
        ("k2", Some(&["foo"]), vec![entry("bar", ["k1"]), entry("foo", ["k2"])]),
        ("k1", Some(&["bar", "foo"]), vec![entry("bar", ["k1"]), entry("foo", ["k1", "k2"])]),
        ("k2", None, vec![entry("bar", ["k1"]), entry("foo", ["k1"])]),
        ("k1", Some(&[]), vec![]),
        ("k1", None, vec![]),
    ];
    for (n, (name, values, expected)) in steps.into_iter().enumerate() {
        match values {
            Some(values) => {
                indexer.update((if name == "k1" { "k1" } else { "k2" }, values.to_vec()));
            }
            None => {
                indexer.delete_by_key(name);
            }
        }
        assert_eq!(contents(&indexer), expected, "step {n}");
    }
}

#[test]
fn keys_of_a_value_are_sorted() {
    let indexer = by_users();
    for name in ["d", "b", "a", "c"] {
        indexer.add(thing(name, ["x"]));
    }
    assert_eq!(indexer.index_keys("user", "x").unwrap(), ["a", "b", "c", "d"]);
}

#[test]
fn an_unknown_index_is_an_error_that_names_it() {
    let indexer = by_users();
    let error = indexer.by_index("node", "x").unwrap_err();
    assert_eq!(error.to_string(), r#"no index "node""#);
    assert_eq!(indexer.index_keys("node", "x").unwrap_err(), error);
    assert_eq!(indexer.index("node", &thing("a", [])).unwrap_err(), error);
    assert!(indexer.list_index_func_values("node").is_empty());
}

#[test]
fn a_list_builds_every_index_anew() {
    let indexer = by_users();
    indexer.add(thing("a", ["x"]));
    indexer.replace([thing("b", ["y"]), thing("b", ["z"])], "1");
    assert_eq!(contents(&indexer), [entry("z", ["b"])]);
    indexer.clear();
    assert!(contents(&indexer).is_empty());
}

#[test]
fn values_given_twice_count_once() {
    let indexer = by_users();
    indexer.add(thing("a", ["x", "y", "x", "x"]));
    assert_eq!(contents(&indexer), [entry("x", ["a"]), entry("y", ["a"])]);
    indexer.update(thing("a", ["x", "x"]));
    assert_eq!(contents(&indexer), [entry("x", ["a"])]);
    indexer.delete_by_key("a");
    assert!(contents(&indexer).is_empty());
}

#[test]
fn an_index_function_that_panics_leaves_the_object_stored_and_out_of_that_index() {
    let indexers = Indexers::new()
        .with("bad", |thing: &Thing| {
            assert!(!thing.1.contains(&"panic"), "as the test wants it");
            users(thing)
        })
        .with_value("bad too", |thing: &Thing| {
            assert!(!thing.1.contains(&"panic"), "as the test wants it");
            Some("all".into())
        })
        .with("user", users);
    let indexer = Indexer::new(|thing: &Thing| thing.0, indexers);
    indexer.add(thing("a", ["x"]));
    indexer.update(thing("a", ["panic"]));
    assert_eq!(indexer.list(), [thing("a", ["panic"])]);
    assert!(indexer.list_index_func_values("bad").is_empty(), "not under an old value either");
    assert!(indexer.list_index_func_values("bad too").is_empty());
    assert_eq!(indexer.index_keys("user", "panic").unwrap(), ["a"]);
    assert!(indexer.index("bad", &thing("probe", ["panic"])).unwrap().is_empty());
    indexer.replace([thing("a", ["panic"]), thing("b", ["x"])], "");
    assert_eq!(indexer.index_keys("bad too", "all").unwrap(), ["b"]);
    indexer.update(thing("a", ["x"]));
    assert_eq!(indexer.index_keys("bad", "x").unwrap(), ["a", "b"]);
}

#[test]
fn an_object_may_have_thousands_of_values() {
    const VALUES: usize = 5_000;
    let values = |n: &usize| (0..VALUES).map(|value| (value + n % 2).to_string()).collect();
    let indexer = Indexer::new(|n: &usize| n.to_string(), Indexers::new().with("many", values));
    let start = Instant::now();
    for n in 0..10 {
        indexer.add(n);
    }
    assert_eq!(indexer.list_index_func_values("many").len(), VALUES + 1);
    assert_eq!(indexer.index_keys("many", "0").unwrap().len(), 5);
    assert_eq!(indexer.index_keys("many", "1").unwrap().len(), 10);
    for n in 0..9 {
        indexer.delete(&n);
    }
    assert_eq!(indexer.list_index_func_values("many").len(), VALUES);
    assert_eq!(indexer.index_keys("many", "77").unwrap(), ["9"]);
    indexer.delete(&9);
    assert!(indexer.list_index_func_values("many").is_empty());
    assert!(start.elapsed() < Duration::from_secs(20), "took {:?}", start.elapsed());
}

#[test]
fn an_index_function_may_use_the_store() {
    let indexer = Arc::new_cyclic(|weak: &std::sync::Weak<Indexer<Thing>>| {
        let weak = weak.clone();
        let indexers = Indexers::new()
            .with("size", move |_: &Thing| vec![weak.upgrade().unwrap().len().to_string()]);
        Indexer::new(|thing: &Thing| thing.0, indexers)
    });
    indexer.add(thing("a", []));
    indexer.add(thing("b", []));
    assert_eq!(indexer.index_keys("size", "0").unwrap(), ["a"]);
    assert_eq!(indexer.index_keys("size", "1").unwrap(), ["b"]);
}

#[test]
fn indices_can_be_added_to_a_store_that_has_objects() {
    let indexer = by_users();
    indexer.add(thing("a", ["x"]));
    indexer.add(thing("bb", ["y"]));
    let by_length = Indexers::new().with("length", |t: &Thing| vec![t.0.len().to_string()]);
    indexer.add_indexers(by_length).unwrap();
    assert_eq!(sorted(indexer.index_names()), ["length", "user"]);
    assert_eq!(indexer.index_keys("length", "1").unwrap(), ["a"]);
    indexer.add(thing("c", ["x"]));
    assert_eq!(indexer.index_keys("length", "1").unwrap(), ["a", "c"]);
    assert_eq!(indexer.index_keys("user", "x").unwrap(), ["a", "c"]);
    indexer.delete_by_key("bb");
    assert_eq!(indexer.list_index_func_values("length"), ["1"]);
}

#[test]
fn an_index_whose_name_is_taken_adds_nothing() {
    let indexer = by_users();
    indexer.add(thing("a", ["x"]));
    let more = Indexers::new().with("new", users).with("user", |_: &Thing| vec![]);
    let error = indexer.add_indexers(more).unwrap_err();
    assert!(error.to_string().contains(r#""user""#), "{error}");
    assert_eq!(indexer.index_names(), ["user"]);
    assert!(indexer.by_index("new", "x").is_err());
    assert_eq!(contents(&indexer), [entry("x", ["a"])]);
    indexer.add_indexers(Indexers::new()).unwrap();
}

#[test]
fn an_index_function_given_twice_under_a_name_is_the_last() {
    let indexers = Indexers::new().with("user", |_: &Thing| vec!["old".into()]).with("user", users);
    let indexer = Indexer::new(|thing: &Thing| thing.0, indexers);
    indexer.add(thing("a", ["x"]));
    assert_eq!(contents(&indexer), [entry("x", ["a"])]);
}

#[test]
fn an_index_added_while_writers_write_appears_whole() {
    const KEYS: usize = 2_000;
    type Numbered = (usize, usize);
    let parity = |item: &Numbered| ((item.0 + item.1) % 2).to_string();
    let indexer = Indexer::new(|item: &Numbered| item.0.to_string(), Indexers::new());
    indexer.replace((0..KEYS).map(|n| (n, 0)), "");
    let (done, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for start in [0, KEYS / 2] {
            let (indexer, done) = (&indexer, &done);
            scope.spawn(move || {
                for round in 1.. {
                    for n in start..start + KEYS / 2 {
                        indexer.update((n, round));
                    }
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for name in indexer.index_names() {
                    let all = indexer.index_keys(&name, "all").expect("it is named");
                    assert_eq!(all.len(), KEYS, "{name}");
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        for n in 0..5 {
            let name = format!("index {n}");
            let values = move |item: &Numbered| vec!["all".to_owned(), parity(item)];
            indexer.add_indexers(Indexers::new().with(&name, values)).unwrap();
            assert_eq!(indexer.index_keys(&name, "all").unwrap().len(), KEYS);
        }
        let until = Instant::now() + Duration::from_secs(120);
        while looks.load(Ordering::Relaxed) < 5 && Instant::now() < until {
            thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(looks.into_inner() >= 5, "the reader saw the indices");
    for (n, value) in (0..5).flat_map(|n| [(n, "0"), (n, "1")]) {
        let expected = indexer.list().into_iter().filter(|item| parity(item) == value);
        let expected = sorted(expected.map(|item| item.0.to_string()));
        let found = indexer.index_keys(&format!("index {n}"), value).unwrap();
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn several_indices_added_at_once_by_several_threads_are_all_complete() {
    let indexer = Indexer::new(|n: &u32| n.to_string(), Indexers::new());
    indexer.replace(0..2_000, "");
    thread::scope(|scope| {
        for modulus in 2..6_u32 {
            let indexer = &indexer;
            scope.spawn(move || {
                let rest = move |n: &u32| vec![(n % modulus).to_string()];
                indexer.add_indexers(Indexers::new().with(&modulus.to_string(), rest)).unwrap();
                let zeros = indexer.index_keys(&modulus.to_string(), "0").unwrap();
                assert_eq!(zeros.len(), 2_000_u32.div_ceil(modulus) as usize);
            });
        }
    });
    assert_eq!(indexer.index_names().len(), 4);
}
