//! How an informer is doing.

use std::{fmt, time::Duration};

use super::table::{Table, age, grouped};
use crate::{
    error::{Error, Missing, NotReady},
    reflector::Doing,
};

/// How an informer is doing, at one moment.
///
/// Its `Display` is a small table for a person; [`metrics`](Self::metrics) is for machines.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kinformer::{Client, Error, SharedInformerFactory};
/// # let factory = SharedInformerFactory::new(Client::try_default()?);
/// let status = factory.informer::<Pod>().status();
/// if status.cause.as_ref().is_some_and(Error::is_forbidden) {
///     eprintln!("may not watch pods: {}", status.last_error.unwrap_or_default());
/// }
/// # Ok::<(), Error>(())
/// ```
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
    /// Whether all objects from the start are in the store. No again once a stopped informer was cleared.
    pub has_synced: bool,
    /// How many objects there are.
    pub objects: usize,
    /// The last failure to list or to watch, until that works again; or why it cannot be started.
    pub last_error: Option<String>,
    /// The same as an error that can be asked: by its predicates, or for the server's
    /// [status](Error::status). Of an informer of several namespaces, that of one of them.
    pub cause: Option<Error>,
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
    /// How long the oldest of them has waited; `None` if there are none.
    pub oldest_pending: Option<Duration>,
    /// Whether it has been told of all objects from the start.
    pub has_synced: bool,
    /// How long its current call has been under way.
    pub busy_for: Option<Duration>,
    /// How often it panicked.
    pub panics: u64,
    /// How many of its calls ended in an error.
    pub errors: u64,
    /// The last of these.
    pub last_error: Option<String>,
}

impl InformerStatus {
    /// Why the informer and its handlers have not synced; `None` if they have. One that has stopped is
    /// not in sync with anything, whatever it last knew.
    #[must_use]
    pub fn unsynced(&self) -> Option<String> {
        self.not_ready().map(|not_ready| not_ready.why())
    }

    /// The same for an error.
    pub(crate) fn not_ready(&self) -> Option<NotReady> {
        let missing = self.missing()?;
        let has_reason = matches!(
            missing,
            Missing::Start | Missing::Answer | Missing::Success { .. } | Missing::RestOfList { .. }
        );
        Some(NotReady {
            informer: self.name.clone(),
            missing,
            error: self.cause.clone().filter(|_| has_reason),
            told: self.last_error.clone().filter(|_| has_reason),
        })
    }

    fn missing(&self) -> Option<Missing> {
        match &self.state {
            InformerState::NotStarted => return Some(Missing::Start),
            InformerState::Failed(why) => return Some(Missing::Failed(why.clone())),
            InformerState::Stopped => return Some(Missing::Stopped),
            InformerState::Running => {}
        }
        if !self.has_synced {
            return Some(match self.doing {
                Doing::Listing { received, expected } => Missing::RestOfList { received, expected },
                Doing::BackingOff => Missing::Success { attempts: self.failures },
                _ if self.queued > 0 => Missing::Applied { queued: self.queued },
                _ => Missing::Answer,
            });
        }
        let behind = self.handlers.iter().find(|handler| !handler.has_synced)?;
        Some(Missing::Replay { handler: behind.name.clone(), pending: behind.pending })
    }
}

/// A small table for a person: the informer, then its handlers.
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table_of(std::slice::from_ref(self)).fmt(f)?;
        if self.handlers.is_empty() {
            return Ok(());
        }
        let mut handlers =
            Table::new(&["HANDLER", "SYNCED", "WAITING", "OLDEST", "BUSY", "PANICS", "ERRORS"]);
        for handler in &self.handlers {
            handlers.row([
                handler.name.clone(),
                yes_or_no(handler.has_synced),
                grouped(handler.pending as u64),
                handler.oldest_pending.map_or("-".into(), age),
                handler.busy_for.map_or("-".into(), age),
                grouped(handler.panics),
                grouped(handler.errors),
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
            informer.note(),
        ]);
    }
    table
}

impl InformerStatus {
    /// What a person should know besides: what is missing, what goes wrong, what was left out.
    fn note(&self) -> String {
        let left_out = || {
            let why = self.last_passed_over.as_ref()?;
            let objects = if self.passed_over == 1 { "object" } else { "objects" };
            Some(format!("{} {objects} passed over, last: {why}", grouped(self.passed_over)))
        };
        let wrong = self.unsynced().or_else(|| self.last_error.clone());
        wrong.or_else(left_out).unwrap_or_default()
    }

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
