//! Races, looked for by a model checker that runs the shipped source under thousands of schedules.
//!
//! `tests/models/run` builds it with `--cfg shuttle`; without that there is nothing here.

#![cfg(shuttle)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kinformer::cache::{Delta, DeltaFifo, Indexer, Indexers, Popped, Store};
use shuttle::{
    Config, Runner,
    rand::{Rng, thread_rng},
    scheduler::{PctScheduler, RandomScheduler},
    thread,
};

/// A name and a version, which only ever grows.
type Item = (&'static str, u32);

fn key(item: &Item) -> &'static str {
    item.0
}

/// Runs a model under random schedules, and under schedules with few, well placed, changes of thread.
fn check(model: fn()) {
    let schedules = std::env::var("KINF_SCHEDULES").ok().and_then(|n| n.parse().ok());
    let schedules = schedules.unwrap_or(40_000);
    let config = || {
        let mut config = Config::new();
        config.stack_size = 0x2_0000;
        config
    };
    Runner::new(RandomScheduler::new(schedules), config()).run(model);
    Runner::new(PctScheduler::new(3, schedules), config()).run(model);
}

#[test]
fn producers_and_poppers_lose_nothing_and_close_ends_every_pop() {
    check(|| {
        let fifo = Arc::new(DeltaFifo::new(key));
        let producers: Vec<_> = [0_u32, 100]
            .into_iter()
            .map(|from| {
                let fifo = fifo.clone();
                thread::spawn(move || {
                    for (n, name) in (1..).zip(["a", "b", "a"]) {
                        fifo.add((name, from + n)).unwrap();
                    }
                })
            })
            .collect();
        let poppers: Vec<_> = (0..2)
            .map(|n| {
                let fifo = fifo.clone();
                thread::spawn(move || {
                    let mut taken = Vec::new();
                    let mut take = |popped: Popped<Item>| {
                        taken.extend(popped.deltas.iter().filter_map(Delta::object).copied());
                    };
                    if n == 0 {
                        while let Some(popped) = fifo.pop() {
                            take(popped);
                        }
                    } else {
                        while fifo.pop_with(&mut take).is_some() {}
                    }
                    taken
                })
            })
            .collect();
        for producer in producers {
            producer.join().unwrap();
        }
        fifo.close();
        let taken: Vec<_> = poppers.into_iter().map(|popper| popper.join().unwrap()).collect();
        for part in &taken {
            for (at, &(name, version)) in part.iter().enumerate() {
                let of_same = |other: &&Item| other.0 == name && other.1 / 100 == version / 100;
                let later = part[at..].iter().filter(of_same);
                assert!(later.clone().all(|other| other.1 >= version), "out of order: {part:?}");
            }
        }
        let mut all = taken.concat();
        all.sort_unstable();
        assert_eq!(all, [("a", 1), ("a", 3), ("a", 101), ("a", 103), ("b", 2), ("b", 102)]);
        assert!(fifo.is_empty());
    });
}

#[test]
fn close_wakes_poppers_that_wait_for_nothing() {
    check(|| {
        let fifo = Arc::new(DeltaFifo::new(key));
        let poppers: Vec<_> = (0..3)
            .map(|_| {
                let fifo = fifo.clone();
                thread::spawn(move || {
                    let mut count = 0;
                    while fifo.pop().is_some() {
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let closer = {
            let fifo = fifo.clone();
            thread::spawn(move || fifo.close())
        };
        fifo.add(("a", 1)).unwrap();
        closer.join().unwrap();
        let popped: usize = poppers.into_iter().map(|popper| popper.join().unwrap()).sum();
        let left = usize::from(fifo.try_pop().is_some());
        assert_eq!(popped + left, 1, "what came after the last pop is still there");
    });
}

/// A consumer that applies what it pops to a store, and knows what it may be told.
struct Consumer {
    fifo: Arc<DeltaFifo<Item>>,
    store: Store<Item>,
}

impl Consumer {
    fn new() -> Self {
        let store = Store::new(key);
        let fifo = DeltaFifo::builder(key).known_objects(store.clone()).emit_replaced(true).build();
        Self { fifo: Arc::new(fifo), store }
    }

    /// Pops until the queue is closed. Versions grow, so that an older state is seen as one.
    fn start(&self) -> thread::JoinHandle<()> {
        let (fifo, store) = (self.fifo.clone(), self.store.clone());
        thread::spawn(move || {
            let mut newest = BTreeMap::new();
            while fifo.pop_with(|popped| apply(&store, &mut newest, &popped)).is_some() {}
        })
    }
}

fn apply(store: &Store<Item>, newest: &mut BTreeMap<String, u32>, popped: &Popped<Item>) {
    let name = popped.key.as_str();
    for delta in &popped.deltas {
        let item = delta.object().expect("the last state is always known here");
        let version = newest.entry(name.to_owned()).or_default();
        assert!(item.1 >= *version, "{item:?} is older than what was told before");
        *version = item.1;
        if delta.is_deleted() {
            let had = store.delete_by_key(name);
            assert!(had.is_some(), "{name} was deleted twice, or never there");
        } else {
            store.add(*item);
        }
    }
}

fn contents(store: &Store<Item>) -> BTreeMap<&'static str, u32> {
    store.list().into_iter().collect()
}

#[test]
fn a_deletion_while_the_object_is_in_process_is_not_lost() {
    check(|| {
        let consumer = Consumer::new();
        let running = consumer.start();
        consumer.fifo.add(("a", 1)).unwrap();
        consumer.fifo.delete(("a", 2)).unwrap();
        consumer.fifo.add(("b", 1)).unwrap();
        consumer.fifo.close();
        running.join().unwrap();
        assert_eq!(contents(&consumer.store), [("b", 1)].into());
    });
}

#[test]
fn a_list_while_an_object_is_in_process_deletes_it() {
    check(|| {
        let consumer = Consumer::new();
        let running = consumer.start();
        consumer.fifo.replace([("a", 1), ("b", 1)]).unwrap();
        consumer.fifo.update(("b", 2)).unwrap();
        let mut list = consumer.fifo.begin_replace();
        list.item(("c", 3)).unwrap();
        list.finish();
        consumer.fifo.close();
        running.join().unwrap();
        assert_eq!(contents(&consumer.store), [("c", 3)].into());
        assert!(consumer.fifo.has_synced());
    });
}

#[test]
fn a_resync_never_brings_back_what_was_changed_or_deleted() {
    check(|| {
        let consumer = Consumer::new();
        let running = consumer.start();
        let resyncs = {
            let fifo = consumer.fifo.clone();
            thread::spawn(move || (0..2).for_each(|_| fifo.resync()))
        };
        consumer.fifo.replace([("a", 1), ("b", 1)]).unwrap();
        consumer.fifo.update(("a", 2)).unwrap();
        consumer.fifo.delete(("b", 2)).unwrap();
        resyncs.join().unwrap();
        consumer.fifo.close();
        running.join().unwrap();
        assert_eq!(contents(&consumer.store), [("a", 2)].into());
    });
}

#[test]
fn whatever_happens_the_store_ends_as_the_last_list_and_the_changes_since() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    check(|| {
        let consumer = Consumer::new();
        let running = consumer.start();
        let resyncs = {
            let fifo = consumer.fifo.clone();
            thread::spawn(move || fifo.resync())
        };
        let fifo = &consumer.fifo;
        let mut truth = BTreeMap::new();
        for version in 1..=6 {
            let name = NAMES[thread_rng().gen_range(0..NAMES.len())];
            let some = || {
                let listed = NAMES.into_iter().filter(|_| thread_rng().r#gen());
                listed.map(|name| (name, version)).collect::<Vec<_>>()
            };
            match thread_rng().gen_range(0..6) {
                0 => {
                    fifo.add((name, version)).unwrap();
                    truth.insert(name, version);
                }
                1 => {
                    fifo.update((name, version)).unwrap();
                    truth.insert(name, version);
                }
                2 => {
                    fifo.delete((name, version)).unwrap();
                    truth.remove(name);
                }
                3 => {
                    truth = some().into_iter().collect();
                    fifo.replace(truth.clone()).unwrap();
                }
                way => {
                    let mut list = fifo.begin_replace();
                    let listed = some();
                    for item in &listed {
                        list.item(*item).unwrap();
                    }
                    if way == 4 {
                        list.finish();
                        truth.clear();
                    } else {
                        list.abandon();
                    }
                    truth.extend(listed);
                }
            }
        }
        resyncs.join().unwrap();
        fifo.close();
        running.join().unwrap();
        assert_eq!(contents(&consumer.store), truth);
    });
}

#[test]
fn an_index_added_while_writers_write_is_whole_when_it_is_there() {
    check(|| {
        let versions = |item: &Item| vec!["all".to_owned(), item.1.to_string()];
        let indexer = Indexer::new(key, Indexers::new());
        indexer.replace([("stays", 0), ("goes", 0), ("too", 0)], "");
        let mut running = Vec::new();
        for (n, name) in ["one", "two"].into_iter().enumerate() {
            let indexer = indexer.clone();
            running.push(thread::spawn(move || {
                indexer.add_indexers(Indexers::new().with(name, versions)).unwrap();
                let found = indexer.index_keys(name, "all").expect("it was added");
                assert!(found.iter().any(|key| key == "stays"), "writer {n}: {found:?}");
            }));
        }
        let writer = indexer.clone();
        running.push(thread::spawn(move || {
            writer.update(("stays", 1));
            writer.delete_by_key("goes");
            writer.add(("new", 1));
        }));
        let lister = indexer.clone();
        running.push(thread::spawn(move || {
            if thread_rng().r#gen() {
                lister.replace([("stays", 2), ("listed", 2)], "");
            } else {
                lister.update(("too", 2));
            }
        }));
        for name in ["one", "two", "one"] {
            // Not there yet, or whole.
            if let Ok(found) = indexer.index_keys(name, "all") {
                assert!(found.iter().any(|key| key == "stays"), "{name}: {found:?}");
            }
        }
        for thread in running {
            thread.join().unwrap();
        }
        for name in ["one", "two"] {
            check_index(&indexer, name);
        }
    });
}

fn check_index(indexer: &Indexer<Item>, name: &str) {
    let objects = indexer.list();
    let mut values: BTreeSet<_> = objects.iter().map(|item| item.1.to_string()).collect();
    values.insert("all".to_owned());
    let found: BTreeSet<_> = indexer.list_index_func_values(name).into_iter().collect();
    assert_eq!(found, values, "the values of {name}");
    for value in values {
        let having = |item: &&Item| value == "all" || value == item.1.to_string();
        let expected: BTreeSet<_> = objects.iter().filter(having).copied().collect();
        let found = indexer.by_index(name, &value).unwrap();
        assert_eq!(found.len(), expected.len(), "{name}, {value}: one too many");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{name}, {value}");
    }
}
