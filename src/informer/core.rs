//! What an informer is made of, without the handles.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    controller::{Controller, Schedule},
    feed::Feed,
    processor::Processor,
    signal::Signal,
    status::{HandlerStatus, InformerState, InformerStatus},
};
use crate::{
    cache::{DeltaFifo, Indexer, ThreadSafeStore, panic_text},
    error::{Error, Result},
    object::{ApiResource, DynamicObject, Object},
    stop::StopToken,
    sync::Mutex,
};

/// The parts of an informer, shared by its threads and its handles.
pub(super) struct Core {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) indexer: Indexer<Object>,
    pub(super) processor: Arc<Processor>,
    controller: Controller<DynamicObject>,
    pub(super) signal: Arc<Signal>,
    pub(super) stop: StopToken,
    state: Mutex<InformerState>,
    /// Nothing is to be left when it ends.
    clear_at_end: AtomicBool,
}

/// What it takes to make a [`Core`].
pub(super) struct Parts {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) feed: Box<dyn Feed>,
    pub(super) resync: Option<Duration>,
}

impl Core {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { resource, name, fifo, store, feed, resync } = parts;
        let signal = Arc::new(Signal::default());
        let plural = resource.plural().to_owned();
        let processor =
            Arc::new(Processor::new(plural.clone(), store.clone(), resync, signal.clone()));
        let (applying, asking, asked) = (processor.clone(), processor.clone(), processor.clone());
        let (queue, synced, changed) = (fifo.clone(), processor.clone(), signal.clone());
        let apply = move |popped| {
            applying.apply(popped);
            Ok(())
        };
        let schedule = Schedule {
            period: Box::new(move || asking.check_period()),
            is_due: Box::new(move |now| asked.should_resync(now)),
        };
        let controller =
            Controller::fed_by(feed, plural, fifo.clone(), apply, schedule, move || {
                if !synced.is_synced() && queue.has_synced() {
                    synced.set_synced();
                }
                changed.changed_for_waiters();
            });
        Self {
            indexer: Indexer::over(store.clone()),
            resource,
            name,
            fifo,
            store,
            processor,
            controller,
            signal,
            stop: StopToken::new(),
            state: Mutex::new(InformerState::NotStarted),
            clear_at_end: AtomicBool::new(false),
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

    /// From not started to stopped: there is no thread to say so.
    pub(super) fn end_unstarted(&self) {
        let mut state = self.state.lock();
        if *state == InformerState::NotStarted {
            *state = InformerState::Stopped;
            drop(state);
            self.signal.changed();
        }
    }

    /// From running to stopped, or to failed for this reason.
    pub(super) fn end(&self, failure: Option<String>) {
        *self.state.lock() = match failure {
            None => InformerState::Stopped,
            Some(why) => {
                log::error!("informer {} failed: {why}", self.name);
                InformerState::Failed(why)
            }
        };
        self.signal.changed();
    }

    pub(super) fn state(&self) -> InformerState {
        self.state.lock().clone()
    }

    /// Runs until stopped: the reflector on a thread of its own, the rest on this one.
    pub(super) fn run(&self) {
        let run = || {
            self.processor.start().map_err(|error| {
                Error::invalid("informer", format!("no thread can be started: {error}"))
            })?;
            self.controller.run(&self.stop)
        };
        let failure = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(format!("a panic: {}", panic_text(&*panic))),
        };
        self.stop.stop();
        // Listeners last, so that nobody is told of something that the store does not have.
        self.processor.stop();
        if self.clear_at_end.load(Ordering::Acquire) {
            self.clear();
        }
        self.end(failure);
    }

    pub(super) fn clear_at_end(&self) {
        self.clear_at_end.store(true, Ordering::Release);
    }

    /// Frees what is stored and queued.
    pub(super) fn clear(&self) {
        self.store.clear();
        while self.fifo.try_pop().is_some() {}
    }

    /// Whether the store and every handler have all objects from the start.
    pub(super) fn has_synced(&self) -> bool {
        self.processor.is_synced()
            && self.processor.listeners().iter().all(|listener| listener.has_synced())
    }

    pub(super) fn status(&self) -> InformerStatus {
        let now = Instant::now();
        let age = |since: Instant| now.saturating_duration_since(since);
        let activity = self.controller.activity();
        let handlers = self.processor.listeners().into_iter().map(|listener| HandlerStatus {
            id: listener.id,
            name: listener.name.clone(),
            pending: listener.pending(),
            has_synced: listener.has_synced(),
            busy_for: listener.busy_since().map(age),
            panics: listener.panics(),
        });
        InformerStatus {
            name: self.name.clone(),
            api_version: self.resource.api_version(),
            resource: self.resource.to_string(),
            state: self.state(),
            doing: activity.doing,
            has_synced: self.processor.is_synced(),
            objects: self.store.len(),
            last_error: activity.last_error,
            failures: activity.failures,
            passed_over: activity.passed_over,
            last_passed_over: activity.last_passed_over,
            inconsistencies: activity.inconsistencies,
            all_failures: activity.all_failures,
            events: activity.events,
            last_event_age: activity.last_event.map(age),
            watch_age: activity.watching_since.map(age),
            last_sync_resource_version: activity.resource_version,
            lists: activity.lists,
            watches: activity.watches,
            queued: self.fifo.len(),
            handlers: handlers.collect(),
        }
    }

    /// How far the server has been followed: everything up to there has been queued.
    pub(super) fn seen_version(&self) -> String {
        self.controller.last_sync_resource_version()
    }

    /// How many keys will have been applied when all that are queued now have been.
    pub(super) fn turn_of_last(&self) -> u64 {
        // In this order: what is applied in between counts twice, which is too long a wait and not too
        // short a one. One may be under way.
        let queued = self.fifo.len() as u64 + 1;
        self.processor.applied() + queued
    }

    pub(super) fn has_applied(&self, turn: u64) -> bool {
        self.processor.applied() >= turn || self.fifo.is_idle()
    }
}
