//! Races of informers, looked for by a model checker that runs the shipped source, threads included,
//! under thousands of schedules: see `tests/models.rs`. Models have no clock: a wait that would end by
//! polling is a deadlock here.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use kinformer::{
    ApiResource, DynamicObject, Event, ListMeta, ListOptions, ListerWatcher, Object, Result,
    SharedInformer, StopToken, Watch, WatchEvent,
};
use serde_json::json;
use shuttle::{
    Config, Runner,
    scheduler::{PctScheduler, RandomScheduler},
    thread,
};

/// A model has no clock, so that nothing ends by this.
const LIMIT: Duration = Duration::from_secs(3_600);

fn check(model: fn()) {
    let schedules = std::env::var("KINF_SCHEDULES").ok().and_then(|n| n.parse().ok());
    let schedules = schedules.unwrap_or(10_000);
    let config = || {
        let mut config = Config::new();
        config.stack_size = 0x4_0000;
        config
    };
    Runner::new(RandomScheduler::new(schedules), config()).run(model);
    Runner::new(PctScheduler::new(3, schedules), config()).run(model);
}

/// A list of `a` and `b`, then these events, then silence.
struct Script {
    resource: ApiResource,
    events: Vec<WatchEvent<DynamicObject>>,
}

fn resource() -> ApiResource {
    ApiResource::namespaced("v1", "ConfigMap", "configmaps")
}

fn object(name: &str, version: u32) -> Object {
    let json = json!({"metadata": {"namespace": "n", "name": name,
        "resourceVersion": version.to_string()}});
    Object::from_json(&resource(), json.to_string().as_bytes()).unwrap()
}

impl Script {
    fn informer(events: Vec<WatchEvent<DynamicObject>>) -> SharedInformer {
        SharedInformer::builder(Self { resource: resource(), events }).build().unwrap()
    }

    /// `b` changes, `a` goes, `c` comes.
    fn busy() -> SharedInformer {
        Self::informer(vec![
            WatchEvent::Modified(object("b", 4)),
            WatchEvent::Deleted(object("a", 5)),
            WatchEvent::Added(object("c", 6)),
        ])
    }
}

impl ListerWatcher<DynamicObject> for Script {
    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn list(
        &self,
        _options: &ListOptions,
        _stop: &StopToken,
        item: &mut dyn FnMut(Result<Object>),
    ) -> Result<ListMeta> {
        item(Ok(object("a", 1)));
        item(Ok(object("b", 2)));
        Ok(serde_json::from_value(json!({"resourceVersion": "3"})).unwrap())
    }

    fn watch(&self, _options: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
        let (events, stop) = (self.events.clone().into_iter(), stop.clone());
        let silence = std::iter::from_fn(move || {
            stop.wait();
            None
        });
        Ok(Watch::from_events(events.map(Ok).chain(silence)))
    }
}

/// What a handler was told, folded: names and versions, and what did not fit.
#[derive(Default)]
struct Told {
    copy: Mutex<BTreeMap<String, String>>,
    events: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Told {
    fn handler(self: &Arc<Self>) -> impl FnMut(Event) + Send + 'static {
        let told = self.clone();
        move |event: Event| {
            // Others may do something in the middle of a call.
            thread::yield_now();
            let name = event.key().name().to_owned();
            let mut copy = told.copy.lock().unwrap();
            let version = |object: &Object| object.resource_version().to_owned();
            let fits = match &event {
                Event::Added { .. } => !copy.contains_key(&name),
                Event::Updated { old, .. } => copy.get(&name) == Some(&version(old)),
                _ => copy.contains_key(&name),
            };
            if !fits {
                told.wrong.lock().unwrap().push(event.to_string());
            }
            match &event {
                Event::Deleted(_) => copy.remove(&name),
                event => copy.insert(name, version(event.object().unwrap())),
            };
            told.events.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn assert_right(&self) {
        let wrong = self.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn is(&self, expected: &[(&str, &str)]) -> bool {
        let copy = self.copy.lock().unwrap();
        copy.iter().map(|(name, version)| (&**name, &**version)).eq(expected.iter().copied())
    }
}

/// Lets others run until it holds.
fn until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

const END: [(&str, &str); 2] = [("b", "4"), ("c", "6")];

#[test]
fn handlers_that_join_at_any_moment_miss_nothing_and_hear_nothing_twice() {
    check(|| {
        let informer = Script::busy();
        let (early, late) = (Arc::new(Told::default()), Arc::new(Told::default()));
        informer.on_event(early.handler()).unwrap();
        informer.start().unwrap();
        let joining = {
            let (informer, late) = (informer.clone(), late.clone());
            thread::spawn(move || informer.on_event(late.handler()).unwrap())
        };
        let registration = joining.join().unwrap();
        informer.wait_for_sync(LIMIT).unwrap();
        assert!(registration.has_synced());
        until(|| early.is(&END) && late.is(&END));
        early.assert_right();
        late.assert_right();
        informer.stop();
        assert_eq!(informer.store().len(), 2);
    });
}

#[test]
fn a_handler_removed_while_events_are_told_is_not_called_again() {
    check(|| {
        let informer = Script::busy();
        let (kept, removed) = (Arc::new(Told::default()), Arc::new(Told::default()));
        informer.on_event(kept.handler()).unwrap();
        let gone = Arc::new(AtomicBool::new(false));
        let late = Arc::new(AtomicBool::new(false));
        let mut handler = removed.handler();
        let (is_gone, was_late) = (gone.clone(), late.clone());
        let registration = informer
            .on_event(move |event| {
                handler(event);
                was_late.fetch_or(is_gone.load(Ordering::SeqCst), Ordering::SeqCst);
            })
            .unwrap();
        informer.start().unwrap();
        let removing = thread::spawn(move || {
            registration.remove();
            gone.store(true, Ordering::SeqCst);
        });
        until(|| kept.is(&END));
        removing.join().unwrap();
        assert!(!late.load(Ordering::SeqCst), "called after it was removed");
        kept.assert_right();
        removed.assert_right();
        assert_eq!(informer.status().handlers.len(), 1);
        informer.stop();
    });
}

#[test]
fn a_handler_that_removes_itself_while_the_informer_stops_hangs_nobody() {
    check(|| {
        let informer = Script::busy();
        let own = Arc::new(Mutex::new(None::<kinformer::Registration>));
        let taken = own.clone();
        let registration = informer
            .on_event(move |_| {
                thread::yield_now();
                let registration = taken.lock().unwrap().take();
                if let Some(registration) = registration {
                    registration.remove();
                }
            })
            .unwrap();
        *own.lock().unwrap() = Some(registration);
        informer.start().unwrap();
        thread::yield_now();
        informer.stop();
        assert!(informer.is_stopped());
    });
}

#[test]
fn after_a_stop_no_handler_is_called_and_the_store_is_not_behind_what_was_told() {
    check(|| {
        let informer = Script::busy();
        let told = Arc::new(Told::default());
        informer.on_event(told.handler()).unwrap();
        informer.start().unwrap();
        let other = informer.clone();
        let stopping = thread::spawn(move || {
            other.stop();
            assert!(other.is_stopped(), "whoever stops it finds it stopped");
        });
        thread::yield_now();
        informer.stop();
        assert!(informer.is_stopped());
        let events = told.events.load(Ordering::SeqCst);
        told.assert_right();
        for (name, version) in told.copy.lock().unwrap().iter() {
            let stored = informer.store().get_by_key(&format!("n/{name}"));
            let newest = stored.map(|object| object.resource_version().to_owned());
            assert!(newest.is_none_or(|newest| newest >= *version), "{name} {version}");
        }
        stopping.join().unwrap();
        thread::yield_now();
        assert_eq!(told.events.load(Ordering::SeqCst), events, "called after the stop");
        assert!(informer.on_event(|_| ()).is_err());
    });
}

#[test]
fn handlers_may_stop_their_informer_all_at_once() {
    check(|| {
        let informer = Script::busy();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (stopper, done) = (informer.clone(), done.clone());
            informer
                .on_event(move |_| {
                    stopper.stop();
                    done.fetch_add(1, Ordering::SeqCst);
                })
                .unwrap();
        }
        informer.start().unwrap();
        until(|| informer.is_stopped());
        assert!(informer.on_event(|_| ()).is_err(), "nobody joins one that has stopped");
        informer.stop();
        assert!(done.load(Ordering::SeqCst) >= 1);
    });
}

#[test]
fn waiting_for_sync_ends_by_being_told_and_by_the_stop() {
    check(|| {
        let informer = Script::informer(Vec::new());
        let told = Arc::new(Told::default());
        informer.on_event(told.handler()).unwrap();
        let waiting = informer.clone();
        let waiter = thread::spawn(move || waiting.wait_for_sync(LIMIT).is_ok());
        informer.start().unwrap();
        let synced = informer.wait_for_sync(LIMIT).is_ok();
        assert!(synced && told.events.load(Ordering::SeqCst) == 2);
        assert!(waiter.join().unwrap(), "without a stop");
        informer.stop();
        assert!(informer.wait_for_sync(LIMIT).is_err(), "it has stopped");

        let never = Script::informer(Vec::new());
        let waiting = never.clone();
        let waiter = thread::spawn(move || waiting.wait_for_sync(LIMIT).is_err());
        never.stop();
        assert!(waiter.join().unwrap(), "it cannot sync any more");
    });
}

#[test]
fn a_start_and_a_stop_at_once_end_in_a_stop() {
    check(|| {
        let informer = Script::busy();
        let told = Arc::new(Told::default());
        informer.on_event(told.handler()).unwrap();
        let starting = informer.clone();
        let starter = thread::spawn(move || {
            let _ = starting.start();
        });
        informer.stop();
        assert!(informer.is_stopped());
        starter.join().unwrap();
        drop(informer);
        told.assert_right();
        assert_eq!(Arc::strong_count(&told), 1, "the handler is gone");
    });
}

#[test]
fn threads_that_decode_one_object_share_one_body() {
    check(|| {
        let object = object("a", 1);
        let readers: Vec<_> = (0..3)
            .map(|n| {
                let object = object.clone();
                thread::spawn(move || {
                    // Also where a body was there a moment ago.
                    let gone = (n == 0).then(|| object.get().unwrap());
                    assert!(gone.is_none_or(|body| body["metadata"]["name"] == "a"));
                    object.get().unwrap()
                })
            })
            .collect();
        let held: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        for body in &held {
            assert_eq!(body["metadata"]["name"], "a");
            assert!(Arc::ptr_eq(body, &held[0]), "each has a body of its own");
        }
    });
}
