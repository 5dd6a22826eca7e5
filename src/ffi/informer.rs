//! A cache of the objects of one resource: its life.

use std::{ffi::c_char, mem::MaybeUninit};

use super::{
    border::{Out, attempt, free, give_text, guarded, patience, required, some_text},
    error::{Failure, kinf_error},
    resource::kinf_resource,
    status::kinf_status,
};
use crate::{informer::SharedInformer, object::Texts};

/// A cache of the objects of one resource, kept up to date by a watch, with handlers that are told of
/// every change.
///
/// Given by kinf_factory_informer() and its kin, held by the factory, started and stopped with it. A
/// handle: free it with kinf_informer_free() whenever it is not needed. May be used from any thread, by
/// several at once.
pub struct kinf_informer {
    informer: SharedInformer,
    name: Texts,
}

impl kinf_informer {
    pub(super) fn new(informer: SharedInformer) -> Self {
        Self { name: [informer.name()].into_iter().collect(), informer }
    }

    pub(super) fn get(&self) -> &SharedInformer {
        &self.informer
    }
}

/// Another handle on the same informer, to be freed on its own.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_clone(
    informer: Option<&kinf_informer>,
    clone: Option<&mut MaybeUninit<*mut kinf_informer>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let clone = Out::new(clone, "clone")?;
        clone.put(kinf_informer::new(required(informer, "informer")?.informer.clone()));
        Ok(())
    })
}

/// Frees a handle; NULL is fine. The informer goes on: see kinf_factory_stop_informer() and kinf_informer_stop().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_free(informer: *mut kinf_informer) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(informer) }
}

/// What the informer is called, as "pods". Valid until the handle is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_name(
    informer: Option<&kinf_informer>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || informer?.name.get(0))
}

/// The resource of its objects.
///
/// @param resource set to a handle that is to be freed with kinf_resource_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_resource(
    informer: Option<&kinf_informer>,
    resource: Option<&mut MaybeUninit<*mut kinf_resource>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let resource = Out::new(resource, "resource")?;
        let informer = required(informer, "informer")?;
        resource.put(kinf_resource::new(informer.informer.resource().clone()));
        Ok(())
    })
}

/// Whether all objects from the start are in the cache. Says nothing about handlers. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_has_synced(informer: Option<&kinf_informer>) -> bool {
    guarded(false, || informer.is_some_and(|informer| informer.informer.has_synced()))
}

/// Whether the informer has stopped. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_is_stopped(informer: Option<&kinf_informer>) -> bool {
    guarded(false, || informer.is_some_and(|informer| informer.informer.is_stopped()))
}

/// Blocks until the cache and every handler have all objects from the start; KINF_NOT_SYNCED, with the
/// reason, if that does not happen in time or cannot happen. One that has not been started may yet be, so it is
/// waited for.
///
/// Not to be called from a callback of the same informer, which would wait for itself.
///
/// @param timeout_ms how long to wait; less than 0 is for as long as it takes
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_wait_for_sync(
    informer: Option<&kinf_informer>,
    timeout_ms: i64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = &required(informer, "informer")?.informer;
        informer.wait_for_sync(patience(timeout_ms)).map_err(not_synced)
    })
}

/// What waiting for caches came to.
pub(super) fn not_synced(error: crate::Error) -> Failure {
    Failure::new(kinf_status::KINF_NOT_SYNCED, error.to_string())
}

/// Blocks until the cache has come to a resource version: that of an object that was just written, for
/// example. KINF_TIMEOUT if that does not happen in time, KINF_STOPPED if the informer has stopped.
///
/// An informer with a selection is not told of what it leaves out, so it comes to a version of that only with the
/// next bookmark of the server, about once a minute.
///
/// @param version as of kinf_object_resource_version()
/// @param timeout_ms how long to wait; less than 0 is for as long as it takes
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_wait_for_resource_version(
    informer: Option<&kinf_informer>,
    version: *const c_char,
    version_length: usize,
    timeout_ms: i64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = &required(informer, "informer")?.informer;
        // SAFETY: pointer and length of the caller's text.
        let version = unsafe { some_text(version, version_length, "version") }?;
        Ok(informer.wait_for_resource_version(version, patience(timeout_ms))?)
    })
}

/// Stops the informer, for everybody and for good. What it last knew can still be read. Does nothing if it
/// has stopped, or for NULL.
///
/// Waits until the callbacks that are under way have returned; called from a callback, it does not wait
/// for callbacks.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_stop(informer: Option<&kinf_informer>) {
    guarded((), || {
        if let Some(informer) = informer {
            informer.informer.stop();
        }
    });
}
