//! Things of C in queues and stores of this library.

use std::{
    cell::RefCell,
    ffi::{c_char, c_void},
    ptr, slice,
    sync::Arc,
};

use super::{
    border::{bytes, free, guarded, required},
    error::Failure,
    user_data::{UserData, kinf_free_callback},
};
use crate::object::ObjectKey;

/// Says what an item is known by.
///
/// Returns UTF-8 that is valid until the next call with the same item, and sets its length; NULL if the
/// item has no key, which is an error of whoever gave the item. Called on the thread that gives the item.
pub type kinf_key_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        item: *const c_void,
        length: *mut usize,
    ) -> *const c_char,
>;

/// Frees an item that nobody holds any more: no queue, no store, no list of items. Called once for each
/// item that was given, on any thread.
pub type kinf_item_free_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, item: *mut c_void)>;

/// Some items, held for as long as this: while it is, none of them is freed.
///
/// Free it with kinf_items_free(). May be used from any thread.
pub struct kinf_items(pub(super) Vec<Arc<Item>>);

/// The code that goes with all items of a queue or a store.
pub(super) struct ItemType {
    key: unsafe extern "C" fn(*mut c_void, *const c_void, *mut usize) -> *const c_char,
    free: kinf_item_free_callback,
    user: UserData,
}

/// An item, and what it is known by.
pub(super) struct Item {
    pub(super) key: ObjectKey,
    data: *mut c_void,
    kind: Arc<ItemType>,
}

// SAFETY: nothing is done with the data here but to pass it back to the callbacks that came with it; the
// header says on which threads those run.
unsafe impl Send for Item {}
// SAFETY: the same.
unsafe impl Sync for Item {}

impl Drop for Item {
    fn drop(&mut self) {
        let mut remains = Some(Remains { data: self.data, kind: self.kind.clone() });
        // Without the list, which a thread that ends may have lost, they go at once.
        let _ = LATER.try_with(|later| {
            if let Some(later) = &mut *later.borrow_mut() {
                later.extend(remains.take());
            }
        });
    }
}

/// What is left of an item that nobody holds: its data is to be freed.
struct Remains {
    data: *mut c_void,
    kind: Arc<ItemType>,
}

impl Drop for Remains {
    fn drop(&mut self) {
        if let Some(free) = self.kind.free {
            // SAFETY: the callback was given for such items; nobody holds this one any more.
            unsafe { free(self.kind.user.pointer(), self.data) }
        }
    }
}

thread_local! {
    /// What this thread is to free when it holds no lock; `None` if it holds none.
    static LATER: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

/// Runs what may drop items under a lock, and no other code of C; what it drops is freed after it, so
/// that the callback may use the queue.
pub(super) fn freeing_later<R>(run: impl FnOnce() -> R) -> R {
    /// Also if `run` panics.
    struct Free;
    impl Drop for Free {
        fn drop(&mut self) {
            drop(LATER.try_with(RefCell::take));
        }
    }
    let _ = LATER.try_with(|later| later.replace(Some(Vec::new())));
    let _free = Free;
    run()
}

impl ItemType {
    pub(super) fn new(
        key: kinf_key_callback,
        free: kinf_item_free_callback,
        user: *mut c_void,
        free_user: kinf_free_callback,
    ) -> Result<Arc<Self>, Failure> {
        let user = UserData::new(user, free_user);
        Ok(Arc::new(Self { key: required(key, "key")?, free, user }))
    }

    /// What an item is known by.
    fn key_of(&self, item: *mut c_void) -> Result<ObjectKey, Failure> {
        if item.is_null() {
            return Err(Failure::argument("item", "it is NULL"));
        }
        let mut length = 0;
        // SAFETY: the callback was given for such items, together with the pointer.
        let key = unsafe { (self.key)(self.user.pointer(), item, &raw mut length) };
        // SAFETY: what the callback says about its text.
        let key = unsafe { bytes(key, length, "key of the item") }?;
        let key = std::str::from_utf8(key)
            .map_err(|_| Failure::argument("key of the item", "it is not UTF-8"))?;
        Ok(key.into())
    }

    /// Takes an item over. If it has no key it stays the caller's.
    pub(super) fn take(self: &Arc<Self>, data: *mut c_void) -> Result<Arc<Item>, Failure> {
        let key = self.key_of(data)?;
        Ok(Arc::new(Item { key, data, kind: self.clone() }))
    }

    /// Takes several items over, or none of them.
    ///
    /// # Safety
    ///
    /// `items` is NULL or points at `count` pointers.
    pub(super) unsafe fn take_all(
        self: &Arc<Self>,
        items: *const *mut c_void,
        count: usize,
    ) -> Result<Vec<Arc<Item>>, Failure> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let size = count.saturating_mul(size_of::<*mut c_void>());
        // SAFETY: as the caller promises.
        unsafe { bytes(items.cast(), size, "items") }?;
        // SAFETY: the same memory, which is neither NULL nor too much.
        let items = unsafe { slice::from_raw_parts(items, count) };
        let keys = items.iter().map(|&item| self.key_of(item)).collect::<Result<Vec<_>, _>>()?;
        let taken = keys.into_iter().zip(items);
        Ok(taken.map(|(key, &data)| Arc::new(Item { key, data, kind: self.clone() })).collect())
    }
}

impl Item {
    pub(super) fn data(&self) -> *mut c_void {
        self.data
    }
}

/// How many items there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_items_count(items: Option<&kinf_items>) -> usize {
    guarded(0, || items.map_or(0, |items| items.0.len()))
}

/// One of the items; NULL if there is none at this place. Valid until the items are freed.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_items_at(items: Option<&kinf_items>, at: usize) -> *mut c_void {
    guarded(None, || Some(items?.0.get(at)?.data())).unwrap_or(ptr::null_mut())
}

/// Frees a list of items; NULL is fine. Items that nobody else holds are freed with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_items_free(items: *mut kinf_items) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(items) }
}
