//! How an informer is doing.

use std::{fmt, time::Duration};

use crate::reflector::Doing;

/// How an informer is doing, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The resource, as `pods` or `deployments.apps`.
    pub resource: String,
    /// Whether it runs.
    pub state: InformerState,
    /// What it is doing towards the server.
    pub doing: Doing,
    /// Whether all objects from the start are in the store.
    pub has_synced: bool,
    /// How many objects there are.
    pub objects: usize,
    /// The last failure to list or to watch, until that works again.
    pub last_error: Option<String>,
    /// How many failures there were since something last worked.
    pub failures: u32,
    /// How many objects could not be used: what arrived was no object, or a transform failed on it. They
    /// are passed over, and say nothing about `last_error`.
    pub passed_over: u64,
    /// The last of them, and why.
    pub last_passed_over: Option<String>,
    /// How many objects were found to differ from the server's, if that is
    /// [checked](super::SharedInformerBuilder::check_consistency).
    pub inconsistencies: u64,
    /// How long ago the server last sent anything, lists included; `None` if it never has.
    pub last_event_age: Option<Duration>,
    /// How long the current watch has been open; `None` if there is none.
    pub watch_age: Option<Duration>,
    /// Where a watch would go on from.
    pub last_sync_resource_version: String,
    /// How often all objects were listed; the first time included.
    pub lists: u64,
    /// How often a watch was opened.
    pub watches: u64,
    /// How many objects wait to be applied to the store.
    pub queued: usize,
    /// The handlers.
    pub handlers: Vec<HandlerStatus>,
}

/// Whether an informer runs.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InformerState {
    /// It has not been started.
    NotStarted,
    /// It runs.
    Running,
    /// It has stopped, and stays so.
    Stopped,
    /// It stopped because of a fault in this library.
    Failed(String),
}

impl InformerState {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Stopped | Self::Failed(_))
    }
}

/// How a handler is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// What it is called.
    pub name: String,
    /// How many events wait for it.
    pub pending: usize,
    /// Whether it has been told of all objects from the start.
    pub has_synced: bool,
    /// How long its current call has been under way.
    pub busy_for: Option<Duration>,
    /// How often it panicked.
    pub panics: u64,
}

impl InformerStatus {
    /// Why the informer and its handlers have not synced; `None` if they have.
    #[must_use]
    pub fn unsynced(&self) -> Option<String> {
        match &self.state {
            InformerState::NotStarted => return Some("not started".into()),
            InformerState::Failed(why) => return Some(format!("failed: {why}")),
            InformerState::Stopped if !self.has_synced => return Some("stopped".into()),
            InformerState::Stopped | InformerState::Running => {}
        }
        if !self.has_synced {
            let mut why = match &self.doing {
                Doing::Listing { received } => format!("still listing: {received} objects so far"),
                Doing::Nothing => "starting".into(),
                Doing::BackingOff => format!("{} failed attempts", self.failures),
                _ if self.queued > 0 => format!("{} objects to be applied", self.queued),
                _ => "waiting for the server".into(),
            };
            if let Some(error) = &self.last_error {
                why = format!("{why}; {error}");
            }
            return Some(why);
        }
        let behind = self.handlers.iter().find(|handler| !handler.has_synced)?;
        Some(format!("handler {} has {} events to be told of", behind.name, behind.pending))
    }
}

/// One line for a person.
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, state, objects, .. } = self;
        write!(f, "{resource}: {state:?}, {objects} objects")?;
        if let Some(why) = self.unsynced() {
            write!(f, ", not synced: {why}")?;
        }
        Ok(())
    }
}
