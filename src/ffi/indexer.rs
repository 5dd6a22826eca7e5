//! A store of things of C, with indices.

use std::{
    ffi::{c_char, c_void},
    mem::MaybeUninit,
    sync::Arc,
};

use super::{
    border::{Out, attempt, free, guarded, required, some_text, text},
    delta_fifo::kinf_deltas,
    error::{Failure, kinf_error},
    index::{kinf_index_values, unknown},
    item::{Item, ItemType, kinf_item_free_callback, kinf_items, kinf_key_callback},
    status::kinf_status,
    text::kinf_strings,
    user_data::{UserData, kinf_free_callback},
};
use crate::cache::{Delta, Indexer, Indexers};

/// A store of items of your own, each under its key, with indices.
///
/// Made by kinf_indexer_new(); free it with kinf_indexer_free(). May be used from any thread, by several at
/// once. Items that were given belong to the store; what reads gives kinf_items, which keep them alive.
pub struct kinf_indexer {
    pub(super) indexer: Indexer<Arc<Item>>,
    kind: Arc<ItemType>,
}

/// Says under which values an item is to be found, with kinf_index_values_add().
pub type kinf_item_index_callback = Option<
    unsafe extern "C" fn(user: *mut c_void, item: *const c_void, values: *mut kinf_index_values),
>;

/// An empty store.
///
/// @param key says what an item is known by
/// @param free_item frees an item that nobody holds any more; NULL if items are not the library's to free,
/// and then they must outlive the store
/// @param user what to call both with
/// @param free_user called once with user when it is not needed any more, also if this call fails; may be
/// NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_new(
    key: kinf_key_callback,
    free_item: kinf_item_free_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    indexer: Option<&mut MaybeUninit<*mut kinf_indexer>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let kind = ItemType::new(key, free_item, user, free_user);
        let place = Out::new(indexer, "indexer")?;
        let indexer = Indexer::new(|item: &Arc<Item>| item.key.clone(), Indexers::new());
        place.put(kinf_indexer { indexer, kind: kind? });
        Ok(())
    })
}

/// Frees a store; NULL is fine. Items that nobody else holds are freed with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_free(indexer: *mut kinf_indexer) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(indexer) }
}

/// Adds an index, over the items that are there and those to come.
///
/// @param name what the index is called
/// @param callback says under which values an item is to be found; called on threads that give items
/// @param user what to call it with
/// @param free_user called once with user when the index is gone, also if this call fails; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_add_index(
    indexer: Option<&kinf_indexer>,
    name: *const c_char,
    name_length: usize,
    callback: kinf_item_index_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let user = UserData::new(user, free_user);
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        let callback = required(callback, "callback")?;
        let index = Indexers::new().with(name, move |item: &Arc<Item>| {
            let mut values = kinf_index_values::default();
            // SAFETY: the callback was given together with the pointer; item and values live until it
            // returns.
            unsafe { callback(user.pointer(), item.data(), &raw mut values) };
            values.0
        });
        Ok(indexer.indexer.add_indexers(index)?)
    })
}

/// Stores an item, in place of the one of the same key. On success it belongs to the store: give each
/// pointer once.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_add(
    indexer: Option<&kinf_indexer>,
    item: *mut c_void,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let indexer = required(indexer, "indexer")?;
        indexer.indexer.add(indexer.kind.take(item)?);
        Ok(())
    })
}

/// Removes the item of a key; KINF_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_delete(
    indexer: Option<&kinf_indexer>,
    key: *const c_char,
    key_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointer and length of the caller's text.
        let key = unsafe { text(key, key_length, "key") }?;
        let removed = indexer.indexer.delete_by_key(key);
        removed.map(drop).ok_or_else(|| Failure::not_found("item", key))
    })
}

/// Replaces everything in one step. On success all of them belong to the store: give each pointer once.
///
/// @param items an array of so many items; may be NULL if there are none
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_replace(
    indexer: Option<&kinf_indexer>,
    items: *const *mut c_void,
    items_count: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointer and length of the caller's array.
        let items = unsafe { indexer.kind.take_all(items, items_count) }?;
        indexer.indexer.replace(items, "");
        Ok(())
    })
}

/// Does to the store what happened to an item of a queue. Store and deltas share the item from then on.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_apply(
    indexer: Option<&kinf_indexer>,
    deltas: Option<&kinf_deltas>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let indexer = &required(indexer, "indexer")?.indexer;
        let popped = &required(deltas, "deltas")?.0;
        for delta in &popped.deltas {
            match delta {
                Delta::Deleted(_) => drop(indexer.delete_by_key(popped.key.as_str())),
                other => drop(other.object().map(|item| indexer.add(item.clone()))),
            }
        }
        Ok(())
    })
}

/// The item of a key, as a list of one; KINF_NOT_FOUND if there is none.
///
/// @param items set to a handle that is to be freed with kinf_items_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_get(
    indexer: Option<&kinf_indexer>,
    key: *const c_char,
    key_length: usize,
    items: Option<&mut MaybeUninit<*mut kinf_items>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let items = Out::new(items, "items")?;
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointer and length of the caller's text.
        let key = unsafe { text(key, key_length, "key") }?;
        let found = indexer.indexer.get_by_key(key);
        items.put(kinf_items(vec![found.ok_or_else(|| Failure::not_found("item", key))?]));
        Ok(())
    })
}

/// All items, in no order.
///
/// @param items set to a handle that is to be freed with kinf_items_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_list(
    indexer: Option<&kinf_indexer>,
    items: Option<&mut MaybeUninit<*mut kinf_items>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let items = Out::new(items, "items")?;
        items.put(kinf_items(required(indexer, "indexer")?.indexer.list()));
        Ok(())
    })
}

/// The keys of all items, in no order.
///
/// @param keys set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_keys(
    indexer: Option<&kinf_indexer>,
    keys: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let keys = Out::new(keys, "keys")?;
        keys.put(required(indexer, "indexer")?.indexer.list_keys().into_iter().collect());
        Ok(())
    })
}

/// The items under a value of an index, in no order; KINF_NOT_FOUND if there is no such index.
///
/// @param items set to a handle that is to be freed with kinf_items_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_by_index(
    indexer: Option<&kinf_indexer>,
    index: *const c_char,
    index_length: usize,
    value: *const c_char,
    value_length: usize,
    items: Option<&mut MaybeUninit<*mut kinf_items>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let items = Out::new(items, "items")?;
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (index, value) = unsafe {
            (some_text(index, index_length, "index")?, text(value, value_length, "value")?)
        };
        items.put(kinf_items(indexer.indexer.by_index(index, value).map_err(unknown)?));
        Ok(())
    })
}

/// The keys of the items under a value of an index, sorted; KINF_NOT_FOUND if there is no such index.
///
/// @param keys set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_indexer_index_keys(
    indexer: Option<&kinf_indexer>,
    index: *const c_char,
    index_length: usize,
    value: *const c_char,
    value_length: usize,
    keys: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let keys = Out::new(keys, "keys")?;
        let indexer = required(indexer, "indexer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (index, value) = unsafe {
            (some_text(index, index_length, "index")?, text(value, value_length, "value")?)
        };
        let found = indexer.indexer.index_keys(index, value).map_err(unknown)?;
        keys.put(found.into_iter().collect());
        Ok(())
    })
}

/// How many items there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_indexer_count(indexer: Option<&kinf_indexer>) -> usize {
    guarded(0, || indexer.map_or(0, |indexer| indexer.indexer.len()))
}
