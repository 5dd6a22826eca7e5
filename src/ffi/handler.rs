//! Being told of changes by callbacks.

use std::{
    borrow::Cow,
    ffi::{c_char, c_void},
    mem::MaybeUninit,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    border::{Out, attempt, free, guarded, required, some_text},
    error::{Failure, kinf_error},
    event::kinf_event,
    informer::kinf_informer,
    status::kinf_status,
    user_data::{UserData, kinf_free_callback},
};
use crate::{
    error::Result,
    informer::{Event, EventHandler, Registration},
    object::DynamicObject,
};

/// Is told of a change.
///
/// Called on the thread of its handler, whose name begins with "kinf-h:", for one event at a time; handlers
/// of one informer run beside each other. The event is valid until the callback returns. Anything may
/// be called from it: kinf_registration_remove() of itself, kinf_factory_shutdown(), kinf_factory_free().
/// It must return: no longjmp() out of it, no C++ exception through it.
pub type kinf_event_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, event: *const kinf_event)>;

/// A handler's place at an informer.
///
/// Given by kinf_informer_on_event() and kinf_events_add(). Freeing it with kinf_registration_free()
/// leaves the handler where it is; kinf_registration_remove() removes it. May be used from any thread.
#[derive(Clone)]
pub struct kinf_registration(Arc<Place>);

struct Place {
    registration: Registration,
    removed: AtomicBool,
}

impl kinf_registration {
    fn new(registration: Registration) -> Self {
        Self(Arc::new(Place { registration, removed: AtomicBool::new(false) }))
    }

    pub(super) fn remove(&self) {
        self.0.removed.store(true, Ordering::Release);
        // Also if another thread is at it, or the callback itself was: whoever asks waits.
        self.0.registration.remove_listener();
    }

    /// What the handler says about itself; `otherwise` if it was removed.
    fn ask<T>(
        registration: Option<&Self>,
        otherwise: T,
        ask: impl FnOnce(&Registration) -> T,
    ) -> T {
        guarded(None, || {
            let place = &registration?.0;
            (!place.removed.load(Ordering::Acquire)).then(|| ask(&place.registration))
        })
        .unwrap_or(otherwise)
    }
}

/// A callback with the pointer that goes with it.
struct Handler {
    callback: unsafe extern "C" fn(user: *mut c_void, event: *const kinf_event),
    user: UserData,
    name: Cow<'static, str>,
}

impl Handler {
    fn call(&self, event: Option<Event>) {
        let event = kinf_event::new(event, self.user.pointer());
        // SAFETY: the callback was given together with the pointer; the event lives until it returns.
        unsafe { (self.callback)(self.user.pointer(), ptr::from_ref(&event)) };
    }
}

impl EventHandler<DynamicObject> for Handler {
    fn on_synced(&mut self) {
        self.call(None);
    }

    fn on_event(&mut self, event: Event) -> Result<()> {
        self.call(Some(event));
        Ok(())
    }

    fn name(&self) -> Cow<'static, str> {
        self.name.clone()
    }
}

/// Calls back for every change, from all objects that are there on; with KINF_SYNCED after those.
///
/// @param callback what to call
/// @param user what to call it with
/// @param free_user called once with user when the handler is gone, also if this call fails; may be NULL
/// @param resync_ms how often to be told of every object again: 0 is never, less than 0 is what the
/// factory says
/// @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_on_event(
    informer: Option<&kinf_informer>,
    callback: kinf_event_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    resync_ms: i64,
    registration: Option<&mut MaybeUninit<*mut kinf_registration>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let user = UserData::new(user, free_user);
        let name = Ok(Cow::Borrowed("C callback"));
        on_event(informer, name, callback, user, resync_ms, registration)
    })
}

/// The same with a name, by which status, logs, and a shutdown or a wait that takes too long call the handler.
///
/// @param name as "endpoints"
/// @param callback what to call
/// @param user what to call it with
/// @param free_user called once with user when the handler is gone, also if this call fails; may be NULL
/// @param resync_ms how often to be told of every object again: 0 is never, less than 0 is what the
/// factory says
/// @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_on_event_named(
    informer: Option<&kinf_informer>,
    name: *const c_char,
    name_length: usize,
    callback: kinf_event_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    resync_ms: i64,
    registration: Option<&mut MaybeUninit<*mut kinf_registration>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let user = UserData::new(user, free_user);
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") };
        let name = name.map(|name| Cow::Owned(name.to_owned()));
        on_event(informer, name, callback, user, resync_ms, registration)
    })
}

fn on_event(
    informer: Option<&kinf_informer>,
    name: Result<Cow<'static, str>, Failure>,
    callback: kinf_event_callback,
    user: UserData,
    resync_ms: i64,
    registration: Option<&mut MaybeUninit<*mut kinf_registration>>,
) -> Result<(), Failure> {
    let registration =
        registration.map(|place| Out::new(Some(place), "registration")).transpose()?;
    let informer = required(informer, "informer")?;
    let name = name?;
    let callback = required(callback, "callback")?;
    let added = add(informer, Handler { callback, user, name }, resync_ms)?;
    if let Some(registration) = registration {
        registration.put(added);
    }
    Ok(())
}

pub(super) fn add(
    informer: &kinf_informer,
    handler: impl EventHandler<DynamicObject>,
    resync_ms: i64,
) -> Result<kinf_registration, Failure> {
    let informer = informer.get();
    let registration = match u64::try_from(resync_ms).map(Duration::from_millis) {
        Err(_) => informer.add_event_handler(handler)?,
        Ok(period) => {
            let period = Some(period).filter(|period| !period.is_zero());
            informer.add_event_handler_with_resync(handler, period)?
        }
    };
    Ok(kinf_registration::new(registration))
}

/// Removes the handler. Does nothing for NULL.
///
/// When it returns, the callback is not called any more and its user pointer has been freed, also if
/// somebody else has removed it, or its own callback: call it before freeing what a callback uses. Called from
/// a callback, its own or another one, it does not wait, and that holds when the callback that is under
/// way has returned. Events that wait are dropped.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_registration_remove(registration: Option<&kinf_registration>) {
    guarded((), || {
        if let Some(registration) = registration {
            registration.remove();
        }
    });
}

/// Whether the handler has been told of every object from the start. False if it was removed.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_registration_has_synced(registration: Option<&kinf_registration>) -> bool {
    kinf_registration::ask(registration, false, Registration::has_synced)
}

/// How many events wait for the handler. 0 if it was removed.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_registration_pending(registration: Option<&kinf_registration>) -> usize {
    kinf_registration::ask(registration, 0, Registration::pending)
}

/// Frees a registration; NULL is fine. The handler stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_registration_free(registration: *mut kinf_registration) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(registration) }
}
