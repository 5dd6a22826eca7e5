//! Finding the objects of a cache by what they have in common.

use std::{
    borrow::Cow,
    ffi::{c_char, c_void},
    mem::MaybeUninit,
};

use super::{
    border::{Out, attempt, required, some_text, text},
    error::{Failure, kinf_error},
    informer::kinf_informer,
    list::kinf_list,
    object::kinf_object,
    status::kinf_status,
    text::kinf_strings,
    user_data::{UserData, kinf_free_callback},
};
use crate::{
    cache::{Indexers, UnknownIndex},
    json::scan::unescape,
    object::Object,
};

/// Says under which values an object is to be found, with kinf_index_values_add().
///
/// Called on threads of the library, by several at once, whenever an object comes into the cache; must be
/// quick and always say the same of the same object. It must not call anything that waits.
pub type kinf_index_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        object: *const kinf_object,
        values: *mut kinf_index_values,
    ),
>;

/// Where an index callback puts the values of an object. Valid until the callback returns.
#[derive(Default)]
pub struct kinf_index_values(pub(super) Vec<String>);

/// The object that the callback is about is to be found under this value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_index_values_add(
    values: Option<&mut kinf_index_values>,
    value: *const c_char,
    value_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let values = required(values, "values")?;
        // SAFETY: pointer and length of the caller's text.
        let value = unsafe { text(value, value_length, "value") }?;
        values.0.push(value.to_owned());
        Ok(())
    })
}

pub(super) fn unknown(error: UnknownIndex) -> Failure {
    Failure::new(kinf_status::KINF_NOT_FOUND, error.to_string())
}

/// Adds an index by the string, number or boolean at a JSON pointer; objects without one are in it under
/// no value. May be done before the start or after it.
///
/// @param name what the index is called
/// @param pointer where the value is, as "/spec/nodeName"
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_add_index(
    informer: Option<&kinf_informer>,
    name: *const c_char,
    name_length: usize,
    pointer: *const c_char,
    pointer_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let informer = required(informer, "informer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (name, pointer) = unsafe {
            (
                some_text(name, name_length, "name")?,
                some_text(pointer, pointer_length, "pointer")?.to_owned(),
            )
        };
        if !pointer.starts_with('/') {
            let why = format!("{pointer:?} does not start with a slash");
            return Err(Failure::argument("pointer", why));
        }
        let index = Indexers::new().with_value(name, move |object: &Object| {
            let json = object.pointer(&pointer)?;
            match json.as_bytes().first()? {
                b'"' => Some(unescape(json.as_bytes()).ok()?.into_owned().into()),
                b'{' | b'[' | b'n' => None,
                _ => Some(Cow::Owned(json.into_owned())),
            }
        });
        Ok(informer.get().add_indexers(index)?)
    })
}

/// Adds an index by a callback. May be done before the start or after it.
///
/// @param name what the index is called
/// @param callback what says under which values an object is to be found
/// @param user what to call it with
/// @param free_user called once with user when the index is gone, also if this call fails; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_add_index_callback(
    informer: Option<&kinf_informer>,
    name: *const c_char,
    name_length: usize,
    callback: kinf_index_callback,
    user: *mut c_void,
    free_user: kinf_free_callback,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let user = UserData::new(user, free_user);
        let informer = required(informer, "informer")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        let callback = required(callback, "callback")?;
        let index = Indexers::new().with(name, move |object: &Object| {
            let mut values = kinf_index_values::default();
            // SAFETY: the callback was given together with the pointer; object and values live until it
            // returns.
            unsafe { callback(user.pointer(), kinf_object::borrow(object), &raw mut values) };
            values.0
        });
        Ok(informer.get().add_indexers(index)?)
    })
}

/// The objects under a value of an index, in no order; KINF_NOT_FOUND if there is no such index.
///
/// @param index as given to kinf_informer_add_index(), or "namespace", which every informer has
/// @param list set to a handle that is to be freed with kinf_list_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_by_index(
    informer: Option<&kinf_informer>,
    index: *const c_char,
    index_length: usize,
    value: *const c_char,
    value_length: usize,
    list: Option<&mut MaybeUninit<*mut kinf_list>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let list = Out::new(list, "list")?;
        let informer = required(informer, "informer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (index, value) = unsafe {
            (some_text(index, index_length, "index")?, text(value, value_length, "value")?)
        };
        let found = informer.get().indexer().by_index(index, value);
        list.put(kinf_list::new(found.map_err(unknown)?));
        Ok(())
    })
}

/// The keys of the objects under a value of an index, sorted; KINF_NOT_FOUND if there is no such index.
///
/// @param keys set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_index_keys(
    informer: Option<&kinf_informer>,
    index: *const c_char,
    index_length: usize,
    value: *const c_char,
    value_length: usize,
    keys: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let keys = Out::new(keys, "keys")?;
        let informer = required(informer, "informer")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (index, value) = unsafe {
            (some_text(index, index_length, "index")?, text(value, value_length, "value")?)
        };
        let found = informer.get().indexer().index_keys(index, value);
        keys.put(found.map_err(unknown)?.into_iter().collect());
        Ok(())
    })
}

/// The values of an index that some object has, in no order; none if there is no such index.
///
/// @param values set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_informer_index_values(
    informer: Option<&kinf_informer>,
    index: *const c_char,
    index_length: usize,
    values: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let values = Out::new(values, "values")?;
        let informer = required(informer, "informer")?;
        // SAFETY: pointer and length of the caller's text.
        let index = unsafe { some_text(index, index_length, "index") }?;
        values.put(informer.get().indexer().list_index_func_values(index).into_iter().collect());
        Ok(())
    })
}
