//! The queue between whoever sees changes and whoever applies them.

mod state;

use std::{fmt, mem, time::Instant};

pub(super) use self::state::State;
use self::state::Taken;
use super::{
    delta::{Deleted, Delta, Deltas, Popped},
    key_table::KeyHash,
    replace::Replacing,
};
use crate::{
    error::Result,
    object::ObjectKey,
    sync::{Condvar, Mutex, MutexGuard},
};

type KeyFunction<T> = Box<dyn Fn(&T) -> ObjectKey + Send + Sync>;
type Transform<T> = Box<dyn Fn(T) -> Result<T> + Send + Sync>;
type Unchanged<T> = Box<dyn Fn(&T, &T) -> bool + Send + Sync>;

/// A queue of objects, each with the list of what happened to it since it was last taken.
///
/// Producers [`add`](Self::add), [`update`](Self::update), [`delete`](Self::delete) and
/// [`replace`](Self::replace); a consumer [`pop`](Self::pop)s one object at a time with all its
/// [`Deltas`]. An object that is queued keeps its place when more happens to it. Works with any
/// `T: Clone`, alone or as the queue of an informer.
///
/// With [`known_objects`](DeltaFifoBuilder::known_objects), the store that the consumer keeps up to
/// date, the queue also finds out what a new list leaves out, and tells those objects as
/// [`Deleted::FinalStateUnknown`]: no deletion is lost, however long nobody was looking.
///
/// ```
/// use kinformer::cache::{DeltaFifo, Delta};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Item { name: &'static str, value: u32 }
///
/// let fifo = DeltaFifo::new(|item: &Item| item.name);
/// fifo.add(Item { name: "a", value: 1 })?;
/// fifo.add(Item { name: "b", value: 2 })?;
/// fifo.update(Item { name: "a", value: 3 })?;
///
/// let popped = fifo.pop().expect("not closed");
/// assert_eq!(popped.key, "a");
/// assert_eq!(popped.deltas.len(), 2);
/// assert_eq!(popped.deltas.newest(), &Delta::Updated(Item { name: "a", value: 3 }));
/// # Ok::<(), kinformer::Error>(())
/// ```
///
/// # Blocking
///
/// [`pop`](Self::pop) and [`pop_with`](Self::pop_with) block until there is something or the queue is
/// [closed](Self::close). Nothing else blocks, and a slow consumer does not block producers.
///
/// # Differences from client-go
///
/// - The consumer's callback runs without the queue's lock. Meanwhile its key counts as known, with the
///   newest object that was popped, so that nothing is lost in between.
/// - The queue [has synced](Self::has_synced) when the last object of the first list has been
///   *processed*, not when it is about to be.
/// - [`begin_replace`](Self::begin_replace) takes a list object by object as it arrives.
/// - A transform runs before the lock is taken, once for each object.
#[doc(alias = "DeltaFIFO")]
#[doc(alias = "NewDeltaFIFO")]
pub struct DeltaFifo<T> {
    pub(super) options: Options<T>,
    pub(super) state: Mutex<State<T>>,
    /// Something was queued, or the queue was closed.
    work_or_close: Condvar,
}

pub(super) struct Options<T> {
    key: KeyFunction<T>,
    known: Option<Box<dyn KnownObjects<T>>>,
    transform: Option<Transform<T>>,
    unchanged: Option<Unchanged<T>>,
    emit_replaced: bool,
}

/// The objects that the consumer of a queue has applied.
///
/// Called with the queue's lock held: it must not call the queue.
#[doc(alias = "KeyListerGetter")]
pub trait KnownObjects<T>: Send + Sync + 'static {
    /// The keys of all of them.
    fn keys(&self) -> Vec<ObjectKey>;

    /// Shows each key to `visit`, which calls nothing else. For those who can do it without a copy.
    fn for_each_key(&self, visit: &mut dyn FnMut(&ObjectKey)) {
        self.keys().iter().for_each(visit);
    }

    /// The one of this key.
    fn get(&self, key: &ObjectKey) -> Option<T>;
}

/// Makes a [`DeltaFifo`].
#[must_use]
#[doc(alias = "DeltaFIFOOptions")]
#[doc(alias = "NewDeltaFIFOWithOptions")]
pub struct DeltaFifoBuilder<T>(Options<T>);

impl<T: Clone + 'static> DeltaFifoBuilder<T> {
    /// The objects that the consumer has applied. Defaults to none, and then only what is queued counts
    /// as known.
    pub fn known_objects(mut self, known: impl KnownObjects<T>) -> Self {
        self.0.known = Some(Box::new(known));
        self
    }

    /// Whether objects of a list are told as [`Delta::Replaced`] rather than [`Delta::Sync`]. Defaults
    /// to no.
    pub fn emit_replaced(mut self, emit: bool) -> Self {
        self.0.emit_replaced = emit;
        self
    }

    /// Changes each object before it is queued; what it fails on is not queued, except that it is gone.
    /// It must not change the key. Defaults to no change.
    pub fn transform(mut self, change: impl Fn(T) -> Result<T> + Send + Sync + 'static) -> Self {
        self.0.transform = Some(Box::new(change));
        self
    }

    /// Says whether a listed object is the same as the known one, which is then queued in its place, so
    /// that there are not two copies of it. It is not queued at all if that is what is queued for it already, nor, as
    /// long as no list was complete, if it is known: a list that was abandoned has brought it. Called with the
    /// queue's lock held: it must not call the queue. Defaults to never.
    pub fn unchanged(mut self, same: impl Fn(&T, &T) -> bool + Send + Sync + 'static) -> Self {
        self.0.unchanged = Some(Box::new(same));
        self
    }

    /// Makes the queue.
    pub fn build(self) -> DeltaFifo<T> {
        DeltaFifo {
            options: self.0,
            state: Mutex::new(State::new()),
            work_or_close: Condvar::new(),
        }
    }
}

impl<T: Clone + 'static> DeltaFifo<T> {
    /// A queue of objects that `key` tells apart, without known objects.
    #[doc(alias = "NewDeltaFIFO")]
    pub fn new<R: Into<ObjectKey>>(key: impl Fn(&T) -> R + Send + Sync + 'static) -> Self {
        Self::builder(key).build()
    }

    /// A queue of objects that `key` tells apart, with more to say about it.
    #[doc(alias = "NewDeltaFIFOWithOptions")]
    pub fn builder<R: Into<ObjectKey>>(
        key: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> DeltaFifoBuilder<T> {
        DeltaFifoBuilder(Options {
            key: Box::new(move |object| key(object).into()),
            known: None,
            transform: None,
            unchanged: None,
            emit_replaced: false,
        })
    }

    /// Queues an object that was added.
    ///
    /// # Errors
    ///
    /// If the transform fails.
    pub fn add(&self, object: T) -> Result<()> {
        let (key, object) = self.options.prepare(object)?;
        self.change(|state, _| state.enqueue(key, Delta::Added(object)));
        Ok(())
    }

    /// Queues an object that was changed.
    ///
    /// # Errors
    ///
    /// If the transform fails.
    pub fn update(&self, object: T) -> Result<()> {
        let (key, object) = self.options.prepare(object)?;
        self.change(|state, _| state.enqueue(key, Delta::Updated(object)));
        Ok(())
    }

    /// Queues the deletion of an object, unless nothing is known of it.
    ///
    /// # Errors
    ///
    /// If the transform fails: the deletion is queued all the same, with the last known state.
    pub fn delete(&self, object: T) -> Result<()> {
        let key = self.options.key_of(&object);
        let transformed = self.options.transformed(object);
        let mut result = Ok(());
        self.change(|state, options| match transformed {
            Ok(object) => options.delete(state, key, object),
            Err(error) => {
                options.delete_last_known(state, key);
                result = Err(error);
            }
        });
        result
    }

    /// Queues every object of a list, and the deletion of every other object that is known.
    ///
    /// # Errors
    ///
    /// If the transform fails; nothing is queued then.
    pub fn replace(&self, objects: impl IntoIterator<Item = T>) -> Result<()> {
        let prepared = objects.into_iter().map(|object| self.options.prepare(object));
        let objects = prepared.collect::<Result<Vec<_>>>()?;
        let mut state = self.state.lock();
        let mut replacing = Replacing::whole(&mut state, objects.len());
        for (key, object) in objects {
            replacing.item(&mut state, &self.options, key, object);
        }
        replacing.finish(&mut state, &self.options);
        self.work_or_close.notify_all();
        Ok(())
    }

    /// Queues every known object again that has nothing queued.
    ///
    /// Without known objects there is nothing to tell.
    pub fn resync(&self) {
        if self.options.known.is_none() {
            return;
        }
        let mut state = self.state.lock();
        for key in self.options.known_keys(&state, |_| true) {
            let has_news = state.is_queued(&key) && !cfg!(kinf_bug = "3");
            if !has_news && let Some(object) = self.options.known_object(&state, &key) {
                state.enqueue(key, Delta::Sync(object));
            }
        }
        self.work_or_close.notify_all();
    }

    /// Takes the first object in line, with everything that happened to it.
    ///
    /// `None` means that the queue is closed and empty. To apply what was popped to the known objects,
    /// use [`pop_with`](Self::pop_with), which knows when that is done.
    ///
    /// # Blocking
    ///
    /// Until there is something, or the queue is closed.
    #[must_use]
    pub fn pop(&self) -> Option<Popped<T>> {
        let mut state = self.state.lock();
        while self.wait_for_work(&mut state, None) == Work::Synced {}
        let taken = state.take()?;
        state.settle(taken.counted);
        Some(taken.popped)
    }

    /// Takes the first object in line if there is one now.
    #[must_use]
    pub fn try_pop(&self) -> Option<Popped<T>> {
        let mut state = self.state.lock();
        let taken = state.take()?;
        state.settle(taken.counted);
        Some(taken.popped)
    }

    /// Takes the first object in line and gives it to `process`, whose result it returns.
    ///
    /// Until `process` returns, the object counts as known to the queue, as `process` is about to make
    /// it. `None` means that the queue is closed and empty.
    ///
    /// # Blocking
    ///
    /// Until there is something, or the queue is closed; then for as long as `process` takes. Others can
    /// use the queue meanwhile.
    pub fn pop_with<R>(&self, process: impl FnOnce(Popped<T>) -> R) -> Option<R> {
        let mut process = Some(process);
        loop {
            let popped = self.pop_with_until(None, |popped| process.take().map(|run| run(popped)));
            match popped {
                Pop::Processed(result) => return result,
                Pop::Synced => {}
                Pop::Closed | Pop::TimedOut => return None,
            }
        }
    }

    /// The same, waiting only until `deadline`.
    pub(crate) fn pop_with_until<R>(
        &self,
        deadline: Option<Instant>,
        process: impl FnOnce(Popped<T>) -> R,
    ) -> Pop<R> {
        let mut state = self.state.lock();
        match self.wait_for_work(&mut state, deadline) {
            Work::There => {}
            Work::Synced => return Pop::Synced,
            Work::Closed => return Pop::Closed,
            Work::TimedOut => return Pop::TimedOut,
        }
        let Some(Taken { popped, mut counted }) = state.take() else { return Pop::Closed };
        let id = state.begin(&popped);
        if cfg!(kinf_bug = "5") {
            state.settle(mem::take(&mut counted));
        }
        drop(state);
        // Also if `process` panics.
        let _processed = Processing { fifo: self, id, counted };
        Pop::Processed(process(popped))
    }

    fn wait_for_work(
        &self,
        state: &mut MutexGuard<'_, State<T>>,
        deadline: Option<Instant>,
    ) -> Work {
        while state.entries.is_empty() {
            if state.closed {
                return Work::Closed;
            }
            if mem::take(&mut state.sync_untold) {
                return Work::Synced;
            }
            match deadline {
                None => self.work_or_close.wait(state),
                Some(deadline) => {
                    let waited = self.work_or_close.wait_until(state, deadline);
                    if waited.timed_out() && state.entries.is_empty() {
                        return Work::TimedOut;
                    }
                }
            }
        }
        Work::There
    }

    /// The newest state of every queued object, in the order of the queue; of deletions the last state.
    #[must_use]
    pub fn list(&self) -> Vec<T> {
        let state = self.state.lock();
        state.entries.iter().filter_map(|entry| entry.deltas.newest().object().cloned()).collect()
    }

    /// The keys of all queued objects, in the order of the queue.
    #[must_use]
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        self.state.lock().entries.iter().map(|entry| entry.key.clone()).collect()
    }

    /// What is queued for the object.
    #[must_use]
    pub fn get(&self, object: &T) -> Option<Deltas<T>> {
        self.get_by_key(self.options.key_of(object).as_str())
    }

    /// What is queued for the key.
    #[must_use]
    pub fn get_by_key(&self, key: &str) -> Option<Deltas<T>> {
        let state = self.state.lock();
        state.find(key, state.positions.hash(key)).map(|at| state.entries[at].deltas.clone())
    }

    /// How many objects are queued.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.lock().entries.len()
    }

    /// Whether no object is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing is queued and nothing is being processed.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.entries.is_empty() && state.in_process.is_empty()
    }

    /// Whether everything of the first list has been processed; or, if something else came first, true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.state.lock().synced
    }

    /// Whatever comes, the queue has not synced until [`release_sync`](Self::release_sync): for several
    /// lists that are the first together.
    pub(crate) fn hold_sync(&self) {
        self.state.lock().held = true;
    }

    /// What has been listed by now is all that there was at the start.
    pub(crate) fn release_sync(&self) {
        let mut state = self.state.lock();
        if mem::take(&mut state.held) {
            state.complete_list();
            drop(state);
            self.work_or_close.notify_all();
        }
    }

    /// Lets consumers come to an end: what is queued can still be popped, then `pop` returns `None`.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.work_or_close.notify_all();
    }

    /// Whether the queue is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Whether consumers sleep on while something is queued: whoever queues it has more at hand. To wake a
    /// thread for one object costs about as much as to queue several. With a transform nobody knows when that
    /// is queued.
    pub(crate) fn more_follows(&self, more: bool) {
        let more = more && self.options.transform.is_none();
        self.state.lock().more_follows = more;
        if !more {
            self.work_or_close.notify_all();
        }
    }

    /// Changes the state by one change that is not a list, and tells the consumers.
    fn change(&self, change: impl FnOnce(&mut State<T>, &Options<T>)) {
        self.change_list(|state, options| {
            state.populate();
            change(state, options);
        });
    }

    pub(super) fn change_list(&self, change: impl FnOnce(&mut State<T>, &Options<T>)) {
        let mut state = self.state.lock();
        change(&mut state, &self.options);
        let more_follows = state.more_follows;
        drop(state);
        if !more_follows {
            self.work_or_close.notify_all();
        }
    }
}

impl<T> fmt::Debug for DeltaFifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("DeltaFifo")
            .field("queued", &state.entries.len())
            .field("synced", &state.synced)
            .field("closed", &state.closed)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for DeltaFifoBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifoBuilder").finish_non_exhaustive()
    }
}

/// What came of waiting for something to pop.
pub(crate) enum Pop<R> {
    Processed(R),
    /// There was nothing in the first list: the queue has synced without anything to pop.
    Synced,
    Closed,
    TimedOut,
}

#[derive(Eq, PartialEq)]
enum Work {
    There,
    Synced,
    Closed,
    TimedOut,
}

/// An object that a consumer is working on.
struct Processing<'a, T> {
    fifo: &'a DeltaFifo<T>,
    id: u64,
    counted: bool,
}

impl<T> Drop for Processing<'_, T> {
    fn drop(&mut self) {
        let mut state = self.fifo.state.lock();
        let ended = state.end(self.id);
        state.settle(self.counted);
        drop(state);
        drop(ended);
    }
}

/// What a listed object says that has not been said.
pub(super) enum News<T> {
    /// The object, or the known one if that is the same.
    Of(T),
    /// Nothing: the same is in line, here.
    InLine(usize),
    /// Nothing: the consumer has the same.
    None,
}

impl<T: Clone + 'static> Options<T> {
    /// The part that runs the user's code: never under the lock.
    fn prepare(&self, object: T) -> Result<(ObjectKey, T)> {
        let key = self.key_of(&object);
        Ok((key, self.transformed(object)?))
    }

    pub(super) fn key_of(&self, object: &T) -> ObjectKey {
        (self.key)(object)
    }

    pub(super) fn transformed(&self, object: T) -> Result<T> {
        match &self.transform {
            Some(transform) => transform(object),
            None => Ok(object),
        }
    }

    pub(super) fn delete(&self, state: &mut State<T>, key: ObjectKey, object: T) {
        let hash = state.hash(&key);
        if state.is_queued_at(&key, hash) || self.known_object(state, &key).is_some() {
            state.enqueue_listed(key, hash, Delta::Deleted(Deleted::Known(object)));
        }
    }

    /// The deletion of an object whose final state cannot be told.
    fn delete_last_known(&self, state: &mut State<T>, key: ObjectKey) {
        let hash = state.hash(&key);
        let queued = state.find(key.as_str(), hash).map(|at| state.entries[at].deltas.newest());
        let last = queued.map_or_else(
            || self.known_object(state, &key).map(Some),
            |newest| Some(newest.object().cloned()),
        );
        if let Some(last) = last {
            let deleted = Deleted::FinalStateUnknown { key: key.clone(), last };
            state.enqueue_listed(key, hash, Delta::Deleted(deleted));
        }
    }

    pub(super) fn listed(&self, object: T) -> Delta<T> {
        if self.emit_replaced { Delta::Replaced(object) } else { Delta::Sync(object) }
    }

    /// What to queue for a listed object.
    pub(super) fn news(
        &self,
        state: &State<T>,
        key: &ObjectKey,
        hash: KeyHash,
        object: T,
    ) -> News<T> {
        let Some(unchanged) = &self.unchanged else { return News::Of(object) };
        match state.newest(key, hash) {
            Some((at, Some(newest))) if unchanged(newest, &object) => News::InLine(at),
            // With the queued changes the known object will be another.
            Some(_) => News::Of(object),
            None => match self.known_object(state, key) {
                Some(known) if unchanged(&known, &object) => {
                    if state.populated {
                        News::Of(known)
                    } else {
                        News::None
                    }
                }
                _ => News::Of(object),
            },
        }
    }

    /// The object as the consumer has it, or is about to.
    pub(super) fn known_object(&self, state: &State<T>, key: &ObjectKey) -> Option<T> {
        match state.in_process(key) {
            Some(object) => object.cloned(),
            None => self.known.as_ref()?.get(key),
        }
    }

    /// The keys of the objects that the consumer has and keeps, or is about to have, as far as they are
    /// wanted. That of an object in process may come twice.
    pub(super) fn known_keys(
        &self,
        state: &State<T>,
        wanted: impl Fn(&ObjectKey) -> bool,
    ) -> Vec<ObjectKey> {
        let mut keys = Vec::new();
        let mut visit = |key: &ObjectKey| {
            if wanted(key) && !matches!(state.in_process(key), Some(None)) {
                keys.push(key.clone());
            }
        };
        if let Some(known) = &self.known {
            known.for_each_key(&mut visit);
        }
        state.in_process.iter().for_each(|object| visit(&object.key));
        keys
    }
}
