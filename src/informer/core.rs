//! What an informer is made of, without the handles.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    processor::Processor,
    signal::Signal,
    status::{HandlerStatus, InformerState, InformerStatus},
};
use crate::{
    cache::{DeltaFifo, Indexer, Pop, ThreadSafeStore, panic_text},
    error::{Error, Result},
    object::{ApiResource, DynamicObject, Object},
    reflector::{Progress, Reflector},
    stop::{Interrupt, StopToken},
    sync::Mutex,
    thread,
};

/// The parts of an informer, shared by its threads and its handles.
pub(super) struct Core {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) indexer: Indexer<Object>,
    pub(super) processor: Processor,
    reflector: Reflector<DynamicObject>,
    progress: Arc<Progress>,
    pub(super) signal: Arc<Signal>,
    pub(super) stop: StopToken,
    state: Mutex<InformerState>,
}

/// What it takes to make a [`Core`].
pub(super) struct Parts {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) reflector: Reflector<DynamicObject>,
    pub(super) resync: Option<Duration>,
}

impl Core {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { resource, name, fifo, store, reflector, resync } = parts;
        let signal = Arc::new(Signal::default());
        Self {
            processor: Processor::new(
                resource.plural().to_owned(),
                store.clone(),
                resync,
                signal.clone(),
            ),
            indexer: Indexer::over(store.clone()),
            progress: reflector.progress.clone(),
            resource,
            name,
            fifo,
            store,
            reflector,
            signal,
            stop: StopToken::new(),
            state: Mutex::new(InformerState::NotStarted),
        }
    }

    /// From not started to running, once.
    ///
    /// # Errors
    ///
    /// If it has stopped; `Ok(false)` if it runs already.
    pub(super) fn begin(&self) -> Result<bool> {
        let mut state = self.state.lock();
        match &*state {
            InformerState::NotStarted => {
                *state = InformerState::Running;
                Ok(true)
            }
            InformerState::Running => Ok(false),
            InformerState::Stopped | InformerState::Failed(_) => {
                let text = format!("{} has stopped and cannot be started again", self.name);
                Err(Error::invalid("informer", text))
            }
        }
    }

    /// From not started to stopped.
    pub(super) fn end_unstarted(&self) {
        let mut state = self.state.lock();
        if *state == InformerState::NotStarted {
            *state = InformerState::Stopped;
        }
    }

    pub(super) fn state(&self) -> InformerState {
        self.state.lock().clone()
    }

    /// Runs until stopped: the reflector on a thread of its own, the rest on this one.
    pub(super) fn run(&self) {
        let result = catch_unwind(AssertUnwindSafe(|| self.reflect_and_apply()));
        let failure = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("no thread could be started: {error}")),
            Err(panic) => Some(format!("a panic: {}", panic_text(&*panic))),
        };
        self.stop.stop();
        // Listeners last, so that nobody is told of something that the store does not have.
        self.processor.stop();
        let mut state = self.state.lock();
        *state = match failure {
            None => InformerState::Stopped,
            Some(why) => {
                log::error!("informer {} failed: {why}", self.name);
                InformerState::Failed(why)
            }
        };
        drop(state);
        self.signal.changed();
    }

    fn reflect_and_apply(&self) -> io::Result<()> {
        self.processor.start()?;
        std::thread::scope(|scope| {
            let name = format!("r:{}", self.resource.plural());
            let reflector = thread::spawn_scoped(&name, scope, || self.reflector.run(&self.stop))?;
            // Closing the queue wakes this thread; registering fails if the stop is past.
            let closing = self.stop.on_stop(Arc::new(Close(self.fifo.clone())));
            if closing.is_err() {
                self.fifo.close();
            }
            self.apply_changes(|| reflector.is_finished());
            self.stop.stop();
            drop(closing);
            match reflector.join() {
                Ok(()) => Ok(()),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn apply_changes(&self, reflector_is_gone: impl Fn() -> bool) {
        /// How often to look whether the reflector is still there: it ends early only by a panic.
        const LOOK: Duration = Duration::from_secs(1);
        let mut next_resync = self.processor.check_period().map(|period| Instant::now() + period);
        while !self.stop.is_stopped() {
            let look = Instant::now() + LOOK;
            let deadline = next_resync.map_or(look, |next| next.min(look));
            match self.fifo.pop_with_until(Some(deadline), |popped| self.processor.apply(popped)) {
                Pop::Processed(()) | Pop::Synced => {}
                Pop::TimedOut if reflector_is_gone() => return,
                Pop::TimedOut => {}
                Pop::Closed => return,
            }
            if !self.processor.is_synced() && self.fifo.has_synced() {
                self.processor.set_synced();
            }
            self.signal.changed_for_waiters();
            let now = Instant::now();
            if next_resync.is_some_and(|next| now >= next) {
                next_resync = self.processor.check_period().map(|period| now + period);
                if self.processor.should_resync(now) {
                    self.fifo.resync();
                }
            }
        }
    }

    pub(super) fn status(&self) -> InformerStatus {
        let now = Instant::now();
        let age = |since: Instant| now.saturating_duration_since(since);
        let activity = self.progress.activity();
        let handlers = self.processor.listeners().into_iter().map(|listener| HandlerStatus {
            name: listener.name.clone(),
            pending: listener.pending(),
            has_synced: listener.has_synced(),
            busy_for: listener.busy_since().map(age),
            panics: listener.panics(),
        });
        InformerStatus {
            resource: self.resource.to_string(),
            state: self.state(),
            doing: activity.doing,
            has_synced: self.processor.is_synced(),
            objects: self.store.len(),
            last_error: activity.last_error,
            failures: activity.failures,
            last_event_age: activity.last_event.map(age),
            watch_age: activity.watching_since.map(age),
            last_sync_resource_version: activity.resource_version,
            lists: activity.lists,
            watches: activity.watches,
            queued: self.fifo.len(),
            handlers: handlers.collect(),
        }
    }

    /// How far the store has come.
    pub(super) fn applied_version(&self) -> String {
        // Taken before the queue is looked at: what it says has then been queued.
        let seen = self.progress.activity().resource_version;
        if self.fifo.is_idle() { seen } else { self.processor.applied_version() }
    }
}

/// Closes the queue at the stop.
struct Close(Arc<DeltaFifo<Object>>);

impl Interrupt for Close {
    fn interrupt(&self) {
        self.0.close();
    }
}
