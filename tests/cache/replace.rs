//! A new list, all at once and object by object.

use kinformer::cache::{Delta, DeltaFifo, Store};

use crate::{
    Item, an_error, apply, builder, deleted, drain, fifo, fifo_over, key, pop_key, store, tombstone,
};

#[test]
fn a_list_after_a_queued_deletion_adds_to_it() {
    let (fifo, _) = fifo_over([("a", 1)]);
    fifo.delete(("a", 1)).unwrap();
    fifo.replace([("a", 2)]).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [deleted("a", 1), Delta::Sync(("a", 2))]);
}

#[test]
fn a_list_after_a_queued_addition_adds_to_it() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.replace([("a", 2)]).unwrap();
    assert_eq!(fifo.len(), 1);
    assert_eq!(fifo.pop().unwrap().deltas.newest(), &Delta::Sync(("a", 2)));
    assert!(fifo.is_empty());
}

#[test]
fn what_is_only_queued_and_not_listed_gets_one_tombstone_with_its_newest_state() {
    type Changes = fn(&DeltaFifo<Item>);
    let added = || Delta::Added(("a", 1));
    let cases: [(Changes, Vec<Delta<Item>>); 6] = [
        (|fifo| fifo.replace([]).unwrap(), vec![added(), tombstone("a", 1)]),
        (
            |fifo| {
                fifo.replace([]).unwrap();
                fifo.replace([]).unwrap();
            },
            vec![added(), tombstone("a", 1)],
        ),
        (
            |fifo| {
                fifo.delete(("a", 2)).unwrap();
                fifo.replace([]).unwrap();
            },
            vec![added(), deleted("a", 2)],
        ),
        (
            |fifo| {
                fifo.replace([]).unwrap();
                fifo.delete(("a", 2)).unwrap();
            },
            vec![added(), deleted("a", 2)],
        ),
        (
            |fifo| {
                fifo.delete(("a", 2)).unwrap();
                fifo.add(("a", 3)).unwrap();
                fifo.replace([]).unwrap();
            },
            vec![added(), deleted("a", 2), Delta::Added(("a", 3)), tombstone("a", 3)],
        ),
        (
            |fifo| {
                fifo.update(("a", 2)).unwrap();
                fifo.replace([("b", 1)]).unwrap();
            },
            vec![added(), Delta::Updated(("a", 2)), tombstone("a", 2)],
        ),
    ];
    for (n, (changes, expected)) in cases.into_iter().enumerate() {
        for fifo in [fifo(), fifo_over([]).0] {
            fifo.add(("a", 1)).unwrap();
            changes(&fifo);
            assert_eq!(pop_key(&fifo, "a"), expected, "case {n}");
        }
    }
}

/// What five histories leave queued, with `listed` for what a list tells.
fn check_replace(emit_replaced: bool, listed: fn(Item) -> Delta<Item>) {
    let over = |known: Vec<Item>| {
        builder().known_objects(store(known)).emit_replaced(emit_replaced).build()
    };
    let known = || over(vec![("a", 1), ("b", 1), ("c", 1)]);

    let fifo = known();
    fifo.delete(("a", 1)).unwrap();
    fifo.replace([("b", 2)]).unwrap();
    assert_eq!(
        drain(&fifo),
        [
            ("a".to_owned(), vec![deleted("a", 1)]),
            ("b".to_owned(), vec![listed(("b", 2))]),
            ("c".to_owned(), vec![tombstone("c", 1)]),
        ],
        "listed first, then what is missing; a queued deletion stays"
    );

    let fifo = known();
    fifo.replace([("b", 2)]).unwrap();
    assert_eq!(pop_key(&fifo, "b"), [listed(("b", 2))]);
    let mut missing = drain(&fifo);
    missing.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        missing,
        [("a".to_owned(), vec![tombstone("a", 1)]), ("c".to_owned(), vec![tombstone("c", 1)]),]
    );

    let fifo = over(vec![]);
    fifo.add(("new", 1)).unwrap();
    fifo.replace([("b", 1)]).unwrap();
    assert_eq!(pop_key(&fifo, "new"), [Delta::Added(("new", 1)), tombstone("new", 1)]);

    let fifo = known();
    fifo.delete(("a", 1)).unwrap();
    fifo.add(("a", 5)).unwrap();
    fifo.replace([("b", 1)]).unwrap();
    assert_eq!(
        pop_key(&fifo, "a"),
        [deleted("a", 1), Delta::Added(("a", 5)), tombstone("a", 5)],
        "one that came back is deleted as it was then"
    );

    let fifo = over(vec![]);
    fifo.replace([("a", 1), ("b", 1)]).unwrap();
    fifo.replace([("b", 2)]).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [listed(("a", 1)), tombstone("a", 1)]);
    assert_eq!(pop_key(&fifo, "b"), [listed(("b", 1)), listed(("b", 2))]);

    let fifo = builder().emit_replaced(emit_replaced).build();
    fifo.replace([("a", 1), ("b", 1)]).unwrap();
    fifo.replace([("a", 2)]).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [listed(("a", 1)), listed(("a", 2))]);
    assert_eq!(pop_key(&fifo, "b"), [listed(("b", 1)), tombstone("b", 1)]);
}

#[test]
fn a_list_deletes_what_it_leaves_out() {
    check_replace(false, Delta::Sync);
}

#[test]
fn a_list_deletes_what_it_leaves_out_and_says_replaced_if_asked() {
    check_replace(true, Delta::Replaced);
}

#[test]
fn a_known_object_in_a_list_is_told_as_replaced_if_asked_and_as_sync_if_not() {
    for (emit, expected) in [(true, Delta::Replaced(("a", 1))), (false, Delta::Sync(("a", 1)))] {
        let fifo = builder().known_objects(store([("a", 1)])).emit_replaced(emit).build();
        fifo.replace([("a", 1)]).unwrap();
        assert_eq!(pop_key(&fifo, "a"), [expected]);
        assert!(fifo.is_empty());
    }
}

#[test]
fn streamed_objects_are_queued_as_they_arrive() {
    let (fifo, store) = fifo_over([("old", 1)]);
    let mut list = fifo.begin_replace();
    assert!(list.is_empty());
    list.item(("a", 1)).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 1))]);
    store.add(("a", 1));
    list.item(("b", 1)).unwrap();
    assert_eq!((fifo.len(), list.len()), (1, 2));
    assert_eq!(fifo.list_keys(), ["b"], "nothing is deleted before the end");
    list.finish();
    assert_eq!(fifo.list_keys(), ["b", "old"]);
    assert_eq!(drain(&fifo)[1].1, [tombstone("old", 1)]);
}

#[test]
fn a_streamed_list_has_synced_when_it_is_complete_and_processed() {
    let (fifo, _) = fifo_over([("old", 1)]);
    let mut list = fifo.begin_replace();
    for name in ["a", "b"] {
        list.item((name, 1)).unwrap();
        assert!(fifo.pop().unwrap().initial);
        assert!(!fifo.has_synced(), "the list may go on");
    }
    list.finish();
    assert!(!fifo.has_synced());
    assert!(fifo.pop().unwrap().initial);
    assert!(fifo.has_synced());

    let empty = self::fifo();
    empty.begin_replace().finish();
    assert!(empty.has_synced());
}

#[test]
fn an_abandoned_list_deletes_nothing_and_does_not_sync() {
    for dropped in [true, false] {
        let (fifo, store) = fifo_over([("old", 1)]);
        let mut list = fifo.begin_replace();
        list.item(("a", 1)).unwrap();
        if dropped {
            drop(list);
        } else {
            list.abandon();
        }
        assert_eq!(fifo.list_keys(), ["a"]);
        fifo.pop_with(|popped| apply(&store, popped.deltas, "a"));
        assert!(!fifo.has_synced());

        let mut again = fifo.begin_replace();
        again.item(("b", 1)).unwrap();
        again.finish();
        assert_eq!(pop_key(&fifo, "b"), [Delta::Sync(("b", 1))]);
        let mut deleted = drain(&fifo);
        deleted.sort_by(|one, other| one.0.cmp(&other.0));
        let a = ("a".to_owned(), vec![tombstone("a", 1)]);
        assert_eq!(deleted, [a, ("old".to_owned(), vec![tombstone("old", 1)])]);
        assert!(fifo.has_synced());
    }
}

#[test]
fn what_an_abandoned_list_left_queued_counts_once_for_the_next() {
    let (fifo, _) = fifo_over([]);
    let mut list = fifo.begin_replace();
    list.item(("a", 1)).unwrap();
    list.item(("b", 1)).unwrap();
    list.abandon();
    fifo.replace([("a", 2)]).unwrap();
    assert!(!fifo.has_synced());
    assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 1)), Delta::Sync(("a", 2))]);
    assert!(!fifo.has_synced());
    assert_eq!(pop_key(&fifo, "b"), [Delta::Sync(("b", 1)), tombstone("b", 1)]);
    assert!(fifo.has_synced());
}

#[test]
fn a_streamed_object_that_is_taken_back_is_deleted_at_once() {
    let (fifo, store) = fifo_over([("k", 1)]);
    let mut list = fifo.begin_replace();
    list.item(("a", 1)).unwrap();
    list.item(("b", 1)).unwrap();
    fifo.pop_with(|popped| apply(&store, popped.deltas, "a"));
    list.remove(("a", 2)).unwrap();
    list.remove(("b", 2)).unwrap();
    list.remove(("k", 2)).unwrap();
    list.remove(("nowhere", 2)).unwrap();
    assert!(list.is_empty());
    assert_eq!(fifo.list_keys(), ["b", "a", "k"]);
    list.finish();
    assert_eq!(pop_key(&fifo, "b"), [Delta::Sync(("b", 1)), deleted("b", 2)]);
    assert_eq!(pop_key(&fifo, "a"), [deleted("a", 2)]);
    assert!(!fifo.has_synced());
    assert_eq!(pop_key(&fifo, "k"), [deleted("k", 2)]);
    assert!(fifo.has_synced());
}

#[test]
fn a_streamed_object_that_comes_back_is_not_deleted() {
    let (fifo, _) = fifo_over([]);
    let mut list = fifo.begin_replace();
    list.item(("a", 1)).unwrap();
    list.remove(("a", 2)).unwrap();
    list.item(("a", 3)).unwrap();
    list.finish();
    let expected = [Delta::Sync(("a", 1)), deleted("a", 2), Delta::Sync(("a", 3))];
    assert_eq!(pop_key(&fifo, "a"), expected);
}

#[test]
fn a_streamed_object_that_cannot_be_transformed_is_not_deleted() {
    let known = store([("a", 0), ("b", 0)]);
    let odd = |item: Item| if item.1 % 2 == 1 { Err(an_error()) } else { Ok(item) };
    let fifo = builder().known_objects(known).transform(odd).build();
    let mut list = fifo.begin_replace();
    assert!(list.item(("a", 1)).is_err());
    list.finish();
    assert_eq!(fifo.list_keys(), ["b"]);
    assert_eq!(pop_key(&fifo, "b"), [tombstone("b", 0)]);
}

#[test]
fn taking_back_what_cannot_be_transformed_deletes_it_at_the_end() {
    let odd = |item: Item| if item.1 % 2 == 1 { Err(an_error()) } else { Ok(item) };
    let fifo = builder().transform(odd).build();
    let mut list = fifo.begin_replace();
    list.item(("a", 2)).unwrap();
    assert!(list.remove(("a", 3)).is_err());
    list.finish();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 2)), tombstone("a", 2)]);
}

/// Objects that can be told from their copies.
type Shared = std::sync::Arc<Item>;

fn reusing(known: &Store<Shared>) -> DeltaFifo<Shared> {
    DeltaFifo::builder(|item: &Shared| key(item))
        .known_objects(known.clone())
        .unchanged(|known, listed| known.1 == listed.1)
        .build()
}

#[test]
fn a_listed_object_that_did_not_change_is_the_known_one() {
    let known = Store::new(|item: &Shared| key(item));
    let (a, b) = (Shared::new(("a", 1)), Shared::new(("b", 1)));
    known.add(a.clone());
    known.add(b.clone());
    let fifo = reusing(&known);
    fifo.replace([Shared::new(("a", 1)), Shared::new(("b", 1))]).unwrap();
    assert!(fifo.has_synced() && fifo.is_empty(), "the first list has nothing new to say");
    fifo.replace([Shared::new(("a", 1)), Shared::new(("b", 2))]).unwrap();
    let mut list = fifo.begin_replace();
    assert!(Shared::ptr_eq(&fifo.list()[0], &a));
    assert_eq!(*fifo.list()[1], ("b", 2), "a changed one is as it was listed");
    while fifo.try_pop().is_some() {}
    list.item(Shared::new(("a", 1))).unwrap();
    assert!(Shared::ptr_eq(&fifo.list()[0], &a), "streamed too");
}

#[test]
fn what_an_abandoned_list_has_brought_is_not_queued_again_by_the_first_that_is_complete() {
    let known = Store::new(|item: &Shared| key(item));
    let fifo = reusing(&known);
    let item = |name, value| Shared::new((name, value));
    let mut abandoned = fifo.begin_replace();
    for name in ["applied", "in process", "queued", "changed", "gone"] {
        abandoned.item(item(name, 1)).unwrap();
    }
    abandoned.abandon();
    fifo.pop_with(|popped| known.add(popped.deltas.newest().object().unwrap().clone()));
    fifo.pop_with(|_| {
        let mut list = fifo.begin_replace();
        for (name, value) in [("applied", 1), ("in process", 1), ("queued", 1), ("changed", 2)] {
            list.item(item(name, value)).unwrap();
        }
        list.finish();
    });
    let pop = || fifo.try_pop().map(|popped| (popped.key.to_string(), popped.deltas.len()));
    let left: Vec<_> = std::iter::from_fn(pop).collect();
    let expected = [("queued", 1), ("changed", 2), ("gone", 2)];
    assert_eq!(left, expected.map(|(key, deltas)| (key.to_owned(), deltas)));
    assert!(fifo.has_synced());
    assert_eq!(known.list().len(), 1, "nothing that was listed is deleted");
}

#[test]
fn a_listed_object_is_compared_with_the_one_in_process() {
    let known = Store::new(|item: &Shared| key(item));
    known.add(Shared::new(("a", 1)));
    let fifo = reusing(&known);
    fifo.update(Shared::new(("a", 2))).unwrap();
    fifo.pop_with(|popped| {
        fifo.replace([Shared::new(("a", 1))]).unwrap();
        assert_eq!(*fifo.list()[0], ("a", 1), "not the same as what the store will have");
        while fifo.try_pop().is_some() {}
        fifo.replace([Shared::new(("a", 2))]).unwrap();
        let newest = popped.deltas.newest().object().unwrap();
        assert!(Shared::ptr_eq(&fifo.list()[0], newest));
    });
}

#[test]
fn a_listed_object_with_changes_queued_is_not_replaced_by_the_known_one() {
    let known = Store::new(|item: &Shared| key(item));
    let old = Shared::new(("a", 1));
    known.add(old.clone());
    let fifo = reusing(&known);
    fifo.delete(Shared::new(("a", 1))).unwrap();
    fifo.replace([Shared::new(("a", 1))]).unwrap();
    assert!(!Shared::ptr_eq(&fifo.list()[0], &old));
}

#[test]
fn a_list_while_another_streams_counts_for_itself() {
    let (fifo, store) = fifo_over([]);
    let mut slow = fifo.begin_replace();
    slow.item(("a", 1)).unwrap();
    fifo.replace([("b", 1)]).unwrap();
    assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 1)), tombstone("a", 1)]);
    fifo.pop_with(|popped| apply(&store, popped.deltas, "b"));
    slow.finish();
    assert_eq!(pop_key(&fifo, "b"), [tombstone("b", 1)], "the last to finish decides");
}
