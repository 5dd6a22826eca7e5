//! The queue: order, what is queued together, what counts as known, when it has synced.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use kinformer::{
    ObjectKey,
    cache::{Deleted, Delta, DeltaFifo, KnownObjects},
};

use crate::{
    Item, an_error, builder, deleted, drain, fifo, fifo_over, key, pop_key, store, tombstone,
};

#[test]
fn two_producers_each_keep_their_order_and_nothing_is_lost() {
    const EACH: usize = 500;
    let fifo = DeltaFifo::new(|item: &(&'static str, usize)| format!("{}{}", item.0, item.1));
    thread::scope(|scope| {
        for producer in ["a", "b"] {
            let fifo = &fifo;
            scope.spawn(move || (0..EACH).for_each(|n| fifo.add((producer, n)).unwrap()));
        }
        let mut next = std::collections::HashMap::from([("a", 0), ("b", 0)]);
        for _ in 0..2 * EACH {
            let popped = fifo.pop().unwrap();
            let &(producer, n) = popped.deltas.newest().object().unwrap();
            assert_eq!(n, next[producer], "in the order of {producer}");
            next.insert(producer, n + 1);
        }
    });
    assert!(fifo.is_empty());
}

#[test]
fn changes_of_one_object_are_popped_together_oldest_first() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.update(("a", 2)).unwrap();
    fifo.update(("a", 2)).unwrap();
    fifo.delete(("a", 3)).unwrap();
    assert_eq!(fifo.len(), 1);
    assert_eq!(fifo.get(&("a", 0)).unwrap().newest(), &deleted("a", 3));
    let popped = fifo.pop().unwrap();
    assert_eq!(popped.deltas.newest().object(), Some(&("a", 3)));
    let all: Vec<_> = popped.deltas.into_iter().collect();
    let updated = Delta::Updated(("a", 2));
    assert_eq!(all, [Delta::Added(("a", 1)), updated.clone(), updated, deleted("a", 3)]);
    assert_eq!(fifo.get_by_key("a"), None, "popped is gone");
    fifo.close();
    assert_eq!(fifo.pop(), None);
}

#[test]
fn a_queued_object_keeps_its_place_and_one_that_was_popped_goes_to_the_end() {
    let fifo = fifo();
    for name in ["a", "b", "c"] {
        fifo.add((name, 1)).unwrap();
    }
    fifo.add(("a", 2)).unwrap();
    assert_eq!(fifo.list_keys(), ["a", "b", "c"]);
    assert_eq!(pop_key(&fifo, "a").last(), Some(&Delta::Added(("a", 2))));
    fifo.add(("a", 3)).unwrap();
    fifo.update(("b", 2)).unwrap();
    assert_eq!(fifo.list(), [("b", 2), ("c", 1), ("a", 3)]);
    let order: Vec<_> = drain(&fifo).into_iter().map(|(key, _)| key).collect();
    assert_eq!(order, ["b", "c", "a"]);
}

#[test]
fn without_known_objects_the_deletion_of_what_is_not_queued_is_ignored() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.update(("b", 2)).unwrap();
    fifo.delete(("c", 3)).unwrap();
    fifo.delete(("a", 4)).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Added(("a", 1)), deleted("a", 4)]);
    assert_eq!(pop_key(&fifo, "b"), [Delta::Updated(("b", 2))]);
    assert!(fifo.is_empty());
    fifo.delete(("a", 5)).unwrap();
    assert!(fifo.is_empty(), "popped is not known any more");
}

#[test]
fn with_known_objects_the_deletion_of_a_known_one_is_queued() {
    let (fifo, _) = fifo_over([("a", 1), ("b", 1)]);
    fifo.add(("c", 1)).unwrap();
    fifo.update(("d", 1)).unwrap();
    fifo.delete(("a", 2)).unwrap();
    fifo.delete(("nowhere", 1)).unwrap();
    let order: Vec<_> = drain(&fifo).into_iter().map(|(key, _)| key).collect();
    assert_eq!(order, ["c", "d", "a"]);
}

#[test]
fn what_is_queued_and_not_yet_known_can_be_deleted() {
    let (fifo, _) = fifo_over([]);
    fifo.add(("a", 1)).unwrap();
    fifo.delete(("a", 2)).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Added(("a", 1)), deleted("a", 2)]);
}

#[test]
fn two_deletions_in_a_row_are_one_and_one_that_was_seen_wins() {
    let (fifo, _) = fifo_over([("a", 1), ("b", 1)]);
    fifo.delete(("a", 2)).unwrap();
    fifo.replace([]).unwrap();
    fifo.delete(("b", 3)).unwrap();
    fifo.delete(("b", 4)).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [deleted("a", 2)], "no tombstone over a seen deletion");
    assert_eq!(pop_key(&fifo, "b"), [deleted("b", 3)], "a tombstone gives way to the first seen");
    assert!(fifo.is_empty());
}

#[test]
fn resync_tells_every_known_object_that_has_nothing_queued() {
    let (fifo, _) = fifo_over([("a", 1), ("b", 1), ("c", 1)]);
    fifo.delete(("a", 1)).unwrap();
    fifo.update(("b", 2)).unwrap();
    fifo.resync();
    fifo.resync();
    assert_eq!(pop_key(&fifo, "a"), [deleted("a", 1)], "not after its deletion");
    assert_eq!(pop_key(&fifo, "b"), [Delta::Updated(("b", 2))], "it would be older");
    assert_eq!(pop_key(&fifo, "c"), [Delta::Sync(("c", 1))]);
    assert!(fifo.is_empty());
}

#[test]
fn resync_without_known_objects_does_nothing() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.resync();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Added(("a", 1))]);
    fifo.resync();
    assert!(fifo.is_empty());
}

#[test]
fn resync_is_neither_a_first_change_nor_transformed() {
    let known = store([("a", 1)]);
    let fifo = builder().known_objects(known).transform(|(name, n)| Ok((name, n + 100))).build();
    fifo.resync();
    assert!(!fifo.has_synced());
    assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 1))]);
    assert!(!fifo.has_synced());
}

/// Counts how often each value was transformed, in its hundreds.
fn counting() -> impl Fn(Item) -> kinformer::Result<Item> {
    |(name, value)| Ok((name, value + 100))
}

#[test]
fn each_object_is_transformed_once_and_tombstones_never() {
    let known = store([("known", 101)]);
    let fifo = builder().known_objects(known).transform(counting()).build();
    fifo.add(("a", 1)).unwrap();
    fifo.update(("a", 2)).unwrap();
    fifo.delete(("a", 3)).unwrap();
    assert_eq!(
        pop_key(&fifo, "a"),
        [Delta::Added(("a", 101)), Delta::Updated(("a", 102)), deleted("a", 103)]
    );
    fifo.replace([("b", 1), ("c", 1)]).unwrap();
    fifo.replace([("c", 2)]).unwrap();
    assert_eq!(fifo.list_keys(), ["b", "c", "known"], "one entry for each key");
    assert_eq!(pop_key(&fifo, "b"), [Delta::Sync(("b", 101)), tombstone("b", 101)]);
    assert_eq!(pop_key(&fifo, "c"), [Delta::Sync(("c", 101)), Delta::Sync(("c", 102))]);
    assert_eq!(pop_key(&fifo, "known"), [tombstone("known", 101)]);
}

#[test]
fn what_the_transform_fails_on_is_not_queued_and_does_not_count_as_a_first_change() {
    let odd = |item: Item| if item.1 % 2 == 1 { Err(an_error()) } else { Ok(item) };
    let known = store([("a", 0)]);
    let fifo = builder().known_objects(known).transform(odd).build();
    assert!(fifo.add(("a", 1)).is_err());
    assert!(fifo.update(("a", 1)).is_err());
    assert!(fifo.replace([("a", 2), ("b", 1)]).is_err());
    assert!(fifo.is_empty());
    assert!(!fifo.has_synced());
    fifo.add(("a", 2)).unwrap();
    assert_eq!(fifo.list(), [("a", 2)]);
}

#[test]
fn a_deletion_that_the_transform_fails_on_is_told_with_the_last_known_state() {
    let odd = |item: Item| if item.1 % 2 == 1 { Err(an_error()) } else { Ok(item) };
    let fifo = builder().known_objects(store([("known", 0)])).transform(odd).build();
    assert!(fifo.delete(("known", 1)).is_err());
    fifo.add(("queued", 2)).unwrap();
    assert!(fifo.delete(("queued", 3)).is_err());
    fifo.add(("gone", 2)).unwrap();
    fifo.delete(("gone", 4)).unwrap();
    assert!(fifo.delete(("gone", 5)).is_err());
    assert!(fifo.delete(("unheard of", 1)).is_err());

    assert_eq!(pop_key(&fifo, "known"), [tombstone("known", 0)]);
    assert_eq!(pop_key(&fifo, "queued"), [Delta::Added(("queued", 2)), tombstone("queued", 2)]);
    assert_eq!(pop_key(&fifo, "gone"), [Delta::Added(("gone", 2)), deleted("gone", 4)]);
    assert!(fifo.is_empty());
}

#[test]
fn a_transform_and_a_key_function_may_use_the_queue() {
    let fifo = Arc::new_cyclic(|weak: &std::sync::Weak<DeltaFifo<Item>>| {
        let (for_key, for_transform) = (weak.clone(), weak.clone());
        let key = move |item: &Item| {
            assert!(!for_key.upgrade().unwrap().is_closed());
            item.0
        };
        let transform = move |item| {
            for_transform.upgrade().unwrap().resync();
            Ok(item)
        };
        DeltaFifo::builder(key).transform(transform).build()
    });
    fifo.add(("a", 1)).unwrap();
    fifo.replace([("b", 1)]).unwrap();
    fifo.begin_replace().item(("c", 1)).unwrap();
    assert_eq!(fifo.len(), 3);
}

#[test]
fn has_synced_follows_its_table() {
    let fresh = fifo();
    assert!(!fresh.has_synced());

    for first in [DeltaFifo::add, DeltaFifo::update, DeltaFifo::delete] {
        let fifo = fifo();
        first(&fifo, ("a", 1)).unwrap();
        assert!(fifo.has_synced(), "a change before any list: nothing to wait for");
    }

    let empty = fifo();
    empty.replace([]).unwrap();
    assert!(empty.has_synced());

    let two = fifo();
    two.replace([("a", 1), ("b", 1)]).unwrap();
    for left in [2, 1] {
        assert!(!two.has_synced());
        assert_eq!(two.len(), left);
        assert!(two.pop().unwrap().initial);
    }
    assert!(two.has_synced());

    let duplicates = fifo();
    duplicates.replace([("a", 1), ("a", 2), ("b", 1)]).unwrap();
    assert!(duplicates.pop().unwrap().initial);
    assert!(!duplicates.has_synced());
    assert!(duplicates.pop().unwrap().initial);
    assert!(duplicates.has_synced());
}

#[test]
fn deletions_of_the_first_list_count_towards_has_synced() {
    let (fifo, _) = fifo_over([("b", 1), ("c", 1)]);
    fifo.replace([("a", 1)]).unwrap();
    for name in ["a", "b", "c"] {
        assert!(!fifo.has_synced());
        let popped = fifo.pop().unwrap();
        assert_eq!(popped.key, name);
        assert!(popped.initial);
    }
    assert!(fifo.has_synced());
}

#[test]
fn once_synced_always_synced_and_nothing_is_initial_any_more() {
    let (fifo, _) = fifo_over([]);
    fifo.replace([("a", 1)]).unwrap();
    assert!(fifo.pop().unwrap().initial);
    fifo.replace([("a", 2), ("b", 1)]).unwrap();
    assert!(fifo.has_synced());
    assert!(!fifo.pop().unwrap().initial);
    fifo.resync();
    assert!(fifo.has_synced());
    assert!(!fifo.pop().unwrap().initial);
}

#[test]
fn a_resync_before_the_first_list_is_counted_by_what_the_list_says_of_it() {
    let (fifo, _) = fifo_over([("a", 1), ("gone", 1)]);
    fifo.resync();
    fifo.replace([("a", 2)]).unwrap();
    assert_eq!(fifo.list_keys(), ["a", "gone"]);
    assert!(fifo.pop().unwrap().initial);
    assert!(!fifo.has_synced());
    let popped = fifo.pop().unwrap();
    assert!(popped.initial);
    assert_eq!(popped.deltas.newest(), &tombstone("gone", 1));
    assert!(fifo.has_synced());
}

#[test]
fn close_ends_every_blocked_pop() {
    let fifo = fifo();
    let ended = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..10 {
            let (fifo, ended) = (&fifo, &ended);
            scope.spawn(move || {
                if n % 2 == 0 {
                    assert_eq!(fifo.pop(), None);
                } else {
                    assert_eq!(fifo.pop_with(|_| ()), None);
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        fifo.close();
    });
    assert_eq!(ended.into_inner(), 10);
    assert!(fifo.is_closed());
}

#[test]
fn a_closed_queue_still_takes_changes_and_gives_what_it_has() {
    let (fifo, _) = fifo_over([("k", 1)]);
    fifo.add(("a", 1)).unwrap();
    fifo.close();
    fifo.close();
    fifo.update(("b", 1)).unwrap();
    fifo.replace([("b", 2)]).unwrap();
    assert_eq!(fifo.len(), 3);
    assert_eq!(fifo.pop().unwrap().key, "a");
    assert_eq!(fifo.pop_with(|popped| popped.key), Some("b".into()));
    assert_eq!(fifo.try_pop().unwrap().key, "k");
    assert_eq!(fifo.pop(), None);
    assert_eq!(fifo.pop_with(|_| ()), None);
    fifo.add(("late", 1)).unwrap();
    assert_eq!(fifo.pop().unwrap().key, "late");
}

#[test]
fn a_pop_that_waits_gets_what_comes() {
    let fifo = fifo();
    thread::scope(|scope| {
        let popper = scope.spawn(|| fifo.pop().unwrap().key);
        fifo.add(("a", 1)).unwrap();
        assert_eq!(popper.join().unwrap(), "a");
    });
}

#[test]
fn a_known_key_whose_object_cannot_be_had_is_deleted_without_a_last_state() {
    struct OnlyKeys;
    impl KnownObjects<Item> for OnlyKeys {
        fn keys(&self) -> Vec<ObjectKey> {
            vec!["a".into(), "b".into()]
        }

        fn get(&self, _: &ObjectKey) -> Option<Item> {
            None
        }
    }
    let fifo = builder().known_objects(OnlyKeys).build();
    fifo.replace([("b", 1)]).unwrap();
    assert_eq!(pop_key(&fifo, "b"), [Delta::Sync(("b", 1))]);
    let unknown = Deleted::FinalStateUnknown { key: "a".into(), last: None };
    assert_eq!(pop_key(&fifo, "a"), [Delta::Deleted(unknown)]);
    fifo.resync();
    assert!(fifo.is_empty(), "nothing to tell again");
}

#[test]
fn the_key_of_a_popped_object_is_that_of_the_key_function() {
    let fifo = DeltaFifo::new(|item: &Item| format!("ns/{}", key(item)));
    fifo.add(("a", 1)).unwrap();
    fifo.replace([]).unwrap();
    let popped = fifo.pop().unwrap();
    assert_eq!((popped.key.namespace(), popped.key.name()), (Some("ns"), "a"));
    let Delta::Deleted(Deleted::FinalStateUnknown { key, .. }) = popped.deltas.newest() else {
        panic!("{:?}", popped.deltas);
    };
    assert_eq!(key, "ns/a");
}

#[test]
fn a_long_burst_is_given_back_and_the_queue_goes_on() {
    let fifo = DeltaFifo::new(|n: &u32| n.to_string());
    for round in 0..3 {
        for n in 0..5_000 {
            fifo.add(n).unwrap();
        }
        for n in 0..5_000 {
            assert_eq!(fifo.pop().unwrap().key.as_str(), n.to_string(), "round {round}");
        }
        assert!(fifo.is_empty());
    }
}
