//! A queue of things of C, each with what happened to it.

use std::{
    ffi::{c_char, c_void},
    mem::MaybeUninit,
    ptr,
    sync::Arc,
    time::Instant,
};

use super::{
    border::{Out, attempt, free, give_text, guarded, patience, required},
    error::{Failure, kinf_error},
    indexer::kinf_indexer,
    item::{Item, ItemType, freeing_later, kinf_item_free_callback, kinf_items, kinf_key_callback},
    status::kinf_status,
    user_data::kinf_free_callback,
};
use crate::{
    cache::{Deleted, Delta, DeltaFifo, Pop, Popped},
    object::Texts,
};

/// A queue of items of your own, each with the list of what happened to it since it was last taken: the
/// queue that is inside of every informer.
///
/// Made by kinf_delta_fifo_new(); free it with kinf_delta_fifo_free(). May be used from any thread, by
/// several at once. Items that were given belong to the queue and to the deltas that are taken from it.
pub struct kinf_delta_fifo {
    fifo: DeltaFifo<Arc<Item>>,
    kind: Arc<ItemType>,
}

/// What happened to one item, oldest first. Given by kinf_delta_fifo_pop(); free it with
/// kinf_deltas_free(). One that a callback is given is borrowed: valid until the callback returns.
pub struct kinf_deltas(pub(super) Popped<Arc<Item>>, Texts);

/// One thing that happened to an item.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum kinf_delta_type {
    /// There is no delta at this place.
    KINF_DELTA_NONE = 0,
    /// It was added.
    KINF_DELTA_ADDED = 1,
    /// It was changed.
    KINF_DELTA_UPDATED = 2,
    /// It was in a new list.
    KINF_DELTA_REPLACED = 3,
    /// It is told again.
    KINF_DELTA_SYNC = 4,
    /// It is gone.
    KINF_DELTA_DELETED = 5,
}

/// Works on one item. Until it returns, the item counts as known to the queue, as this is about to make it.
pub type kinf_process_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, deltas: *const kinf_deltas)>;

/// An empty queue.
///
/// @param key says what an item is known by
/// @param free_item frees an item that nobody holds any more; NULL if items are not the library's to free,
/// and then they must outlive the queue
/// @param user what to call both with
/// @param free_user called once with user when it is not needed any more, also if this call fails; may be
/// NULL
/// @param known the store that whoever takes from the queue keeps up to date, so that the queue can find out
/// what a new list leaves out; it stays the caller's, and may be freed first; NULL if there is none
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_new(
    key: kinf_key_callback,
    free_item: kinf_item_free_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    known: Option<&kinf_indexer>,
    fifo: Option<&mut MaybeUninit<*mut kinf_delta_fifo>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let kind = ItemType::new(key, free_item, user, free_user);
        let place = Out::new(fifo, "fifo")?;
        let mut builder = DeltaFifo::builder(|item: &Arc<Item>| item.key.clone());
        if let Some(known) = known {
            builder = builder.known_objects(known.indexer.clone());
        }
        let fifo = builder.emit_replaced(true).build();
        place.put(kinf_delta_fifo { fifo, kind: kind? });
        Ok(())
    })
}

/// Frees a queue and what is in it; NULL is fine. Nobody may be waiting in kinf_delta_fifo_pop(): close it first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_delta_fifo_free(fifo: *mut kinf_delta_fifo) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(fifo) }
}

/// Queues an item that was added. On success it belongs to the queue: give each pointer once.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_add(
    fifo: Option<&kinf_delta_fifo>,
    item: *mut c_void,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let fifo = required(fifo, "fifo")?;
        let item = fifo.kind.take(item)?;
        Ok(freeing_later(|| fifo.fifo.add(item))?)
    })
}

/// Queues an item that was changed. On success it belongs to the queue: give each pointer once.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_update(
    fifo: Option<&kinf_delta_fifo>,
    item: *mut c_void,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let fifo = required(fifo, "fifo")?;
        let item = fifo.kind.take(item)?;
        Ok(freeing_later(|| fifo.fifo.update(item))?)
    })
}

/// Queues the deletion of an item, unless nothing is known of it. On success it belongs to the queue: give each pointer once.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_delete(
    fifo: Option<&kinf_delta_fifo>,
    item: *mut c_void,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let fifo = required(fifo, "fifo")?;
        let item = fifo.kind.take(item)?;
        Ok(freeing_later(|| fifo.fifo.delete(item))?)
    })
}

/// Queues every item of a list, and the deletion of every other item that is known. On success all of them
/// belong to the queue: give each pointer once.
///
/// @param items an array of so many items; may be NULL if there are none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_delta_fifo_replace(
    fifo: Option<&kinf_delta_fifo>,
    items: *const *mut c_void,
    items_count: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let fifo = required(fifo, "fifo")?;
        // SAFETY: pointer and length of the caller's array.
        let items = unsafe { fifo.kind.take_all(items, items_count) }?;
        Ok(freeing_later(|| fifo.fifo.replace(items))?)
    })
}

/// Queues every known item again that has nothing queued. Does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_resync(fifo: Option<&kinf_delta_fifo>) {
    guarded((), || {
        if let Some(fifo) = fifo {
            freeing_later(|| fifo.fifo.resync());
        }
    });
}

impl kinf_delta_fifo {
    /// Gives the first item in line to `process`.
    fn pop(&self, timeout_ms: i64, process: impl FnOnce(Popped<Arc<Item>>)) -> Result<(), Failure> {
        let deadline = Instant::now().checked_add(patience(timeout_ms));
        let mut process = Some(process);
        loop {
            let pop = self.fifo.pop_with_until(deadline, |popped| {
                if let Some(process) = process.take() {
                    process(popped);
                }
            });
            match pop {
                Pop::Processed(()) => return Ok(()),
                Pop::Synced => {}
                Pop::Closed => {
                    return Err(Failure::new(kinf_status::KINF_STOPPED, "the queue is closed"));
                }
                Pop::TimedOut => {
                    return Err(Failure::new(kinf_status::KINF_EMPTY, "the queue is empty"));
                }
            }
        }
    }
}

impl kinf_deltas {
    fn new(popped: Popped<Arc<Item>>) -> Self {
        let key = [popped.key.as_str()].into_iter().collect();
        Self(popped, key)
    }
}

/// Takes the first item in line, with everything that happened to it.
///
/// KINF_EMPTY if there is none in time. KINF_STOPPED if the queue is closed and empty.
///
/// @param timeout_ms how long to wait for one: 0 is not at all, less than 0 is for as long as it takes
/// @param deltas set to a handle that is to be freed with kinf_deltas_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_pop(
    fifo: Option<&kinf_delta_fifo>,
    timeout_ms: i64,
    deltas: Option<&mut MaybeUninit<*mut kinf_deltas>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let deltas = Out::new(deltas, "deltas")?;
        let fifo = required(fifo, "fifo")?;
        fifo.pop(timeout_ms, |popped| deltas.put(kinf_deltas::new(popped)))
    })
}

/// Takes the first item in line and gives it to a callback, on the calling thread. Others can use the queue
/// meanwhile.
///
/// @param timeout_ms as for kinf_delta_fifo_pop()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_process(
    fifo: Option<&kinf_delta_fifo>,
    timeout_ms: i64,
    callback: kinf_process_callback,
    user: *mut c_void,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let fifo = required(fifo, "fifo")?;
        let callback = required(callback, "callback")?;
        fifo.pop(timeout_ms, |popped| {
            let deltas = kinf_deltas::new(popped);
            // SAFETY: the callback was given together with the pointer; the deltas live until it returns.
            unsafe { callback(user, ptr::from_ref(&deltas)) };
        })
    })
}

/// The newest state of every queued item, in the order of the queue.
///
/// @param items set to a handle that is to be freed with kinf_items_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_list(
    fifo: Option<&kinf_delta_fifo>,
    items: Option<&mut MaybeUninit<*mut kinf_items>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let items = Out::new(items, "items")?;
        items.put(kinf_items(required(fifo, "fifo")?.fifo.list()));
        Ok(())
    })
}

/// How many items are queued; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_count(fifo: Option<&kinf_delta_fifo>) -> usize {
    guarded(0, || fifo.map_or(0, |fifo| fifo.fifo.len()))
}

/// Whether everything of the first list has been taken. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_has_synced(fifo: Option<&kinf_delta_fifo>) -> bool {
    guarded(false, || fifo.is_some_and(|fifo| fifo.fifo.has_synced()))
}

/// Lets those who take come to an end: what is queued can still be taken, then KINF_STOPPED. Does nothing
/// for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_delta_fifo_close(fifo: Option<&kinf_delta_fifo>) {
    guarded((), || {
        if let Some(fifo) = fifo {
            fifo.fifo.close();
        }
    });
}

/// Frees what was taken; NULL is fine. Items that nobody else holds are freed with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_deltas_free(deltas: *mut kinf_deltas) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(deltas) }
}

/// The key of the item. Valid for as long as the deltas.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_key(
    deltas: Option<&kinf_deltas>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || deltas?.1.get(0))
}

/// How many things happened to the item; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_count(deltas: Option<&kinf_deltas>) -> usize {
    guarded(0, || deltas.map_or(0, |deltas| deltas.0.deltas.len()))
}

/// Whether the item is part of what there was at the start. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_is_initial(deltas: Option<&kinf_deltas>) -> bool {
    guarded(false, || deltas.is_some_and(|deltas| deltas.0.initial))
}

impl kinf_deltas {
    fn at(deltas: Option<&Self>, at: usize) -> Option<&Delta<Arc<Item>>> {
        deltas?.0.deltas.iter().nth(at)
    }
}

/// What happened, oldest first; KINF_DELTA_NONE if there is nothing at this place.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_type_at(deltas: Option<&kinf_deltas>, at: usize) -> kinf_delta_type {
    guarded(kinf_delta_type::KINF_DELTA_NONE, || match kinf_deltas::at(deltas, at) {
        None => kinf_delta_type::KINF_DELTA_NONE,
        Some(Delta::Added(_)) => kinf_delta_type::KINF_DELTA_ADDED,
        Some(Delta::Updated(_)) => kinf_delta_type::KINF_DELTA_UPDATED,
        Some(Delta::Replaced(_)) => kinf_delta_type::KINF_DELTA_REPLACED,
        Some(Delta::Sync(_)) => kinf_delta_type::KINF_DELTA_SYNC,
        Some(Delta::Deleted(_)) => kinf_delta_type::KINF_DELTA_DELETED,
    })
}

/// The item after it; of a deletion the last state that is known, or NULL if none is. Valid for as long
/// as the deltas.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_item_at(deltas: Option<&kinf_deltas>, at: usize) -> *mut c_void {
    guarded(None, || Some(kinf_deltas::at(deltas, at)?.object()?.data())).unwrap_or(ptr::null_mut())
}

/// Whether it is a deletion that nobody saw.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_deltas_is_final_state_unknown_at(
    deltas: Option<&kinf_deltas>,
    at: usize,
) -> bool {
    guarded(false, || {
        let delta = kinf_deltas::at(deltas, at);
        matches!(delta, Some(Delta::Deleted(Deleted::FinalStateUnknown { .. })))
    })
}
