//! What an informer is made of, without the handles.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    controller::Controller,
    processor::Processor,
    signal::Signal,
    status::{HandlerStatus, InformerState, InformerStatus},
};
use crate::{
    cache::{DeltaFifo, Indexer, ThreadSafeStore, panic_text},
    error::{Error, Result},
    object::{ApiResource, DynamicObject, Object},
    reflector::ReflectorBuilder,
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
}

/// What it takes to make a [`Core`].
pub(super) struct Parts {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) reflector: ReflectorBuilder<DynamicObject>,
    pub(super) resync: Option<Duration>,
}

impl Core {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { resource, name, fifo, store, reflector, resync } = parts;
        let signal = Arc::new(Signal::default());
        let plural = resource.plural().to_owned();
        let processor =
            Arc::new(Processor::new(plural.clone(), store.clone(), resync, signal.clone()));
        let (applying, asking, asked) = (processor.clone(), processor.clone(), processor.clone());
        let (queue, synced, changed) = (fifo.clone(), processor.clone(), signal.clone());
        let controller = Controller::with_reflector(reflector, fifo.clone(), move |popped| {
            applying.apply(popped);
            Ok(())
        })
        .thread_name(plural)
        .schedule(move || asking.check_period(), move |now| asked.should_resync(now))
        .after_each(move || {
            if !synced.is_synced() && queue.has_synced() {
                synced.set_synced();
            }
            changed.changed_for_waiters();
        })
        .build();
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
        self.end(failure);
    }

    pub(super) fn status(&self) -> InformerStatus {
        let now = Instant::now();
        let age = |since: Instant| now.saturating_duration_since(since);
        let activity = self.controller.reflector().progress.activity();
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
            passed_over: activity.passed_over,
            last_passed_over: activity.last_passed_over,
            inconsistencies: activity.inconsistencies,
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
        self.controller.reflector().last_sync_resource_version()
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
