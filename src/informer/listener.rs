//! One handler with its queue and its thread.

use std::{
    collections::VecDeque,
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    handler::{Event, EventHandler},
    role::Role,
    signal::Signal,
};
use crate::{
    cache::panic_text,
    object::DynamicObject,
    reflector::describe,
    sync::{
        Condvar, Mutex,
        thread::{self, JoinHandle, ThreadId},
    },
};

/// Room for more events than this is given back when a burst is over.
const KEPT_CAPACITY: usize = 1024;

/// A call that takes longer than this is worth a word when many events wait.
const SLOW: Duration = Duration::from_millis(100);

pub(super) type Handler = Box<dyn EventHandler<DynamicObject>>;

/// A handler that listens, or will.
pub(super) struct Listener {
    pub(super) id: u64,
    pub(super) name: String,
    state: Mutex<State>,
    /// An event was queued, or the listener was closed.
    event_or_close: Condvar,
    /// For whoever waits for it to have seen everything.
    signal: Arc<Signal>,
}

struct State {
    queue: VecDeque<Event>,
    closed: bool,
    /// Objects from the start that it has not been told of yet, or is being told of.
    initial_left: usize,
    /// Whether all objects from the start have been queued.
    all_queued: bool,
    thread: Thread,
    busy_since: Option<Instant>,
    panics: u64,
    resync: Resync,
}

enum Thread {
    /// The handler waits for the informer to start.
    Waiting(Handler),
    Running(JoinHandle<()>, ThreadId),
    /// The handler has been dropped; the thread has nothing left to do.
    Ending(JoinHandle<()>),
    Gone,
}

/// When a listener wants to be told again of everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resync {
    /// What it asked for; `None` is never.
    pub(super) wanted: Option<Duration>,
    /// What it gets: never more often than the informer looks.
    pub(super) period: Option<Duration>,
    /// `None` if that is beyond what a clock can tell.
    pub(super) next: Option<Instant>,
    /// Whether it takes part in the current round.
    pub(super) taking_part: bool,
}

impl Listener {
    pub(super) fn new(
        id: u64,
        name: String,
        handler: Handler,
        resync: Resync,
        signal: Arc<Signal>,
    ) -> Self {
        let state = State {
            queue: VecDeque::new(),
            closed: false,
            initial_left: 0,
            all_queued: false,
            thread: Thread::Waiting(handler),
            busy_since: None,
            panics: 0,
            resync,
        };
        Self { id, name, state: Mutex::new(state), event_or_close: Condvar::new(), signal }
    }

    /// Starts the thread that calls the handler.
    pub(super) fn start(self: &Arc<Self>, thread_name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        let handler = match mem::replace(&mut state.thread, Thread::Gone) {
            Thread::Waiting(handler) => handler,
            other => {
                state.thread = other;
                return Ok(());
            }
        };
        if state.closed {
            return Ok(());
        }
        let listener = self.clone();
        let thread = thread::spawn(thread_name, move || listener.run(handler))?;
        let id = thread.thread().id();
        state.thread = Thread::Running(thread, id);
        Ok(())
    }

    fn run(&self, mut handler: Handler) {
        let _acting = Role::Handler.begin();
        while let Some((event, backlog)) = self.next() {
            let initial = matches!(event, Event::Added { initial: true, .. });
            let started = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| handler.on_event(event)));
            let panicked = result.is_err();
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => log::warn!("handler {}: {}", self.name, describe(&error)),
                Err(panic) => {
                    log::error!("handler {} panicked: {}", self.name, panic_text(&*panic));
                }
            }
            if backlog > KEPT_CAPACITY && started.elapsed() > SLOW {
                let took = started.elapsed();
                log::debug!("handler {} took {took:?} with {backlog} events waiting", self.name);
            }
            self.told(initial, panicked);
        }
        // What the handler holds goes before anybody is told that it is gone.
        drop(handler);
        self.state.lock().end_thread();
        self.signal.changed();
    }

    /// The next event and how many more wait; `None` when closed. What waits then is not delivered.
    fn next(&self) -> Option<(Event, usize)> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(event) = state.queue.pop_front() {
                if state.queue.is_empty() && state.queue.capacity() > KEPT_CAPACITY {
                    state.queue.shrink_to(KEPT_CAPACITY);
                }
                state.busy_since = Some(Instant::now());
                return Some((event, state.queue.len()));
            }
            self.event_or_close.wait(&mut state);
        }
    }

    fn told(&self, initial: bool, panicked: bool) {
        let mut state = self.state.lock();
        state.busy_since = None;
        state.panics += u64::from(panicked);
        if initial {
            // Also after a panic: it was told, and will not be told again.
            state.initial_left -= 1;
        }
        let synced = initial && state.has_synced();
        drop(state);
        if synced {
            self.signal.changed();
        }
    }

    /// Queues an event; a resync only for those who take part.
    pub(super) fn tell(&self, event: &Event, is_resync: bool) {
        let mut state = self.state.lock();
        if state.closed || (is_resync && !state.resync.taking_part) {
            return;
        }
        state.initial_left += usize::from(matches!(event, Event::Added { initial: true, .. }));
        state.queue.push_back(event.clone());
        drop(state);
        self.event_or_close.notify_one();
    }

    /// All objects from the start have been queued.
    pub(super) fn all_queued(&self) {
        self.state.lock().all_queued = true;
    }

    pub(super) fn has_synced(&self) -> bool {
        self.state.lock().has_synced()
    }

    /// How many events wait.
    pub(super) fn pending(&self) -> usize {
        self.state.lock().queue.len()
    }

    pub(super) fn panics(&self) -> u64 {
        self.state.lock().panics
    }

    pub(super) fn busy_since(&self) -> Option<Instant> {
        self.state.lock().busy_since
    }

    /// Lets it end after the call that is under way; what waits is dropped.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let dropped = mem::take(&mut state.queue);
        let handler = match &state.thread {
            Thread::Waiting(_) => Some(mem::replace(&mut state.thread, Thread::Gone)),
            _ => None,
        };
        drop(state);
        self.event_or_close.notify_all();
        drop((dropped, handler));
    }

    /// Waits until its thread has ended, unless called on that very thread.
    ///
    /// # Errors
    ///
    /// If it has not by `deadline`.
    pub(super) fn join(&self, deadline: Option<Instant>) -> Result<(), ()> {
        let current = thread::current().id();
        let is_over = || match &self.state.lock().thread {
            Thread::Running(_, id) => *id == current,
            Thread::Waiting(_) | Thread::Ending(_) | Thread::Gone => true,
        };
        if !self.signal.wait_until(deadline, is_over) {
            return Err(());
        }
        let ending = self.state.lock().take_ending();
        if let Some(thread) = ending {
            // Panics of the handler were caught where they happened.
            let _ = thread.join();
        }
        Ok(())
    }

    /// Whether its thread has ended, and has been joined.
    pub(super) fn has_left(&self) -> bool {
        let mut state = self.state.lock();
        if let Some(thread) = state.take_ending() {
            drop(state);
            let _ = thread.join();
            return true;
        }
        matches!(state.thread, Thread::Gone)
    }

    pub(super) fn resync<R>(&self, with: impl FnOnce(&mut Resync) -> R) -> R {
        with(&mut self.state.lock().resync)
    }
}

impl State {
    fn has_synced(&self) -> bool {
        self.all_queued && self.initial_left == 0
    }

    fn end_thread(&mut self) {
        self.thread = match mem::replace(&mut self.thread, Thread::Gone) {
            Thread::Running(thread, _) => Thread::Ending(thread),
            other => other,
        };
    }

    fn take_ending(&mut self) -> Option<JoinHandle<()>> {
        match mem::replace(&mut self.thread, Thread::Gone) {
            Thread::Ending(thread) => Some(thread),
            other => {
                self.thread = other;
                None
            }
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ApiResource, Object};

    fn listener() -> Listener {
        let resync = Resync { wanted: None, period: None, next: None, taking_part: true };
        Listener::new(0, "test".into(), Box::new(|_: Event| ()), resync, Arc::default())
    }

    fn event(initial: bool) -> Event {
        let resource = ApiResource::namespaced("v1", "ConfigMap", "configmaps");
        let object = Object::from_json(&resource, br#"{"metadata": {"name": "a"}}"#).unwrap();
        Event::Added { object, initial }
    }

    /// Takes the next event and returns from the handler.
    fn call(listener: &Listener) {
        let (event, _) = listener.next().unwrap();
        listener.told(matches!(event, Event::Added { initial: true, .. }), false);
    }

    #[test]
    fn the_queue_grows_with_a_burst_and_gives_the_room_back_after_it() {
        let listener = listener();
        let event = event(false);
        for _ in 0..100_000 {
            listener.tell(&event, false);
        }
        assert_eq!(listener.pending(), 100_000);
        assert!(listener.state.lock().queue.capacity() >= 100_000);
        for _ in 0..100_000 {
            call(&listener);
        }
        assert!(listener.state.lock().queue.capacity() <= 2 * KEPT_CAPACITY);
        assert_eq!(listener.pending(), 0);
    }

    #[test]
    fn it_has_synced_when_all_is_queued_and_every_initial_call_has_returned() {
        for queued_first in [true, false] {
            let listener = listener();
            for _ in 0..100 {
                listener.tell(&event(true), false);
            }
            listener.tell(&event(false), false);
            if queued_first {
                listener.all_queued();
            }
            for left in (1..=100).rev() {
                assert!(!listener.has_synced(), "{left} to go");
                call(&listener);
            }
            assert_eq!(listener.has_synced(), queued_first);
            listener.all_queued();
            assert!(listener.has_synced(), "what came later does not count");
            call(&listener);
            assert!(listener.has_synced(), "for good");
        }
        let empty = listener();
        assert!(!empty.has_synced());
        empty.all_queued();
        assert!(empty.has_synced(), "there was nothing to be told of");
    }

    #[test]
    fn a_closed_listener_drops_what_waits_and_takes_nothing_more() {
        let listener = listener();
        listener.tell(&event(false), false);
        listener.close();
        listener.tell(&event(false), false);
        assert!(listener.pending() == 0 && listener.next().is_none());
        assert!(listener.join(None).is_ok(), "it never ran");
    }

    #[test]
    fn resyncs_are_for_those_who_take_part() {
        let listener = listener();
        listener.tell(&event(false), true);
        listener.resync(|resync| resync.taking_part = false);
        listener.tell(&event(false), true);
        listener.tell(&event(false), false);
        assert_eq!(listener.pending(), 2);
    }
}
