//! A cache of the objects of one resource: reading it.

use std::{ffi::c_char, mem::MaybeUninit};

use super::{
    border::{Out, any_text, attempt, guarded, required, some_text},
    error::kinf_error,
    informer::kinf_informer,
    list::kinf_list,
    object::kinf_object,
    selection::label_selector,
    status::kinf_status,
    text::kinf_strings,
};

/// Reads one object from the cache, without asking the server; KINF_NOT_FOUND if there is none, with code and
/// reason as from a server. A cache that has not synced has few.
///
/// @param key "namespace/name", or "name" for an object of the whole cluster
/// @param object set to a handle that is to be freed with kinf_object_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_get(
    informer: Option<&kinf_informer>,
    key: *const c_char,
    key_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = Out::new(object, "object")?;
        let informer = required(informer, "informer")?;
        // SAFETY: pointer and length of the caller's text.
        let key = unsafe { some_text(key, key_length, "key") }?;
        object.put(kinf_object::new(informer.get().lister().get(key)?));
        Ok(())
    })
}

/// Lists objects of the cache, without asking the server, in no order.
///
/// @param ns only those of this namespace; empty for all
/// @param labels only those whose labels match, as "app=web,tier!=test"; empty for all
/// @param list set to a handle that is to be freed with kinf_list_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_list(
    informer: Option<&kinf_informer>,
    ns: *const c_char,
    ns_length: usize,
    labels: *const c_char,
    labels_length: usize,
    list: Option<&mut MaybeUninit<*mut kinf_list>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let list = Out::new(list, "list")?;
        let informer = required(informer, "informer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (namespace, selector) =
            unsafe { (any_text(ns, ns_length, "ns")?, label_selector(labels, labels_length)?) };
        let lister = informer.get().lister();
        list.put(kinf_list::new(lister.namespace(namespace).list(&selector)));
        Ok(())
    })
}

/// The keys of all objects in the cache, in no order.
///
/// @param keys set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_keys(
    informer: Option<&kinf_informer>,
    keys: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let keys = Out::new(keys, "keys")?;
        keys.put(required(informer, "informer")?.get().store().list_keys().into_iter().collect());
        Ok(())
    })
}

/// How many objects the cache has; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_informer_count(informer: Option<&kinf_informer>) -> usize {
    guarded(0, || informer.map_or(0, |informer| informer.get().store().len()))
}
