//! Handlers with a name.

use std::borrow::Cow;

use super::handler::{Event, EventHandler};
use crate::error::Result;

/// Gives a handler a name, by which the status, logs of panics and errors, and a shutdown that takes too
/// long call it.
///
/// For whatever has no name of its own: closures, channels, [`HandlerFuncs`](super::HandlerFuncs). Closures
/// can be added with a name by [`SharedInformer::on_event_named`](super::SharedInformer::on_event_named).
///
/// ```
/// use kinformer::{DynamicObject, Event, EventHandler, NamedHandler};
///
/// let (send, _receive) = std::sync::mpsc::channel::<Event>();
/// let handler = NamedHandler::new("audit", send);
/// assert_eq!(EventHandler::<DynamicObject>::name(&handler), "audit");
/// ```
#[derive(Clone, Debug)]
pub struct NamedHandler<H> {
    name: Cow<'static, str>,
    handler: H,
}

impl<H> NamedHandler<H> {
    /// Calls `handler` by this name.
    pub fn new(name: impl Into<Cow<'static, str>>, handler: H) -> Self {
        Self { name: name.into(), handler }
    }
}

impl<K, H: EventHandler<K>> EventHandler<K> for NamedHandler<H> {
    fn on_synced(&mut self) {
        self.handler.on_synced();
    }

    fn on_event(&mut self, event: Event<K>) -> Result<()> {
        self.handler.on_event(event)
    }

    fn name(&self) -> Cow<'static, str> {
        self.name.clone()
    }
}
