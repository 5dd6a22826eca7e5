//! What handlers decode of the objects they are told of.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use kinformer::{Body, Error, Event, InformerState, SharedInformer};
use parking_lot::Mutex;
use serde::{Deserialize, de::IgnoredAny};

use crate::support::{LIMIT, Source, started, wait_until};

static DECODED: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];
static LIVE: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// Counts itself, for one test.
#[derive(Deserialize)]
#[serde(from = "IgnoredAny")]
struct Counted<const TEST: usize>;

impl<const TEST: usize> From<IgnoredAny> for Counted<TEST> {
    fn from(_: IgnoredAny) -> Self {
        DECODED[TEST].fetch_add(1, Ordering::SeqCst);
        LIVE[TEST].fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl<const TEST: usize> Drop for Counted<TEST> {
    fn drop(&mut self) {
        LIVE[TEST].fetch_sub(1, Ordering::SeqCst);
    }
}

fn decoded<const TEST: usize>() -> usize {
    DECODED[TEST].load(Ordering::SeqCst)
}

fn live<const TEST: usize>() -> usize {
    LIVE[TEST].load(Ordering::SeqCst)
}

fn informer<const TEST: usize>(source: &Source) -> SharedInformer<Counted<TEST>> {
    started(source.informer()).cast()
}

/// Adds handlers that decode what they are told of, one at a time; they say when they have.
fn decoding<const TEST: usize>(
    informer: &SharedInformer<Counted<TEST>>,
    handlers: usize,
) -> mpsc::Receiver<()> {
    let (tell, told) = mpsc::channel();
    let turns = Arc::new(Mutex::new(()));
    for _ in 0..handlers {
        let (tell, turns) = (tell.clone(), turns.clone());
        informer
            .on_event(move |event: Event<Counted<TEST>>| {
                let turn = turns.lock();
                event.object().unwrap().get().unwrap();
                if let Event::Updated { old, .. } = &event {
                    old.get().unwrap();
                }
                drop(turn);
                drop(event);
                let _ = tell.send(());
            })
            .unwrap();
    }
    told
}

/// How many events wait for each handler.
fn waiting<K: Body>(informer: &SharedInformer<K>) -> Vec<usize> {
    informer.status().handlers.iter().map(|handler| handler.pending).collect()
}

fn wait_for(told: &mpsc::Receiver<()>, count: usize) {
    for _ in 0..count {
        told.recv_timeout(LIMIT).unwrap();
    }
}

#[test]
fn handlers_that_are_told_of_an_object_share_one_decode_which_goes_with_the_last_of_them() {
    let source = Source::new();
    let informer = informer::<0>(&source);
    let told = decoding(&informer, 5);
    source.put("a", "1");
    wait_for(&told, 5);
    assert_eq!(decoded::<0>(), 1);
    wait_until("nothing is left", || live::<0>() == 0);
    source.put("a", "2");
    wait_for(&told, 5);
    assert_eq!(decoded::<0>(), 3, "the old and the new state");
    wait_until("nothing is left", || live::<0>() == 0);
    let object = informer.lister().get("default/a").unwrap();
    drop(object.get().unwrap());
    assert_eq!((decoded::<0>(), live::<0>()), (4, 0), "nobody is being told of it");
}

#[test]
fn a_handler_alone_decodes_an_object_once_however_often_it_asks() {
    let source = Source::new();
    let informer = informer::<1>(&source);
    let (tell, told) = mpsc::channel();
    informer
        .on_event(move |event: Event<Counted<1>>| {
            for _ in 0..3 {
                event.object().unwrap().get().unwrap();
            }
            let _ = tell.send(());
        })
        .unwrap();
    source.put("a", "1");
    wait_for(&told, 1);
    assert_eq!(decoded::<1>(), 1);
    wait_until("nothing is left", || live::<1>() == 0);
}

#[test]
fn a_decode_that_a_handler_holds_is_there_for_others_afterwards() {
    let source = Source::new();
    let informer = informer::<2>(&source);
    let (tell, told) = mpsc::channel();
    informer
        .on_event(move |event: Event<Counted<2>>| {
            let _ = tell.send(event.object().unwrap().get().unwrap());
        })
        .unwrap();
    let others = decoding(&informer, 2);
    source.put("a", "1");
    let held = told.recv_timeout(LIMIT).unwrap();
    wait_for(&others, 2);
    let object = informer.lister().get("default/a").unwrap();
    assert!(Arc::ptr_eq(&held, &object.get().unwrap()));
    drop(held);
    wait_until("nothing is left", || live::<2>() == 0);
}

#[test]
fn a_handler_that_is_late_keeps_few_of_the_decodes_of_others() {
    let source = Source::new();
    let informer = informer::<3>(&source);
    let (go_on, gate) = mpsc::channel::<()>();
    informer
        .on_event(move |_: Event<Counted<3>>| {
            let _ = gate.recv_timeout(LIMIT);
        })
        .unwrap();
    let told = decoding(&informer, 1);
    for name in 0..500 {
        source.put(&format!("m{name}"), "1");
        wait_for(&told, 1);
    }
    assert!((1..=40).contains(&live::<3>()), "{}", live::<3>());
    drop(go_on);
    wait_until("nothing is left", || live::<3>() == 0);
}

/// Adds a handler that decodes what it is told of, as far as it is led.
fn led<const TEST: usize>(informer: &SharedInformer<Counted<TEST>>) -> impl Fn(usize) + use<TEST> {
    let (go_on, gate) = mpsc::channel::<usize>();
    let (tell, told) = mpsc::channel();
    let (mut is_told, mut may_be_told) = (0, 0);
    informer
        .on_event(move |event: Event<Counted<TEST>>| {
            while is_told == may_be_told {
                let _ = tell.send(is_told);
                may_be_told = gate.recv_timeout(LIMIT).unwrap_or(usize::MAX);
            }
            event.object().unwrap().get().unwrap();
            is_told += 1;
        })
        .unwrap();
    assert_eq!(told.recv_timeout(LIMIT), Ok(0), "it waits in its first event");
    move |until| {
        go_on.send(until).unwrap();
        assert_eq!(told.recv_timeout(LIMIT), Ok(until));
    }
}

/// An informer with two handlers that are both late.
fn with_two_late<const TEST: usize>(
    source: &Source,
) -> (SharedInformer<Counted<TEST>>, [impl Fn(usize) + use<TEST>; 2]) {
    let informer = informer::<TEST>(source);
    source.put("first", "1");
    let handlers = [led(&informer), led(&informer)];
    for name in 0..500 {
        source.put(&format!("m{name}"), "1");
    }
    wait_until("all wait", || waiting(&informer) == [500, 500]);
    (informer, handlers)
}

#[test]
fn handlers_that_are_late_share_the_last_decodes_and_no_more_of_them() {
    let source = Source::new();
    let (_informer, [first, second]) = with_two_late::<4>(&source);
    first(250);
    assert_eq!(decoded::<4>(), 250);
    second(250);
    assert_eq!(decoded::<4>(), 250, "of what the first has decoded");
    first(499);
    assert_eq!(decoded::<4>(), 499);
    assert!((200..=257).contains(&live::<4>()), "{}", live::<4>());
    second(499);
    assert_eq!(decoded::<4>(), 499);
    drop((first, second));
    wait_until("nothing is left", || live::<4>() == 0);
}

#[test]
fn handlers_that_are_late_keep_nothing_after_a_stop_even_if_they_do_not_return() {
    let source = Source::new();
    let (informer, [first, second]) = with_two_late::<5>(&source);
    first(250);
    assert!(live::<5>() >= 200, "{}", live::<5>());
    let late = informer.shutdown_timeout(Duration::from_millis(10)).unwrap_err();
    assert!(matches!(late, Error::Wait(_)), "{late}");
    assert!(live::<5>() <= 1, "that of the call that the second is in: {}", live::<5>());
    drop((first, second));
    informer.shutdown_timeout(LIMIT).unwrap();
}

/// Panics when it is dropped.
#[derive(Deserialize)]
#[serde(from = "IgnoredAny")]
struct Bomb;

impl From<IgnoredAny> for Bomb {
    fn from(_: IgnoredAny) -> Self {
        Self
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_decode_that_panics_when_it_is_dropped_ends_no_informer_and_holds_up_no_stop() {
    let source = Source::new();
    let informer = started(source.informer());
    let bombs = informer.cast::<Bomb>();
    let (entered, inside) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    bombs
        .on_event(move |_: Event<Bomb>| {
            let _ = entered.send(());
            let _ = gate.recv_timeout(LIMIT);
        })
        .unwrap();
    let (tell, told) = mpsc::channel();
    bombs
        .on_event(move |event: Event<Bomb>| {
            // It stays until the other handler has been told, too.
            event.object().unwrap().get().unwrap();
            let _ = tell.send(());
        })
        .unwrap();
    for name in ["a", "b", "c"] {
        source.put(name, "1");
        told.recv_timeout(LIMIT).unwrap();
    }
    inside.recv_timeout(LIMIT).unwrap();
    let late = informer.shutdown_timeout(Duration::from_millis(10)).unwrap_err();
    assert!(matches!(late, Error::Wait(_)), "{late}");
    drop(go_on);
    informer.shutdown_timeout(LIMIT).unwrap();
    assert_eq!(informer.status().state, InformerState::Stopped);
}
