//! The time between a pop and the end of its callback, when the object is in nobody's hands but the
//! consumer's: it counts as known, as the consumer is about to make it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use kinformer::cache::{Delta, DeltaFifo, Popped, Store};

use crate::{Item, apply, deleted, drain, fifo, fifo_over, pop_key, tombstone};

/// Pops the next object, does `meanwhile` before it is applied and again after, and applies it.
fn pop_while(
    fifo: &DeltaFifo<Item>,
    store: &Store<Item>,
    meanwhile: impl Fn(&DeltaFifo<Item>),
    before: bool,
) {
    let done = fifo.pop_with(|Popped { key, deltas, .. }| {
        if before {
            meanwhile(fifo);
        }
        apply(store, deltas, key.as_str());
        if !before {
            meanwhile(fifo);
        }
    });
    assert_eq!(done, Some(()));
}

/// What is queued after something was done while an addition of `a` was in process.
fn after_adding(change: impl Fn(&DeltaFifo<Item>)) -> Vec<Vec<Delta<Item>>> {
    [true, false]
        .map(|before| {
            let (fifo, store) = fifo_over([]);
            fifo.add(("a", 1)).unwrap();
            pop_while(&fifo, &store, &change, before);
            assert_eq!(store.list(), [("a", 1)]);
            let queued: Vec<_> = drain(&fifo).into_iter().flat_map(|(_, deltas)| deltas).collect();
            queued
        })
        .into()
}

/// The same while a deletion of `a` was in process.
fn after_deleting(change: impl Fn(&DeltaFifo<Item>)) -> Vec<Vec<Delta<Item>>> {
    [true, false]
        .map(|before| {
            let (fifo, store) = fifo_over([("a", 1)]);
            fifo.delete(("a", 2)).unwrap();
            pop_while(&fifo, &store, &change, before);
            assert!(store.is_empty());
            let queued: Vec<_> = drain(&fifo).into_iter().flat_map(|(_, deltas)| deltas).collect();
            queued
        })
        .into()
}

#[test]
fn a_deletion_from_inside_the_callback_is_not_lost() {
    for queued in after_adding(|fifo| fifo.delete(("a", 2)).unwrap()) {
        assert_eq!(queued, [deleted("a", 2)]);
    }
}

#[test]
fn a_list_from_inside_the_callback_deletes_what_is_in_process() {
    for queued in after_adding(|fifo| fifo.replace([]).unwrap()) {
        assert_eq!(queued, [tombstone("a", 1)]);
    }
}

#[test]
fn a_streamed_list_from_inside_the_callback_deletes_what_is_in_process() {
    for queued in after_adding(|fifo| fifo.begin_replace().finish()) {
        assert_eq!(queued, [tombstone("a", 1)]);
    }
}

#[test]
fn a_resync_from_inside_the_callback_tells_the_state_that_is_in_process() {
    for queued in after_adding(DeltaFifo::resync) {
        assert_eq!(queued, [Delta::Sync(("a", 1))]);
    }
}

#[test]
fn a_resync_never_tells_the_state_before_the_one_in_process() {
    for before in [true, false] {
        let (fifo, store) = fifo_over([("a", 1)]);
        fifo.update(("a", 2)).unwrap();
        pop_while(&fifo, &store, DeltaFifo::resync, before);
        assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 2))]);
    }
}

#[test]
fn a_tombstone_has_the_state_in_process_and_not_the_one_before() {
    for before in [true, false] {
        let (fifo, store) = fifo_over([("a", 1)]);
        fifo.update(("a", 2)).unwrap();
        pop_while(&fifo, &store, |fifo| fifo.replace([]).unwrap(), before);
        assert_eq!(pop_key(&fifo, "a"), [tombstone("a", 2)]);
    }
}

#[test]
fn what_is_being_deleted_is_not_deleted_again() {
    for queued in after_deleting(|fifo| fifo.delete(("a", 3)).unwrap()) {
        assert_eq!(queued, []);
    }
    for queued in after_deleting(|fifo| fifo.replace([]).unwrap()) {
        assert_eq!(queued, []);
    }
}

#[test]
fn what_is_being_deleted_is_not_told_again() {
    for queued in after_deleting(DeltaFifo::resync) {
        assert_eq!(queued, []);
    }
}

#[test]
fn what_comes_after_the_pop_stays_queued() {
    for queued in after_adding(|fifo| fifo.update(("a", 2)).unwrap()) {
        assert_eq!(queued, [Delta::Updated(("a", 2))]);
    }
    for queued in after_deleting(|fifo| fifo.add(("a", 3)).unwrap()) {
        assert_eq!(queued, [Delta::Added(("a", 3))]);
    }
}

#[test]
fn without_known_objects_what_is_in_process_can_still_be_deleted() {
    type Change = fn(&DeltaFifo<Item>) -> kinformer::Result<()>;
    let deletions: [Change; 2] = [|fifo| fifo.delete(("a", 1)), |fifo| fifo.replace([])];
    for delete in deletions {
        let fifo = fifo();
        fifo.add(("a", 1)).unwrap();
        fifo.pop_with(|_| {
            fifo.resync();
            assert!(fifo.is_empty(), "there is nothing to compare with");
            delete(&fifo).unwrap();
        });
        assert!(fifo.try_pop().unwrap().deltas.newest().is_deleted());
    }
}

#[test]
fn other_threads_use_the_queue_while_the_callback_runs() {
    let (fifo, store) = fifo_over([("b", 1)]);
    fifo.add(("a", 1)).unwrap();
    let (started, wait_for_start) = mpsc::channel();
    let (finish, wait_for_finish) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (fifo, store) = (&fifo, &store);
        let consumer = scope.spawn(move || {
            fifo.pop_with(|Popped { key, deltas, .. }| {
                started.send(()).unwrap();
                wait_for_finish.recv().unwrap();
                apply(store, deltas, key.as_str());
            })
        });
        wait_for_start.recv().unwrap();
        assert!(fifo.is_empty());
        fifo.delete(("a", 2)).unwrap();
        fifo.replace([("c", 1)]).unwrap();
        fifo.resync();
        assert_eq!(fifo.list_keys(), ["a", "c", "b"]);
        assert_eq!(fifo.pop().unwrap().deltas.newest(), &deleted("a", 2));
        finish.send(()).unwrap();
        consumer.join().unwrap().unwrap();
    });
    assert_eq!(store.len(), 2);
}

#[test]
fn the_newest_of_several_in_process_counts() {
    let (fifo, _) = fifo_over([]);
    fifo.add(("a", 1)).unwrap();
    fifo.pop_with(|_| {
        fifo.update(("a", 2)).unwrap();
        fifo.pop_with(|_| {
            fifo.resync();
            assert_eq!(pop_key(&fifo, "a"), [Delta::Sync(("a", 2))]);
        });
        fifo.replace([]).unwrap();
        assert_eq!(pop_key(&fifo, "a"), [tombstone("a", 1)]);
    });
    fifo.resync();
    assert!(fifo.is_empty(), "nothing was applied");
}

#[test]
fn has_synced_only_when_the_last_object_of_the_first_list_is_processed() {
    let fifo = fifo();
    fifo.replace([("a", 1), ("b", 1)]).unwrap();
    for _ in 0..2 {
        fifo.pop_with(|popped| {
            assert!(popped.initial);
            assert!(!fifo.has_synced());
        });
    }
    assert!(fifo.has_synced());
}

#[test]
fn an_object_of_the_first_list_that_is_in_process_does_not_count_twice() {
    let (fifo, store) = fifo_over([]);
    fifo.replace([("a", 1)]).unwrap();
    pop_while(&fifo, &store, |fifo| fifo.update(("a", 2)).unwrap(), true);
    assert!(fifo.has_synced(), "the update came after the list");
    assert!(!fifo.pop().unwrap().initial);
}

#[test]
fn a_callback_that_panics_ends_its_object_and_nothing_else() {
    let (fifo, store) = fifo_over([]);
    fifo.replace([("a", 1), ("b", 1)]).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        fifo.pop_with(|_| -> () { panic!("the consumer's mistake") })
    }));
    assert!(panicked.is_err());
    assert_eq!(fifo.list_keys(), ["b"], "not queued again");
    assert!(!fifo.has_synced());
    fifo.delete(("a", 1)).unwrap();
    assert_eq!(fifo.len(), 1, "it was never applied, and is not known");
    pop_while(&fifo, &store, |_| (), true);
    assert!(fifo.has_synced(), "the one that panicked has been processed");
    fifo.close();
    assert_eq!(fifo.pop(), None);
}

#[test]
fn the_result_of_the_callback_is_the_result_of_the_pop() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.add(("b", 1)).unwrap();
    assert_eq!(fifo.pop_with(|popped| Err::<(), _>(popped.key)), Some(Err("a".into())));
    assert_eq!(fifo.list_keys(), ["b"], "an error queues nothing again");
}

#[test]
fn a_callback_may_pop_and_close() {
    let fifo = fifo();
    fifo.add(("a", 1)).unwrap();
    fifo.add(("b", 1)).unwrap();
    let both = fifo.pop_with(|first| {
        fifo.close();
        (first.key, fifo.pop().unwrap().key, fifo.pop())
    });
    assert_eq!(both, Some(("a".into(), "b".into(), None)));
}
