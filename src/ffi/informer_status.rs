//! How informers are doing.

use std::{mem::MaybeUninit, ptr, time::Duration};

use serde_json::{Value, json};

use super::{
    border::{Out, attempt, required},
    error::{Failure, kinf_error},
    informer::kinf_informer,
    status::kinf_status,
    text::kinf_text,
};
use crate::{
    informer::{HandlerStatus, InformerState, InformerStatus},
    reflector::Doing,
};

/// Whether an informer runs.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum kinf_informer_state {
    /// It has not been started.
    #[default]
    KINF_NOT_STARTED = 0,
    /// It runs.
    KINF_RUNNING = 1,
    /// It has stopped, and stays so.
    KINF_ENDED = 2,
    /// It stopped because of a fault in the library.
    KINF_FAILED = 3,
}

/// What an informer is doing towards the server.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum kinf_activity {
    /// Nothing yet, or nothing any more.
    #[default]
    KINF_IDLE = 0,
    /// It is reading a list of all objects.
    KINF_LISTING = 1,
    /// It is asking for a watch.
    KINF_CONNECTING = 2,
    /// It is watching.
    KINF_WATCHING = 3,
    /// It waits before it tries again.
    KINF_BACKING_OFF = 4,
}

/// How an informer is doing, at one moment. Read with kinf_informer_read_status(). Texts, as the last
/// error, are in kinf_informer_status_json().
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct kinf_informer_status {
    /// Whether it runs.
    pub state: kinf_informer_state,
    /// What it is doing towards the server.
    pub activity: kinf_activity,
    /// Whether all objects from the start are in the cache.
    pub has_synced: bool,
    /// Whether the last attempt to list or to watch failed.
    pub is_failing: bool,
    /// How many handlers there are.
    pub handlers: u32,
    /// How many failures there were since something last worked.
    pub failures: u64,
    /// How many failures there ever were.
    pub all_failures: u64,
    /// How many objects there are.
    pub objects: u64,
    /// How many objects wait to be applied to the cache.
    pub queued: u64,
    /// How many events wait for handlers, all together.
    pub pending: u64,
    /// How many objects could not be used, and were passed over.
    pub passed_over: u64,
    /// How many events watches have brought, bookmarks included.
    pub events: u64,
    /// How often all objects were listed; the first time included.
    pub lists: u64,
    /// How often a watch was opened.
    pub watches: u64,
    /// How long ago the server last sent anything, in milliseconds; -1 if it never has.
    pub last_event_age_ms: i64,
    /// How long the current watch has been open, in milliseconds; -1 if there is none.
    pub watch_age_ms: i64,
}

impl From<&InformerStatus> for kinf_informer_status {
    fn from(status: &InformerStatus) -> Self {
        Self {
            state: match status.state {
                InformerState::NotStarted => kinf_informer_state::KINF_NOT_STARTED,
                InformerState::Running => kinf_informer_state::KINF_RUNNING,
                InformerState::Stopped => kinf_informer_state::KINF_ENDED,
                InformerState::Failed(_) => kinf_informer_state::KINF_FAILED,
            },
            activity: match status.doing {
                Doing::Listing { .. } => kinf_activity::KINF_LISTING,
                Doing::Connecting => kinf_activity::KINF_CONNECTING,
                Doing::Watching => kinf_activity::KINF_WATCHING,
                Doing::BackingOff => kinf_activity::KINF_BACKING_OFF,
                Doing::Nothing | Doing::Stopped => kinf_activity::KINF_IDLE,
            },
            has_synced: status.has_synced,
            is_failing: status.last_error.is_some(),
            handlers: u32::try_from(status.handlers.len()).unwrap_or(u32::MAX),
            failures: status.failures.into(),
            all_failures: status.all_failures,
            objects: status.objects as u64,
            queued: status.queued as u64,
            pending: status.handlers.iter().map(|handler| handler.pending as u64).sum(),
            passed_over: status.passed_over,
            events: status.events,
            lists: status.lists,
            watches: status.watches,
            last_event_age_ms: milliseconds(status.last_event_age),
            watch_age_ms: milliseconds(status.watch_age),
        }
    }
}

fn milliseconds(age: Option<Duration>) -> i64 {
    age.map_or(-1, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

/// How the informer is doing.
///
/// @param status where to write it
/// @param status_size sizeof(kinf_informer_status), so that later libraries can have more to say
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_read_status(
    informer: Option<&kinf_informer>,
    status: *mut kinf_informer_status,
    status_size: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let known = size_of::<kinf_informer_status>();
        if status.is_null() {
            return Err(Failure::argument("status", "it is NULL"));
        }
        if status_size == 0 || status_size > 16 * known {
            let why = format!("{status_size} is not the size of a kinf_informer_status");
            return Err(Failure::argument("status_size", why));
        }
        // SAFETY: the caller has so many bytes there.
        unsafe { status.cast::<u8>().write_bytes(0, status_size) };
        let now = kinf_informer_status::from(&required(informer, "informer")?.get().status());
        let (from, to) = (ptr::from_ref(&now).cast::<u8>(), status.cast::<u8>());
        // SAFETY: as many bytes as both have; a caller with an older header has fewer.
        unsafe { ptr::copy_nonoverlapping(from, to, status_size.min(known)) };
        Ok(())
    })
}

/// How the informer is doing, as JSON: what is in kinf_informer_status and more, with texts; the member
/// whyUnsynced is null once it has synced.
///
/// @param text set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_status_json(
    informer: Option<&kinf_informer>,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        let status = required(informer, "informer")?.get().status();
        text.put(kinf_text::new(as_json(&status).to_string()));
        Ok(())
    })
}

pub(super) fn as_json(status: &InformerStatus) -> Value {
    let numbers = kinf_informer_status::from(status);
    let failed = match &status.state {
        InformerState::Failed(why) => Some(why),
        _ => None,
    };
    json!({
        "name": status.name,
        "apiVersion": status.api_version,
        "resource": status.resource,
        "state": match numbers.state {
            kinf_informer_state::KINF_NOT_STARTED => "notStarted",
            kinf_informer_state::KINF_RUNNING => "running",
            kinf_informer_state::KINF_ENDED => "ended",
            kinf_informer_state::KINF_FAILED => "failed",
        },
        "failed": failed,
        "activity": match numbers.activity {
            kinf_activity::KINF_IDLE => "idle",
            kinf_activity::KINF_LISTING => "listing",
            kinf_activity::KINF_CONNECTING => "connecting",
            kinf_activity::KINF_WATCHING => "watching",
            kinf_activity::KINF_BACKING_OFF => "backingOff",
        },
        "hasSynced": status.has_synced,
        "whyUnsynced": status.unsynced(),
        "objects": status.objects,
        "queued": status.queued,
        "lastError": status.last_error,
        "failures": status.failures,
        "allFailures": status.all_failures,
        "passedOver": status.passed_over,
        "lastPassedOver": status.last_passed_over,
        "events": status.events,
        "lists": status.lists,
        "watches": status.watches,
        "lastEventAgeMs": numbers.last_event_age_ms,
        "watchAgeMs": numbers.watch_age_ms,
        "lastSyncResourceVersion": status.last_sync_resource_version,
        "handlers": status.handlers.iter().map(handler_as_json).collect::<Vec<_>>(),
    })
}

fn handler_as_json(handler: &HandlerStatus) -> Value {
    json!({
        "id": handler.id,
        "name": handler.name,
        "pending": handler.pending,
        "hasSynced": handler.has_synced,
        "busyForMs": milliseconds(handler.busy_for),
        "panics": handler.panics,
        "errors": handler.errors,
    })
}
