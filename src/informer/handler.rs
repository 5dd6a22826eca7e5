//! Being told of changes.

use std::{any::type_name, borrow::Cow, fmt};

use crate::{
    cache::Deleted,
    error::Result,
    object::{DynamicObject, Object, ObjectKey},
};

/// A change in a cache, as its handlers are told.
///
/// Its `Display` is one line, as `updated Pod default/web-0 (7 -> 9)`.
///
/// ```
/// use kinformer::{Event, cache::Deleted};
///
/// fn tell(event: &Event) -> String {
///     match event {
///         Event::Added { object, initial: true } => format!("{} was there", object.name()),
///         Event::Added { object, .. } => format!("{} is new", object.name()),
///         Event::Updated { old, new } if old.is_same(new) => "told again, nothing changed".into(),
///         Event::Updated { new, .. } => format!("{} is at {}", new.name(), new.resource_version()),
///         Event::Deleted(Deleted::Known(last)) => format!("{} is gone", last.name()),
///         Event::Deleted(Deleted::FinalStateUnknown { key, .. }) => format!("{key} went unseen"),
///         event => event.to_string(),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<K = DynamicObject> {
    /// An object came into the cache.
    Added {
        /// The object.
        object: Object<K>,
        /// Whether it was there before the handler began to listen.
        initial: bool,
    },
    /// An object was changed, or is told again.
    Updated {
        /// As it was.
        old: Object<K>,
        /// As it is.
        new: Object<K>,
    },
    /// An object went.
    Deleted(Deleted<Object<K>>),
}

impl<K> Event<K> {
    /// The key of the object.
    #[doc(alias = "DeletionHandlingMetaNamespaceKeyFunc")]
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Added { object, .. } | Self::Updated { new: object, .. } => object.key(),
            Self::Deleted(deleted) => deleted.key(),
        }
    }

    /// The object in its newest state; of a deletion, in its last that is known.
    #[must_use]
    pub fn object(&self) -> Option<&Object<K>> {
        match self {
            Self::Added { object, .. } => Some(object),
            Self::Updated { new, .. } => Some(new),
            Self::Deleted(deleted) => deleted.object(),
        }
    }

    /// The name of the cluster it happened in; empty if that is not known.
    #[must_use]
    pub fn cluster(&self) -> &str {
        self.object().map_or("", Object::cluster)
    }

    /// The same event with its objects seen as another type.
    #[must_use]
    pub fn cast<J>(self) -> Event<J> {
        match self {
            Self::Added { object, initial } => Event::Added { object: object.into_cast(), initial },
            Self::Updated { old, new } => {
                Event::Updated { old: old.into_cast(), new: new.into_cast() }
            }
            Self::Deleted(Deleted::Known(object)) => {
                Event::Deleted(Deleted::Known(object.into_cast()))
            }
            Self::Deleted(Deleted::FinalStateUnknown { key, last }) => {
                let last = last.map(Object::into_cast);
                Event::Deleted(Deleted::FinalStateUnknown { key, last })
            }
        }
    }
}

/// As `added Pod default/web-0`.
impl<K> fmt::Display for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Added { .. } => "added",
            Self::Updated { .. } => "updated",
            Self::Deleted(_) => "deleted",
        };
        let kind = self.object().map_or("object", Object::kind);
        write!(f, "{what} {kind} {}", self.key())?;
        match self {
            Self::Updated { old, new } => {
                write!(f, " ({} -> {})", old.resource_version(), new.resource_version())
            }
            Self::Deleted(Deleted::FinalStateUnknown { .. }) => {
                f.write_str(" (final state unknown)")
            }
            _ => Ok(()),
        }
    }
}

/// Is told of every change in a cache, one at a time, on a thread of its own.
///
/// Closures that take an [`Event`] are handlers, whether they return nothing or a [`Result`](crate::Result),
/// for which [`Error::other`](crate::Error::other) takes whatever went wrong; so are [`HandlerFuncs`], and senders of
/// channels, those of the standard library or of crossbeam. Events of one object come in the order in which
/// they happened. A handler may be told that an object was updated when nothing changed.
///
/// ```
/// use std::borrow::Cow;
/// use kinformer::{EventHandler, Object, cache::Deleted};
///
/// #[derive(Default)]
/// struct Count(usize);
///
/// impl<K> EventHandler<K> for Count {
///     fn on_add(&mut self, _object: Object<K>, _initial: bool) {
///         self.0 += 1;
///     }
///     fn on_delete(&mut self, _deleted: Deleted<Object<K>>) {
///         self.0 -= 1;
///     }
///     fn name(&self) -> Cow<'static, str> {
///         "count".into()
///     }
/// }
/// ```
///
/// # Panics
///
/// A panic in a handler is caught, logged with the handler's name and counted; the handler goes on with
/// the next event.
#[doc(alias = "ResourceEventHandler")]
pub trait EventHandler<K>: Send + 'static {
    /// An object came; `initial` if it was there before the handler began to listen.
    fn on_add(&mut self, object: Object<K>, initial: bool) {
        let _ = (object, initial);
    }

    /// An object was changed.
    fn on_update(&mut self, old: Object<K>, new: Object<K>) {
        let _ = (old, new);
    }

    /// An object went.
    fn on_delete(&mut self, deleted: Deleted<Object<K>>) {
        let _ = deleted;
    }

    /// The handler has been told of every object that was there from the start, if there were any. Shared
    /// informers say so, once; an [`Informer`](super::Informer) with one handler does not.
    ///
    /// # Differences from client-go
    ///
    /// There, whoever wants to know asks the registration, again and again.
    fn on_synced(&mut self) {}

    /// A change of an object, any of the above: what an informer calls.
    ///
    /// # Errors
    ///
    /// Whatever the handler finds wrong: it is logged and counted, and the handler goes on.
    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        match event {
            Event::Added { object, initial } => self.on_add(object, initial),
            Event::Updated { old, new } => self.on_update(old, new),
            Event::Deleted(deleted) => self.on_delete(deleted),
        }
        Ok(())
    }

    /// What the handler is called in logs, the status and errors. Defaults to its type;
    /// [`NamedHandler`](super::NamedHandler) gives another.
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(type_name::<Self>())
    }
}

/// What a closure that handles events may return: nothing, or whether it worked.
pub trait HandlerOutput {
    /// Whether it worked.
    ///
    /// # Errors
    ///
    /// If it did not.
    fn into_result(self) -> Result<()>;
}

impl HandlerOutput for () {
    fn into_result(self) -> Result<()> {
        Ok(())
    }
}

impl HandlerOutput for Result<()> {
    fn into_result(self) -> Result<()> {
        self
    }
}

impl<K, F, R> EventHandler<K> for F
where
    F: FnMut(Event<K>) -> R + Send + 'static,
    R: HandlerOutput,
{
    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        self(event).into_result()
    }
}

/// Sends every event; once nobody receives any more, events are dropped.
impl<K: 'static> EventHandler<K> for crossbeam_channel::Sender<Event<K>> {
    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        // Whoever does not receive any more does not want to know.
        let _ = self.send(event);
        Ok(())
    }
}

/// Sends every event; once nobody receives any more, events are dropped.
impl<K: 'static> EventHandler<K> for std::sync::mpsc::Sender<Event<K>> {
    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        let _ = self.send(event);
        Ok(())
    }
}

/// Sends every event, and waits for room; once nobody receives any more, events are dropped.
impl<K: 'static> EventHandler<K> for std::sync::mpsc::SyncSender<Event<K>> {
    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        let _ = self.send(event);
        Ok(())
    }
}

impl<K: 'static> EventHandler<K> for Box<dyn EventHandler<K>> {
    fn on_add(&mut self, object: Object<K>, initial: bool) {
        (**self).on_add(object, initial);
    }

    fn on_update(&mut self, old: Object<K>, new: Object<K>) {
        (**self).on_update(old, new);
    }

    fn on_delete(&mut self, deleted: Deleted<Object<K>>) {
        (**self).on_delete(deleted);
    }

    fn on_synced(&mut self) {
        (**self).on_synced();
    }

    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        (**self).on_event(event)
    }

    fn name(&self) -> Cow<'static, str> {
        (**self).name()
    }
}

/// Up to three closures as one handler.
///
/// ```
/// use kinformer::{DynamicObject, HandlerFuncs};
///
/// let handler = HandlerFuncs::<DynamicObject>::new()
///     .on_add(|object, initial| println!("{object} {initial}"))
///     .on_delete(|deleted| println!("{:?} is gone", deleted.object()));
/// ```
#[doc(alias = "ResourceEventHandlerFuncs")]
#[doc(alias = "ResourceEventHandlerDetailedFuncs")]
#[must_use]
pub struct HandlerFuncs<K> {
    add: Option<OnAdd<K>>,
    update: Option<OnUpdate<K>>,
    delete: Option<OnDelete<K>>,
}

type OnAdd<K> = Box<dyn FnMut(Object<K>, bool) + Send>;
type OnUpdate<K> = Box<dyn FnMut(Object<K>, Object<K>) + Send>;
type OnDelete<K> = Box<dyn FnMut(Deleted<Object<K>>) + Send>;

impl<K> HandlerFuncs<K> {
    /// A handler that does nothing yet.
    pub fn new() -> Self {
        Self { add: None, update: None, delete: None }
    }

    /// What to do when an object comes; `true` if it was there before the handler began to listen.
    pub fn on_add(mut self, handle: impl FnMut(Object<K>, bool) + Send + 'static) -> Self {
        self.add = Some(Box::new(handle));
        self
    }

    /// What to do when an object was changed.
    pub fn on_update(mut self, handle: impl FnMut(Object<K>, Object<K>) + Send + 'static) -> Self {
        self.update = Some(Box::new(handle));
        self
    }

    /// What to do when an object went.
    pub fn on_delete(mut self, handle: impl FnMut(Deleted<Object<K>>) + Send + 'static) -> Self {
        self.delete = Some(Box::new(handle));
        self
    }
}

impl<K> Default for HandlerFuncs<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for HandlerFuncs<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerFuncs")
            .field("add", &self.add.is_some())
            .field("update", &self.update.is_some())
            .field("delete", &self.delete.is_some())
            .finish()
    }
}

impl<K: 'static> EventHandler<K> for HandlerFuncs<K> {
    fn on_add(&mut self, object: Object<K>, initial: bool) {
        if let Some(handle) = &mut self.add {
            handle(object, initial);
        }
    }

    fn on_update(&mut self, old: Object<K>, new: Object<K>) {
        if let Some(handle) = &mut self.update {
            handle(old, new);
        }
    }

    fn on_delete(&mut self, deleted: Deleted<Object<K>>) {
        if let Some(handle) = &mut self.delete {
            handle(deleted);
        }
    }
}

/// Tells a handler only of objects that pass a filter, as if there were no others.
///
/// An object that comes to pass the filter is told as added, one that ceases to as deleted. A deletion
/// whose last state is not known is passed on.
///
/// ```
/// use kinformer::{DynamicObject, Event, FilteringHandler, Object};
///
/// let handler = FilteringHandler::new(
///     |object: &Object<DynamicObject>| object.labels().contains_key("app"),
///     |event: Event| println!("{event}"),
/// );
/// ```
#[doc(alias = "FilteringResourceEventHandler")]
#[derive(Debug)]
pub struct FilteringHandler<F, H> {
    filter: F,
    handler: H,
}

impl<F, H> FilteringHandler<F, H> {
    /// Tells `handler` of the objects that `filter` says yes to.
    pub fn new<K>(filter: F, handler: H) -> Self
    where
        F: FnMut(&Object<K>) -> bool + Send + 'static,
        H: EventHandler<K>,
    {
        Self { filter, handler }
    }
}

impl<K, F, H> EventHandler<K> for FilteringHandler<F, H>
where
    F: FnMut(&Object<K>) -> bool + Send + 'static,
    H: EventHandler<K>,
{
    fn on_synced(&mut self) {
        self.handler.on_synced();
    }

    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        let filter = &mut self.filter;
        let passed = match event {
            Event::Added { object, initial } => {
                filter(&object).then_some(Event::Added { object, initial })
            }
            Event::Updated { old, new } => match (filter(&new), filter(&old)) {
                (true, true) => Some(Event::Updated { old, new }),
                (true, false) => Some(Event::Added { object: new, initial: false }),
                (false, true) => Some(Event::Deleted(Deleted::Known(old))),
                (false, false) => None,
            },
            Event::Deleted(deleted) => {
                deleted.object().is_none_or(filter).then_some(Event::Deleted(deleted))
            }
        };
        passed.map_or(Ok(()), |event| self.handler.on_event(event))
    }

    fn name(&self) -> Cow<'static, str> {
        self.handler.name()
    }
}

/// A handler whose objects are seen without their type.
pub(super) struct Erased<K, H> {
    handler: H,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K, H> Erased<K, H> {
    pub(super) fn new(handler: H) -> Self {
        Self { handler, kind: std::marker::PhantomData }
    }
}

impl<K: 'static, H: EventHandler<K>> EventHandler<DynamicObject> for Erased<K, H> {
    fn on_synced(&mut self) {
        self.handler.on_synced();
    }

    fn on_event(&mut self, event: Event) -> Result<()> {
        self.handler.on_event(event.cast())
    }

    fn name(&self) -> Cow<'static, str> {
        self.handler.name()
    }
}
