//! A change in a cache.

use std::{
    ffi::{c_char, c_void},
    mem::MaybeUninit,
    ptr,
    sync::OnceLock,
};

use super::{
    border::{free, give_text, guarded},
    object::kinf_object,
};
use crate::{cache::Deleted, informer::Event, object::Texts};

/// What happened.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum kinf_event_type {
    /// An object came into the cache.
    KINF_ADDED = 1,
    /// An object was changed, or is told again.
    KINF_UPDATED = 2,
    /// An object went.
    KINF_DELETED = 3,
    /// No object: all that were there from the start have been told before this. Comes once from each informer to each
    /// callback or queue that was added to it, also if there were none.
    KINF_SYNCED = 4,
}

/// A change in a cache, or that all objects from the start have been told.
///
/// One that a callback is given is borrowed: valid until the callback returns, and not to be freed. One
/// that kinf_events_next() gives is to be freed with kinf_event_free().
pub struct kinf_event {
    /// None says that all objects from the start have been told.
    event: Option<Event>,
    tag: *mut c_void,
    /// For C, once it was asked for.
    key: OnceLock<Texts>,
}

impl kinf_event {
    pub(super) fn new(event: Option<Event>, tag: *mut c_void) -> Self {
        Self { event, tag, key: OnceLock::new() }
    }
}

/// What happened. An event that is NULL is a deletion of nothing.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_get_type(event: Option<&kinf_event>) -> kinf_event_type {
    guarded(kinf_event_type::KINF_DELETED, || match event.map(|event| &event.event) {
        Some(Some(Event::Added { .. })) => kinf_event_type::KINF_ADDED,
        Some(Some(Event::Updated { .. })) => kinf_event_type::KINF_UPDATED,
        Some(Some(Event::Deleted(_))) | None => kinf_event_type::KINF_DELETED,
        Some(None) => kinf_event_type::KINF_SYNCED,
    })
}

/// The object in its newest state; of a deletion, in the last that is known, or NULL if none is; NULL of KINF_SYNCED.
/// Borrowed: valid for as long as the event. kinf_object_clone() gives a handle that stays.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_object(event: Option<&kinf_event>) -> Option<&kinf_object> {
    guarded(None, || event?.event.as_ref()?.object().map(kinf_object::borrow))
}

/// The object as it was before an update; NULL for other events. Borrowed as by kinf_event_object().
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_old(event: Option<&kinf_event>) -> Option<&kinf_object> {
    guarded(None, || match event?.event.as_ref()? {
        Event::Updated { old, .. } => Some(kinf_object::borrow(old)),
        _ => None,
    })
}

/// The key of the object, whether its last state is known or not; empty of KINF_SYNCED. Valid for as long as the event.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_key(
    event: Option<&kinf_event>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || {
        let kinf_event { event, key, .. } = event?;
        let event = event.as_ref()?;
        key.get_or_init(|| [event.key().as_str()].into_iter().collect()).get(0)
    })
}

/// Whether the object was there before the handler began to listen.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_is_initial(event: Option<&kinf_event>) -> bool {
    guarded(false, || {
        matches!(event, Some(kinf_event { event: Some(Event::Added { initial: true, .. }), .. }))
    })
}

/// Whether the object vanished while nobody was looking, so that its last state may not have been its last.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_is_final_state_unknown(event: Option<&kinf_event>) -> bool {
    guarded(false, || match event.and_then(|event| event.event.as_ref()) {
        Some(Event::Deleted(deleted)) => matches!(deleted, Deleted::FinalStateUnknown { .. }),
        _ => false,
    })
}

/// What kinf_events_add() was given for the informer that the event is from; in a callback, its user pointer.
/// NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_event_tag(event: Option<&kinf_event>) -> *mut c_void {
    guarded(ptr::null_mut(), || event.map_or(ptr::null_mut(), |event| event.tag))
}

/// Frees an event that kinf_events_next() gave; NULL is fine. Never one that a callback was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_event_free(event: *mut kinf_event) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(event) }
}
