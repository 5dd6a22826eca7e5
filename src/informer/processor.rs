//! Applying changes to the store and telling every listener, as one step.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    attention::{Attention, Recent},
    dropping::dropping,
    handler::Event,
    listener::{Handler, Listener, Resync},
    signal::Signal,
};
use crate::{
    cache::{Deleted, Delta, Outdated, Popped, ThreadSafeStore},
    error::{Error, Result},
    object::Object,
    sync::Mutex,
};

/// Nobody is told again of everything more often than this.
const LEAST_RESYNC: Duration = Duration::from_secs(1);

/// The listeners of an informer, and the store they are told about.
pub(super) struct Processor {
    /// For thread names.
    resource: String,
    store: Arc<ThreadSafeStore<Object>>,
    /// Held while the store and the listeners' queues change together, so that a listener that joins
    /// sees every object once. No user code runs under it.
    state: Mutex<State>,
    signal: Arc<Signal>,
    /// Each listener has it.
    recent: Arc<Recent>,
    /// How many keys have been applied.
    applied: AtomicU64,
}

struct State {
    listeners: Vec<Arc<Listener>>,
    /// Removed, with a thread that may not have been joined.
    leaving: Vec<Arc<Listener>>,
    next_id: u64,
    stage: Stage,
    /// All objects from the start are in the store and queued.
    synced: bool,
    default_resync: Option<Duration>,
    /// How often listeners are asked whether they want to be told again.
    check_period: Option<Duration>,
}

/// What was told: to be dropped without the lock, since bodies that go with it are the user's.
type Told = (Event, Option<Arc<Attention>>);

#[derive(Clone, Copy, Eq, PartialEq)]
enum Stage {
    NotStarted,
    Started,
    Stopped,
}

impl Processor {
    pub(super) fn new(
        resource: String,
        store: Arc<ThreadSafeStore<Object>>,
        resync: Option<Duration>,
        signal: Arc<Signal>,
    ) -> Self {
        let state = State {
            listeners: Vec::new(),
            leaving: Vec::new(),
            next_id: 0,
            stage: Stage::NotStarted,
            synced: false,
            default_resync: resync,
            check_period: resync,
        };
        let (recent, applied) = (Arc::default(), AtomicU64::new(0));
        Self { resource, store, state: Mutex::new(state), signal, recent, applied }
    }

    /// Adds a listener. One that joins late is told of every object in the store first.
    pub(super) fn add(
        &self,
        handler: Handler,
        resync: Option<Option<Duration>>,
        now: Instant,
    ) -> Result<Arc<Listener>> {
        let name = handler.name().into_owned();
        let mut state = self.state.lock();
        if state.stage == Stage::Stopped {
            let text =
                format!("{name} cannot be added: the informer of {} has stopped", self.resource);
            return Err(Error::invalid("handler", text));
        }
        let resync = state.plan_resync(resync, now);
        let id = state.next_id;
        state.next_id += 1;
        let listener = Arc::new(Listener::new(
            id,
            name,
            self.resource.clone(),
            handler,
            resync,
            self.signal.clone(),
            self.recent.clone(),
        ));
        if state.stage == Stage::Started {
            for object in self.store.list() {
                listener.tell(&Event::Added { object, initial: true }, false, now);
            }
            if let Some(other) = state.listeners.first() {
                listener.count_like(other);
            }
            if state.synced {
                listener.all_queued();
            }
            if let Err(error) = listener.start(&self.thread_name(id)) {
                drop(state);
                // Which drops the handler, now that nothing is locked.
                listener.close();
                return Err(no_thread(&error));
            }
        }
        state.listeners.push(listener.clone());
        drop(state);
        self.signal.changed();
        Ok(listener)
    }

    /// Removes a listener: it is told of nothing more after the call that is under way.
    pub(super) fn remove(&self, id: u64) {
        let mut state = self.state.lock();
        state.take_out(id);
        // Also one that was leaving by itself.
        let removed = state.leaving.iter().find(|listener| listener.id == id).cloned();
        drop(state);
        if let Some(listener) = removed {
            listener.close();
            self.signal.changed();
        }
    }

    /// Removes a listener whose objects are all gone: it is told so, after what waits for it, and ends.
    pub(super) fn retire(&self, id: u64, now: Instant) {
        let mut state = self.state.lock();
        let unstarted = state.stage == Stage::NotStarted;
        let retired = state.take_out(id);
        let mut told = Vec::new();
        if let Some(listener) = retired.as_ref().filter(|_| !unstarted) {
            for object in self.store.list() {
                let (key, last) = (object.key().clone(), Some(object));
                let deleted = Event::Deleted(Deleted::FinalStateUnknown { key, last });
                listener.tell(&deleted, false, now);
                told.push(deleted);
            }
            listener.retire();
        }
        drop(state);
        // One that was closed meanwhile has kept nothing, and the last reference may be here.
        dropping("an event", || drop(told));
        if let Some(listener) = retired.filter(|_| unstarted) {
            // It has been told of nothing, and has no thread to end.
            listener.close();
        }
        self.signal.changed();
    }

    /// Starts the threads of those that are waiting.
    pub(super) fn start(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.stage == Stage::NotStarted {
            state.stage = Stage::Started;
        }
        for listener in &state.listeners {
            listener.start(&self.thread_name(listener.id))?;
        }
        Ok(())
    }

    /// Ends all listeners, each after the call that is under way; gives them back to be waited for.
    pub(super) fn stop(&self) -> Vec<Arc<Listener>> {
        let mut state = self.state.lock();
        state.stage = Stage::Stopped;
        let mut listeners = state.listeners.clone();
        listeners.extend(state.leaving.iter().cloned());
        drop(state);
        for listener in &listeners {
            listener.close();
        }
        self.signal.changed();
        listeners
    }

    /// Applies what was popped to the store, and queues it for the listeners: see [`wake`](Self::wake).
    pub(super) fn apply(&self, popped: Popped<Object>) {
        let Popped { key, deltas, initial, .. } = popped;
        for delta in deltas {
            match delta {
                Delta::Added(object)
                | Delta::Updated(object)
                | Delta::Replaced(object)
                | Delta::Sync(object) => {
                    // Index functions are the user's: they run before the lock is taken.
                    let mut prepared = self.store.prepare(key.clone(), object.clone());
                    loop {
                        let state = self.state.lock();
                        match self.store.commit(prepared) {
                            Ok(old) => {
                                let told = state.changed(old, object, initial);
                                drop(state);
                                dropping("an event", || drop(told));
                                break;
                            }
                            Err(Outdated(key, object)) => {
                                drop(state);
                                prepared = self.store.prepare(key, object);
                            }
                        }
                    }
                }
                Delta::Deleted(deleted) => {
                    let state = self.state.lock();
                    let old = match &deleted {
                        Deleted::Known(last) => self.store.remove_with(key.as_str(), last),
                        Deleted::FinalStateUnknown { .. } => self.store.remove(key.as_str()),
                    };
                    let told = state.tell(Event::Deleted(deleted), false);
                    drop(state);
                    dropping("an event", || drop(told));
                    dropping("an object", || drop(old));
                }
            }
        }
        self.applied.fetch_add(1, Ordering::Release);
    }

    /// Lets the listeners see what has been applied.
    pub(super) fn wake(&self) {
        for listener in &self.state.lock().listeners {
            listener.wake();
        }
    }

    /// All objects from the start have been applied.
    pub(super) fn set_synced(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.synced, true) {
            return;
        }
        for listener in &state.listeners {
            listener.all_queued();
        }
        drop(state);
        self.signal.changed();
    }

    /// The objects from the start are in the store no more.
    pub(super) fn set_unsynced(&self) {
        self.state.lock().synced = false;
    }

    pub(super) fn is_synced(&self) -> bool {
        self.state.lock().synced
    }

    pub(super) fn listeners(&self) -> Vec<Arc<Listener>> {
        self.state.lock().listeners.clone()
    }

    pub(super) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(super) fn check_period(&self) -> Option<Duration> {
        self.state.lock().check_period
    }

    /// Asks every listener whether it wants to be told again now; says whether any does.
    pub(super) fn should_resync(&self, now: Instant) -> bool {
        let state = self.state.lock();
        // All are asked, because each remembers whether it takes part.
        state
            .listeners
            .iter()
            .fold(false, |any, listener| any | listener.resync(|resync| resync.is_due(now)))
    }

    fn thread_name(&self, id: u64) -> String {
        format!("h:{}/{id}", self.resource)
    }
}

impl State {
    /// Lets one leave; those that have left are forgotten.
    fn take_out(&mut self, id: u64) -> Option<Arc<Listener>> {
        self.leaving.retain(|listener| !listener.has_left());
        let at = self.listeners.iter().position(|listener| listener.id == id)?;
        let listener = self.listeners.remove(at);
        self.leaving.push(listener.clone());
        Some(listener)
    }

    fn changed(&self, old: Option<Object>, new: Object, initial: bool) -> Told {
        match old {
            None => self.tell(Event::Added { object: new, initial }, false),
            Some(old) => {
                let is_resync = old.resource_version() == new.resource_version();
                self.tell(Event::Updated { old, new }, is_resync)
            }
        }
    }

    fn tell(&self, event: Event, is_resync: bool) -> Told {
        let now = Instant::now();
        let attention = (self.listeners.len() > 1).then(|| Arc::new(Attention::new(&event)));
        for listener in &self.listeners {
            listener.tell_with(&event, attention.as_ref(), is_resync, now);
        }
        (event, attention)
    }

    /// What a new listener gets; `None` asks for what the informer gives, `Some(None)` for nothing.
    fn plan_resync(&mut self, asked: Option<Option<Duration>>, now: Instant) -> Resync {
        let mut wanted = asked.unwrap_or(self.default_resync).filter(|period| !period.is_zero());
        // What the informer itself was given is not raised, as in client-go.
        if asked.is_some() {
            wanted = wanted.map(|period| period.max(LEAST_RESYNC));
        }
        let finer = match (wanted, self.check_period) {
            (Some(wanted), Some(check)) => wanted < check,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if finer && self.stage == Stage::NotStarted {
            self.check_period = wanted;
            for listener in &self.listeners {
                listener.resync(|resync| resync.period = effective(resync.wanted, wanted));
            }
        }
        let period = effective(wanted, self.check_period);
        Resync {
            wanted,
            period,
            next: period.and_then(|period| now.checked_add(period)),
            taking_part: true,
        }
    }
}

impl Resync {
    fn is_due(&mut self, now: Instant) -> bool {
        self.taking_part = match self.period {
            Some(period) if self.next.is_some_and(|next| now >= next) => {
                self.next = now.checked_add(period);
                true
            }
            _ => false,
        };
        self.taking_part
    }
}

/// Nobody is told more often than the informer asks.
fn effective(wanted: Option<Duration>, check: Option<Duration>) -> Option<Duration> {
    Some(wanted?.max(check?))
}

fn no_thread(error: &io::Error) -> Error {
    Error::invalid("handler", format!("no thread can be started for it: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_due_at_checks_that_are_at_least_its_period_apart() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let three = Some(Duration::from_secs(3));
        let mut resync =
            Resync { wanted: three, period: three, next: Some(at(3)), taking_part: true };
        let due: Vec<_> = (1..=9).filter(|&second| resync.is_due(at(second))).collect();
        assert_eq!(due, [3, 6, 9]);
        let mut never = Resync { wanted: None, period: None, next: Some(at(0)), taking_part: true };
        assert!(!never.is_due(at(9)) && !never.taking_part);
    }

    /// Periods of 0, 2 and 3 seconds, looked at every second, whenever the threads start.
    #[test]
    fn each_listener_is_told_again_in_its_own_period() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let store = Arc::new(ThreadSafeStore::new(crate::cache::Indexers::new()));
        let one = Some(Duration::from_secs(1));
        let processor = Processor::new("pods".into(), store, one, Arc::default());
        let listeners = [0, 2, 3].map(|seconds| {
            let period = Some(Duration::from_secs(seconds)).filter(|period| !period.is_zero());
            let handler: Handler = Box::new(|_: Event| ());
            processor.add(handler, Some(period), start).unwrap()
        });
        let resource = crate::ApiResource::namespaced("v1", "Pod", "pods");
        let json = br#"{"metadata": {"name": "a", "resourceVersion": "1"}}"#;
        let pod = Object::from_json(&resource, json).unwrap();
        let fifo = crate::cache::DeltaFifo::new(|pod: &Object| pod.key().clone());
        let apply = || {
            fifo.add(pod.clone()).unwrap();
            processor.apply(fifo.try_pop().unwrap());
            listeners.each_ref().map(|listener| listener.pending())
        };
        assert_eq!(apply(), [1, 1, 1], "everybody is told of what is new");
        let mut told = [1, 1, 1];
        for (second, expected) in
            (1..=6).zip([[0; 3], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0; 3], [0, 1, 1]])
        {
            let any = processor.should_resync(at(second));
            assert_eq!(any, expected != [0; 3], "second {second}");
            if any {
                let now = apply();
                let more = std::array::from_fn(|n| now[n] - told[n]);
                assert_eq!(more, expected, "second {second}");
                told = now;
            }
        }
        processor.stop();
    }

    #[test]
    fn finer_listeners_make_the_informer_look_more_often_until_it_has_started() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        let store = Arc::new(ThreadSafeStore::new(crate::cache::Indexers::new()));
        let processor = Processor::new("pods".into(), store, Some(seconds(43_200)), Arc::default());
        let add = |period| {
            let handler: Handler = Box::new(|_: Event| ());
            processor.add(handler, period, now).unwrap()
        };
        let period = |listener: &Listener| listener.resync(|resync| resync.period);
        let (never, minute) = (add(Some(None)), add(Some(Some(seconds(60)))));
        assert_eq!(processor.check_period(), Some(seconds(60)));
        let default = add(None);
        assert_eq!(period(&default), Some(seconds(43_200)));
        let five = add(Some(Some(seconds(5))));
        assert_eq!(processor.check_period(), Some(seconds(5)));
        assert_eq!((period(&never), period(&minute)), (None, Some(seconds(60))));
        assert_eq!(period(&five), Some(seconds(5)));
        let tiny = add(Some(Some(Duration::from_millis(1))));
        assert_eq!(period(&tiny), Some(LEAST_RESYNC));
        processor.start().unwrap();
        let late = add(Some(Some(Duration::from_millis(1))));
        assert_eq!(period(&late), Some(LEAST_RESYNC));
        assert_eq!(processor.check_period(), Some(LEAST_RESYNC));
        for listener in processor.stop() {
            listener.join(None).unwrap();
        }
    }
}
