//! What an informer is made of, without the handles.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
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
    stop::{Interrupt, OnStop, StopToken},
    sync::{Mutex, MutexGuard},
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
    /// Wakes those who wait for one that was never started; `None` if it can only be stopped already.
    _waking: Option<OnStop>,
    /// Why it cannot be started, ever.
    refusal: Option<Error>,
    life: Mutex<Life>,
}

struct Life {
    state: InformerState,
    /// Nothing is to be left when it ends.
    clear_at_end: bool,
}

/// What it takes to make a [`Core`].
pub(super) struct Parts {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    pub(super) fifo: Arc<DeltaFifo<Object>>,
    pub(super) store: Arc<ThreadSafeStore<Object>>,
    pub(super) feed: Box<dyn Feed>,
    pub(super) resync: Option<Duration>,
    pub(super) stop: StopToken,
    pub(super) refusal: Option<Error>,
}

impl Core {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { resource, name, fifo, store, feed, resync, stop, refusal } = parts;
        let signal = Arc::new(Signal::default());
        let plural = resource.plural().to_owned();
        let processor =
            Arc::new(Processor::new(plural.clone(), store.clone(), resync, signal.clone()));
        let (applying, asking, asked) = (processor.clone(), processor.clone(), processor.clone());
        let (queue, synced, changed) = (fifo.clone(), processor.clone(), signal.clone());
        let moved = signal.clone();
        feed.on_move(Arc::new(move || moved.moved()));
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
                synced.wake();
                if !synced.is_synced() && queue.has_synced() {
                    synced.set_synced();
                }
                changed.moved();
            });
        Self {
            indexer: Indexer::over(store.clone()),
            resource,
            name,
            fifo,
            store,
            processor,
            controller,
            _waking: stop.on_stop(Arc::new(Wake(signal.clone()))).ok(),
            signal,
            stop,
            refusal,
            life: Mutex::new(Life { state: InformerState::NotStarted, clear_at_end: false }),
        }
    }

    /// From not started to running, once.
    ///
    /// # Errors
    ///
    /// If it has stopped, or cannot be started; `Ok(false)` if it runs already.
    pub(super) fn begin(&self) -> Result<bool> {
        let mut life = self.life();
        match (&life.state, &self.refusal) {
            (InformerState::NotStarted, Some(refusal)) => Err(refusal.clone()),
            (InformerState::NotStarted, None) => {
                life.state = InformerState::Running;
                Ok(true)
            }
            (InformerState::Running, _) => Ok(false),
            (InformerState::Stopped | InformerState::Failed(_), _) => {
                let text = format!("{} has stopped and cannot be started again", self.name);
                Err(Error::invalid("informer", text))
            }
        }
    }

    /// From not started to stopped: there is no thread to say so.
    pub(super) fn end_unstarted(&self) {
        let mut life = self.life.lock();
        if life.state == InformerState::NotStarted {
            life.state = InformerState::Stopped;
            drop(life);
            self.signal.changed();
        }
    }

    /// From running to stopped, or to failed for this reason.
    pub(super) fn end(&self, failure: Option<String>) {
        let ended = match failure {
            None => InformerState::Stopped,
            Some(why) => {
                log::error!("informer {} failed: {why}", self.name);
                InformerState::Failed(why)
            }
        };
        let mut life = self.life.lock();
        while std::mem::take(&mut life.clear_at_end) {
            // Without the lock: what objects hold may be the user's.
            drop(life);
            self.clear();
            life = self.life.lock();
        }
        life.state = ended;
        drop(life);
        self.signal.changed();
    }

    pub(super) fn state(&self) -> InformerState {
        self.life().state.clone()
    }

    /// One that was not started when its token was stopped has no thread to say that it has stopped.
    fn life(&self) -> MutexGuard<'_, Life> {
        let mut life = self.life.lock();
        if life.state == InformerState::NotStarted && self.stop.is_stopped() {
            life.state = InformerState::Stopped;
        }
        life
    }

    /// Whether nothing more will come: it has stopped, or can never be started.
    pub(super) fn is_hopeless(&self) -> bool {
        self.refusal.is_some() || self.state().is_over()
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
            Err(panic) => Some(format!("a panic: {}", panic_text(panic))),
        };
        self.stop.stop();
        // Listeners last, so that nobody is told of something that the store does not have.
        self.processor.stop();
        self.end(failure);
    }

    /// Lets nothing be left when it ends; whoever finds that it has ended clears it himself.
    pub(super) fn clear_at_end(&self) {
        self.life.lock().clear_at_end = true;
    }

    /// Frees what is stored and queued.
    pub(super) fn clear(&self) {
        self.processor.set_unsynced();
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
        let mut activity = self.controller.activity();
        if let Some(refusal) = &self.refusal {
            activity.last_error = Some(refusal.to_string());
            activity.cause = Some(refusal.clone());
        }
        let handlers = self.processor.listeners().into_iter().map(|listener| {
            let (errors, last_error) = listener.errors();
            HandlerStatus {
                id: listener.id,
                name: listener.name.clone(),
                pending: listener.pending(),
                oldest_pending: listener.waiting_since().map(age),
                has_synced: listener.has_synced(),
                busy_for: listener.busy_since().map(age),
                panics: listener.panics(),
                errors,
                last_error,
            }
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
            cause: activity.cause,
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

struct Wake(Arc<Signal>);

impl Interrupt for Wake {
    fn interrupt(&self) {
        self.0.changed();
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        client::{ListMeta, ListOptions, Watch},
        error::Result,
        informer::{Role, SharedInformer},
        object::{ApiResource, DynamicObject, Object},
        reflector::ListerWatcher,
        stop::StopToken,
    };

    /// One object, and no changes.
    struct One(ApiResource);

    impl ListerWatcher<DynamicObject> for One {
        fn resource(&self) -> &ApiResource {
            &self.0
        }

        fn list(
            &self,
            _: &ListOptions,
            _: &StopToken,
            item: &mut dyn FnMut(Result<Object>),
        ) -> Result<ListMeta> {
            item(Object::from_json(&self.0, br#"{"metadata": {"name": "a"}}"#));
            Ok(serde_json::from_str(r#"{"resourceVersion": "1"}"#).unwrap())
        }

        fn watch(&self, _: &ListOptions, stop: &StopToken) -> Result<Watch<DynamicObject>> {
            stop.wait();
            stop.check()?;
            unreachable!()
        }
    }

    /// An engine thread waits for nobody, so it may find the informer neither running nor ended.
    #[test]
    fn whoever_stops_and_clears_leaves_nothing_even_while_it_is_ending() {
        for _ in 0..300 {
            let source = One(ApiResource::namespaced("v1", "ConfigMap", "configmaps"));
            let informer = SharedInformer::builder(source).build().unwrap();
            informer.start().unwrap();
            informer.wait_for_sync(std::time::Duration::from_secs(60)).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| informer.stop());
                scope.spawn(|| {
                    let _acting = Role::Engine.begin();
                    informer.stop_and_clear();
                });
            });
            assert!(informer.is_stopped() && informer.store().is_empty());
        }
    }
}
