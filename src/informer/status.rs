//! How an informer is doing.

use std::{fmt, time::Duration};

use super::table::{Table, age, grouped};
use crate::reflector::Doing;

/// How an informer is doing, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// What it is called.
    pub name: String,
    /// `v1` or `group/version` of the resource.
    pub api_version: String,
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
    /// How many failures there ever were.
    pub all_failures: u64,
    /// How many events watches have brought, bookmarks included.
    pub events: u64,
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
    /// Its number, which no other handler of the informer ever has.
    pub id: u64,
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
                Doing::Listing { received, expected } => {
                    let expected =
                        expected.map_or("?".into(), |all| format!("about {}", grouped(all)));
                    format!("still listing: {} of {expected}", grouped(*received))
                }
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
        let pending = grouped(behind.pending as u64);
        Some(format!("handler {} still has {pending} events to be told of", behind.name))
    }
}

/// A small table for a person: the informer, then its handlers.
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table_of(std::slice::from_ref(self)).fmt(f)?;
        if self.handlers.is_empty() {
            return Ok(());
        }
        let mut handlers = Table::new(&["HANDLER", "SYNCED", "WAITING", "BUSY", "PANICS"]);
        for handler in &self.handlers {
            handlers.row([
                handler.name.clone(),
                yes_or_no(handler.has_synced),
                grouped(handler.pending as u64),
                handler.busy_for.map_or("-".into(), age),
                grouped(handler.panics),
            ]);
        }
        handlers.fmt(f)
    }
}

/// A row for each informer.
pub(crate) fn table_of(informers: &[InformerStatus]) -> Table {
    let mut table = Table::new(&[
        "INFORMER", "DOING", "SYNCED", "OBJECTS", "QUEUED", "HANDLERS", "WAITING", "LISTS",
        "WATCHES", "EVENTS", "LAST", "NOTE",
    ]);
    for informer in informers {
        let waiting: usize = informer.handlers.iter().map(|handler| handler.pending).sum();
        table.row([
            informer.name.clone(),
            informer.activity(),
            yes_or_no(informer.has_synced),
            grouped(informer.objects as u64),
            grouped(informer.queued as u64),
            informer.handlers.len().to_string(),
            grouped(waiting as u64),
            grouped(informer.lists),
            grouped(informer.watches),
            grouped(informer.events),
            informer.last_event_age.map_or("-".into(), age),
            informer.unsynced().or_else(|| informer.last_error.clone()).unwrap_or_default(),
        ]);
    }
    table
}

impl InformerStatus {
    /// What it is doing, in a word or two.
    fn activity(&self) -> String {
        match (&self.state, &self.doing) {
            (InformerState::NotStarted, _) => "not started".into(),
            (InformerState::Stopped, _) => "stopped".into(),
            (InformerState::Failed(_), _) => "failed".into(),
            (InformerState::Running, Doing::Nothing) => "starting".into(),
            (InformerState::Running, Doing::Listing { .. }) => "listing".into(),
            (InformerState::Running, Doing::Connecting) => "connecting".into(),
            (InformerState::Running, Doing::Watching) => {
                format!("watching {}", self.watch_age.map_or_else(String::new, age))
                    .trim_end()
                    .into()
            }
            (InformerState::Running, Doing::BackingOff) => "backing off".into(),
            (InformerState::Running, Doing::Stopped) => "stopping".into(),
        }
    }
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.into()
}
