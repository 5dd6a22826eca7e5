//! One handler with its queue and its thread.

use std::{
    collections::VecDeque,
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    attention::{Attention, Recent},
    dropping::dropping,
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
const KEPT_CAPACITY: usize = 256;

/// With fewer events than this waiting, a handler keeps up with the others, and what they decode is kept for it. More
/// would be much to keep for one that is late.
const KEEPING_UP: usize = 32;

/// A call that takes longer than this is worth a word when many events wait.
const SLOW: Duration = Duration::from_millis(100);

pub(super) type Handler = Box<dyn EventHandler<DynamicObject>>;

/// A handler that listens, or will.
pub(super) struct Listener {
    pub(super) id: u64,
    pub(super) name: String,
    /// What it is told about, for the log.
    resource: String,
    state: Mutex<State>,
    /// An event was queued, or all from the start were, or the listener was closed.
    event_or_close: Condvar,
    /// For whoever waits for it to have seen everything.
    signal: Arc<Signal>,
    /// What all handlers of the informer that are late have in common.
    recent: Arc<Recent>,
}

struct State {
    queue: VecDeque<Queued>,
    /// How many events there have been: as many as for other listeners, also if it was not told of a resync.
    counted: u64,
    /// Whether it counts as late: others may find what it decodes.
    is_late: bool,
    closed: bool,
    /// It ends by itself once it has been told of what is queued.
    retired: bool,
    /// Objects from the start that it has not been told of yet, or is being told of.
    initial_left: usize,
    /// Whether all objects from the start have been queued.
    all_queued: bool,
    /// Whether the handler knows that it has been told of all of them.
    knows_synced: bool,
    thread: Thread,
    busy_since: Option<Instant>,
    panics: u64,
    errors: u64,
    last_error: Option<String>,
    resync: Resync,
}

/// What came of a call.
enum Outcome {
    Fine,
    Error(String),
    Panic,
}

/// What the handler is to be told next.
enum Next {
    Event(Event, Audience),
    /// That it has been told of all objects from the start.
    Synced,
}

/// Who else is told of an event while a handler is.
enum Audience {
    Together(Arc<Attention>),
    /// It is the only one, or late; and how far it has come.
    Alone(u64),
}

impl Next {
    fn is_initial(&self) -> bool {
        matches!(self, Self::Event(Event::Added { initial: true, .. }, _))
    }
}

/// An event that waits, and since when.
struct Queued {
    event: Event,
    attention: Option<Arc<Attention>>,
    since: Instant,
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
        resource: String,
        handler: Handler,
        resync: Resync,
        signal: Arc<Signal>,
        recent: Arc<Recent>,
    ) -> Self {
        let state = State {
            queue: VecDeque::new(),
            counted: 0,
            is_late: false,
            closed: false,
            retired: false,
            initial_left: 0,
            all_queued: false,
            knows_synced: false,
            thread: Thread::Waiting(handler),
            busy_since: None,
            panics: 0,
            errors: 0,
            last_error: None,
            resync,
        };
        let event_or_close = Condvar::new();
        Self { id, name, resource, state: Mutex::new(state), event_or_close, signal, recent }
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
        // Not the closure's until it runs: one that cannot be started is dropped here, under the lock.
        let handler = Arc::new(Mutex::new(Some(handler)));
        let taken = handler.clone();
        let started = thread::spawn(thread_name, move || {
            let handler = taken.lock().take();
            if let Some(handler) = handler {
                listener.run(handler);
            }
        });
        match started {
            Ok(thread) => {
                let id = thread.thread().id();
                state.thread = Thread::Running(thread, id);
                Ok(())
            }
            Err(error) => {
                if let Some(handler) = handler.lock().take() {
                    state.thread = Thread::Waiting(handler);
                }
                Err(error)
            }
        }
    }

    fn run(&self, mut handler: Handler) {
        let _acting = Role::Handler.begin();
        while let Some((next, backlog)) = self.next() {
            let initial = next.is_initial();
            let mut gives_way = false;
            let started = (backlog > KEPT_CAPACITY).then(Instant::now);
            let call = || match next {
                // What is in an error is the user's, too.
                Next::Event(event, Audience::Together(_attention)) => {
                    handler.on_event(event).map_err(|error| describe(&error))
                }
                Next::Event(event, Audience::Alone(place)) => {
                    let attention = Attention::new(&event);
                    let result = handler.on_event(event).map_err(|error| describe(&error));
                    gives_way = self.recent.keep(attention, place);
                    result
                }
                Next::Synced => {
                    handler.on_synced();
                    Ok(())
                }
            };
            let outcome = match catch_unwind(AssertUnwindSafe(call)) {
                Ok(Ok(())) => Outcome::Fine,
                Ok(Err(error)) => {
                    log::warn!("handler {} of {}: {error}", self.name, self.resource);
                    Outcome::Error(error)
                }
                Err(panic) => {
                    let text = panic_text(panic);
                    log::error!("handler {} of {} panicked: {text}", self.name, self.resource);
                    Outcome::Panic
                }
            };
            if let Some(took) = started.map(|started| started.elapsed())
                && took > SLOW
            {
                log::debug!("handler {} took {took:?} with {backlog} events waiting", self.name);
            }
            self.told(initial, outcome);
            if gives_way {
                thread::yield_now();
            }
        }
        // What the handler holds goes before anybody is told that it is gone.
        self.drop_handler(handler);
        self.state.lock().end_thread();
        self.signal.changed();
    }

    fn drop_handler<T>(&self, handler: T) {
        let what = format_args!("handler {} of {}", self.name, self.resource);
        dropping(what, || drop(handler));
    }

    /// What comes next and how many events wait; `None` when closed. What waits then is not delivered.
    fn next(&self) -> Option<(Next, usize)> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if !state.knows_synced && state.has_synced() {
                state.knows_synced = true;
                state.busy_since = Some(Instant::now());
                return Some((Next::Synced, state.queue.len()));
            }
            if let Some(Queued { event, attention, .. }) = state.queue.pop_front() {
                if state.queue.is_empty() && state.queue.capacity() > KEPT_CAPACITY {
                    state.queue.shrink_to(KEPT_CAPACITY);
                }
                state.busy_since = Some(Instant::now());
                let alone = || Audience::Alone(state.place());
                let audience = attention.map_or_else(alone, Audience::Together);
                return Some((Next::Event(event, audience), state.queue.len()));
            }
            if state.retired {
                return None;
            }
            self.event_or_close.wait(&mut state);
        }
    }

    fn told(&self, initial: bool, outcome: Outcome) {
        let mut state = self.state.lock();
        state.busy_since = None;
        match outcome {
            Outcome::Fine => {}
            Outcome::Error(error) => {
                state.errors += 1;
                state.last_error = Some(error);
            }
            Outcome::Panic => state.panics += 1,
        }
        if initial {
            // Also after a panic: it was told, and will not be told again.
            state.initial_left -= 1;
        }
        let synced = initial && state.has_synced();
        let caught_up = state.has_caught_up() && mem::take(&mut state.is_late);
        drop(state);
        if caught_up {
            self.recent.leave();
        }
        if synced {
            self.signal.changed();
        }
    }

    /// Queues an event; a resync only for those who take part. [`wake`](Self::wake) must follow.
    pub(super) fn tell(&self, event: &Event, is_resync: bool, now: Instant) {
        self.tell_with(event, None, is_resync, now);
    }

    /// The same for an event that others are told of, too.
    pub(super) fn tell_with(
        &self,
        event: &Event,
        attention: Option<&Arc<Attention>>,
        is_resync: bool,
        now: Instant,
    ) {
        let mut state = self.state.lock();
        state.counted += 1;
        if state.closed || (is_resync && !state.resync.taking_part) {
            return;
        }
        state.initial_left += usize::from(matches!(event, Event::Added { initial: true, .. }));
        let keeps_up = state.queue.len() < KEEPING_UP;
        if !keeps_up && !mem::replace(&mut state.is_late, true) {
            self.recent.join();
        }
        let attention = attention.filter(|_| keeps_up).cloned();
        state.queue.push_back(Queued { event: event.clone(), attention, since: now });
    }

    /// It has joined late, and counts like this one from now on.
    pub(super) fn count_like(&self, other: &Self) {
        let counted = other.state.lock().counted;
        self.state.lock().counted = counted;
    }

    /// Lets it see what was queued. Costs next to nothing if it is busy.
    pub(super) fn wake(&self) {
        self.event_or_close.notify_one();
    }

    /// All objects from the start have been queued.
    pub(super) fn all_queued(&self) {
        self.state.lock().all_queued = true;
        self.event_or_close.notify_one();
    }

    pub(super) fn has_synced(&self) -> bool {
        self.state.lock().has_synced()
    }

    /// How many events wait.
    pub(super) fn pending(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// Since when the oldest of them waits.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.state.lock().queue.front().map(|oldest| oldest.since)
    }

    pub(super) fn panics(&self) -> u64 {
        self.state.lock().panics
    }

    /// How many of its calls ended in an error, and the last of them.
    pub(super) fn errors(&self) -> (u64, Option<String>) {
        let state = self.state.lock();
        (state.errors, state.last_error.clone())
    }

    pub(super) fn busy_since(&self) -> Option<Instant> {
        self.state.lock().busy_since
    }

    /// Lets it end after everything that waits.
    pub(super) fn retire(&self) {
        self.state.lock().retired = true;
        self.event_or_close.notify_all();
    }

    /// Lets it end after the call that is under way; what waits is dropped.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let dropped = mem::take(&mut state.queue);
        let was_late = mem::take(&mut state.is_late);
        let handler = match &state.thread {
            Thread::Waiting(_) => Some(mem::replace(&mut state.thread, Thread::Gone)),
            _ => None,
        };
        drop(state);
        self.event_or_close.notify_all();
        for event in dropped {
            dropping("an event", || drop(event));
        }
        if was_late {
            // Also if it does not return from the call that is under way.
            self.recent.leave();
        }
        self.drop_handler(handler);
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
    /// How far it has come, to be compared with others: nearly, since resyncs may be missing in the queue, and what was
    /// there before it joined does not count.
    fn place(&self) -> u64 {
        self.counted.saturating_sub(self.queue.len() as u64)
    }

    /// Whether everything has been told that was queued when much was.
    fn has_caught_up(&self) -> bool {
        self.queue.front().is_none_or(|next| next.attention.is_some())
            && self.queue.len() < KEEPING_UP
    }

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
        Listener::new(
            0,
            "test".into(),
            "pods".into(),
            Box::new(|_: Event| ()),
            resync,
            Arc::default(),
            Arc::default(),
        )
    }

    fn event(initial: bool) -> Event {
        let resource = ApiResource::namespaced("v1", "ConfigMap", "configmaps");
        let object = Object::from_json(&resource, br#"{"metadata": {"name": "a"}}"#).unwrap();
        Event::Added { object, initial }
    }

    /// Takes the next event and returns from the handler.
    fn call(listener: &Listener) {
        let (next, _) = listener.next().unwrap();
        listener.told(next.is_initial(), Outcome::Fine);
    }

    #[test]
    fn the_queue_grows_with_a_burst_and_gives_the_room_back_after_it() {
        let listener = listener();
        let event = event(false);
        for _ in 0..100_000 {
            listener.tell(&event, false, Instant::now());
        }
        assert_eq!(listener.pending(), 100_000);
        assert!(listener.state.lock().queue.capacity() >= 100_000);
        for _ in 0..100_000 {
            call(&listener);
        }
        assert!(listener.state.lock().queue.capacity() <= 2 * KEPT_CAPACITY);
        assert_eq!(listener.pending(), 0);
    }

    /// As docs/memory.md says.
    #[test]
    fn an_event_that_waits_takes_56_bytes() {
        assert_eq!(mem::size_of::<Queued>(), 56);
    }

    #[test]
    fn the_oldest_event_is_the_one_that_is_told_next() {
        let listener = listener();
        assert_eq!(listener.waiting_since(), None);
        let start = Instant::now();
        let at = [1, 2].map(|second| start + Duration::from_secs(second));
        for now in at {
            listener.tell(&event(false), false, now);
        }
        assert_eq!(listener.waiting_since(), Some(at[0]));
        call(&listener);
        assert_eq!(listener.waiting_since(), Some(at[1]));
        call(&listener);
        assert_eq!(listener.waiting_since(), None);
    }

    #[test]
    fn it_has_synced_when_all_is_queued_and_every_initial_call_has_returned() {
        for queued_first in [true, false] {
            let listener = listener();
            for _ in 0..100 {
                listener.tell(&event(true), false, Instant::now());
            }
            listener.tell(&event(false), false, Instant::now());
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
            assert!(matches!(listener.next(), Some((Next::Synced, 1))), "which it is told first");
            listener.told(false, Outcome::Fine);
            call(&listener);
            assert!(listener.has_synced(), "for good");
        }
        let empty = listener();
        assert!(!empty.has_synced());
        empty.all_queued();
        assert!(empty.has_synced(), "there was nothing to be told of");
        assert!(matches!(empty.next(), Some((Next::Synced, 0))), "which is worth knowing, too");
    }

    #[test]
    fn a_closed_listener_drops_what_waits_and_takes_nothing_more() {
        let listener = listener();
        listener.tell(&event(false), false, Instant::now());
        listener.close();
        listener.tell(&event(false), false, Instant::now());
        assert!(listener.pending() == 0 && listener.next().is_none());
        assert!(listener.join(None).is_ok(), "it never ran");
    }

    #[test]
    fn resyncs_are_for_those_who_take_part() {
        let listener = listener();
        listener.tell(&event(false), true, Instant::now());
        listener.resync(|resync| resync.taking_part = false);
        listener.tell(&event(false), true, Instant::now());
        listener.tell(&event(false), false, Instant::now());
        assert_eq!(listener.pending(), 2);
    }

    #[test]
    fn a_handler_that_panics_when_dropped_ends_like_any_other() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let bomb = Bomb;
        let handler: Handler = Box::new(move |_: Event| {
            let _held = &bomb;
        });
        let resync = Resync { wanted: None, period: None, next: None, taking_part: true };
        let listener = Arc::new(Listener::new(
            0,
            "bomb".into(),
            "pods".into(),
            handler,
            resync,
            Arc::default(),
            Arc::default(),
        ));
        listener.start("test").unwrap();
        listener.close();
        assert!(listener.join(Instant::now().checked_add(Duration::from_secs(60))).is_ok());
    }
}
