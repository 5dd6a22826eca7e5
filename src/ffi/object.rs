//! One object of the API.

use std::{ffi::c_char, mem::MaybeUninit, ptr};

use super::{
    border::{Out, attempt, document, free, give_text, guarded, place, required, some_text, text},
    error::{Failure, kinf_error},
    resource::kinf_resource,
    status::kinf_status,
    text::kinf_text,
};
use crate::{
    json::pointer,
    object::{Object, Texts},
};

/// One object of the API: its JSON as the server sent it, without managed fields, and its metadata.
///
/// Never changes. Several handles may be of one object, which lives as long as any of them: those of the
/// caches, of events and of lists, and those that kinf_object_clone() gives. A handle that was given to
/// you is to be freed with kinf_object_free(); one that is borrowed from an event or a list is not, and is
/// valid for as long as that. May be used from any thread.
///
/// All texts are UTF-8 with a NUL after them, made when first asked for and kept with the object. A
/// NUL inside, which a label or a field can have, counts in the length.
#[cfg_attr(all(), repr(transparent))] // Not for cbindgen, which would take it for a typedef.
pub struct kinf_object(Object);

/// What kind of JSON value a kinf_value is.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum kinf_value_type {
    /// null
    KINF_NULL = 0,
    /// true or false
    KINF_BOOLEAN = 1,
    /// A number.
    KINF_NUMBER = 2,
    /// A string, in its quotes.
    KINF_STRING = 3,
    /// An array.
    KINF_ARRAY = 4,
    /// An object.
    KINF_OBJECT = 5,
}

/// A value inside the JSON of an object, as it is written there. Valid for as long as the object is held.
#[repr(C)]
pub struct kinf_value {
    /// What it is.
    pub r#type: kinf_value_type,
    /// Its JSON, inside that of the object: it has no NUL after it.
    pub json: *const c_char,
    /// How many bytes.
    pub json_length: usize,
}

impl Default for kinf_value {
    fn default() -> Self {
        Self { r#type: kinf_value_type::KINF_NULL, json: ptr::null(), json_length: 0 }
    }
}

impl kinf_object {
    pub(super) fn new(object: Object) -> Self {
        Self(object)
    }

    /// The same object as C sees it.
    pub(super) fn borrow(object: &Object) -> &Self {
        // SAFETY: it is transparent, so both have one layout.
        unsafe { &*ptr::from_ref(object).cast::<Self>() }
    }

    /// The JSON at a pointer, with an error for every way not to find it.
    ///
    /// # Safety
    ///
    /// As [`text`].
    unsafe fn find(
        &self,
        pointer: *const c_char,
        length: usize,
    ) -> Result<(&str, kinf_value_type), Failure> {
        // SAFETY: as the caller promises.
        let pointer = unsafe { text(pointer, length, "pointer") }?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let why = format!("{pointer:?} does not start with a slash");
            return Err(Failure::argument("pointer", why));
        }
        let json =
            self.0.pointer_for_c(pointer).ok_or_else(|| Failure::not_found("field", pointer))?;
        let kind = match json.as_bytes().first() {
            Some(b'{') => kinf_value_type::KINF_OBJECT,
            Some(b'[') => kinf_value_type::KINF_ARRAY,
            Some(b'"') => kinf_value_type::KINF_STRING,
            Some(b't' | b'f') => kinf_value_type::KINF_BOOLEAN,
            Some(b'n') => kinf_value_type::KINF_NULL,
            _ => kinf_value_type::KINF_NUMBER,
        };
        Ok((json, kind))
    }

    /// The value at a pointer, decoded.
    ///
    /// # Safety
    ///
    /// As [`text`].
    unsafe fn decode<'a, T: serde::Deserialize<'a>>(
        &'a self,
        pointer: *const c_char,
        length: usize,
    ) -> Result<T, Failure> {
        // SAFETY: as the caller promises.
        let (json, _) = unsafe { self.find(pointer, length) }?;
        serde_json::from_str(json).map_err(|error| {
            let message = format!("{}: {error}", self.0);
            Failure::new(kinf_status::KINF_DECODE, message)
        })
    }
}

/// Makes an object from its JSON.
///
/// @param resource what it is
/// @param json an object with metadata that has a name
/// @param object set to a handle that is to be freed with kinf_object_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_new(
    resource: Option<&kinf_resource>,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = Out::new(object, "object")?;
        let resource = required(resource, "resource")?;
        // SAFETY: pointer and length of the caller's text.
        let json = unsafe { document(json, json_length, "json") }?;
        object.put(kinf_object(Object::from_json(resource.whole()?, json.as_bytes())?));
        Ok(())
    })
}

/// Another handle on the same object, to be freed on its own with kinf_object_free(). Costs one reference
/// count and an allocation of one pointer. NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_clone(object: Option<&kinf_object>) -> *mut kinf_object {
    guarded(ptr::null_mut(), || {
        object.map_or(ptr::null_mut(), |object| {
            Box::into_raw(Box::new(kinf_object(object.0.clone())))
        })
    })
}

/// Frees a handle; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_free(object: *mut kinf_object) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(object) }
}

/// "namespace/name", or "name" for an object of the whole cluster. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_key(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(0))
}

/// The namespace; empty for an object of the whole cluster. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_namespace(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(1))
}

/// The name. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_name(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(2))
}

/// The UID; empty if the object was never stored. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_uid(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(3))
}

/// The resource version; empty if the object was never stored. Compare for equality only. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_resource_version(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(4))
}

/// When the object was made, in RFC 3339; empty if it was not. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_creation_timestamp(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(5))
}

/// When the object was asked to go, in RFC 3339; empty if it was not. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_deletion_timestamp(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.identity_texts().get(6))
}

/// "v1" or "group/version": always right, also where lists leave it out. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_api_version(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.origin_texts().get(0))
}

/// The kind, as "Pod": always right, also where lists leave it out. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_kind(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.origin_texts().get(1))
}

/// The name of the cluster that it came from; empty if it did not come from a client. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_cluster(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.origin_texts().get(2))
}

/// The JSON of the object, with a NUL after it. Objects like others are kept as what they differ in: theirs is put together
/// when first asked for, and kept with the object. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_json(
    object: Option<&kinf_object>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || Some(object?.0.json_with_nul().as_bytes()))
}

/// Whether two handles are of one and the same object, in the same state.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_is_same(
    object: Option<&kinf_object>,
    other: Option<&kinf_object>,
) -> bool {
    guarded(false, || object.zip(other).is_some_and(|(object, other)| object.0.is_same(&other.0)))
}

/// The value of a label; KINF_NOT_FOUND if there is none of that key. Valid for as long as the object is held.
///
/// @param value set to the value, with a NUL after it
/// @param value_length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_label(
    object: Option<&kinf_object>,
    key: *const c_char,
    key_length: usize,
    value: Option<&mut MaybeUninit<*const c_char>>,
    value_length: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value_length = value_length.map(|length| length.write(0));
        let value = required(value, "value")?;
        value.write(ptr::null());
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        let key = unsafe { some_text(key, key_length, "key") }?;
        let found = find_pair(object.0.label_texts(), key);
        let found = found.ok_or_else(|| Failure::not_found("label", key))?;
        value.write(give_text(None, || Some(found)));
        if let Some(value_length) = value_length {
            *value_length = found.len().saturating_sub(1);
        }
        Ok(())
    })
}

/// How many labels there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_label_count(object: Option<&kinf_object>) -> usize {
    guarded(0, || object.map_or(0, |object| object.0.label_texts().len() / 2))
}

/// The key of the label at a place, in the order of the JSON; empty if there is none. Valid for as long as
/// the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_label_key_at(
    object: Option<&kinf_object>,
    at: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.label_texts().get(at.checked_mul(2)?))
}

/// The value of the label at a place; empty if there is none. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_label_value_at(
    object: Option<&kinf_object>,
    at: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.label_texts().get(at.checked_mul(2)?.checked_add(1)?))
}

/// The value of an annotation; KINF_NOT_FOUND if there is none of that key. Valid for as long as the object is held.
///
/// @param value set to the value, with a NUL after it
/// @param value_length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_annotation(
    object: Option<&kinf_object>,
    key: *const c_char,
    key_length: usize,
    value: Option<&mut MaybeUninit<*const c_char>>,
    value_length: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value_length = value_length.map(|length| length.write(0));
        let value = required(value, "value")?;
        value.write(ptr::null());
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        let key = unsafe { some_text(key, key_length, "key") }?;
        let found = find_pair(object.0.annotation_texts(), key);
        let found = found.ok_or_else(|| Failure::not_found("annotation", key))?;
        value.write(give_text(None, || Some(found)));
        if let Some(value_length) = value_length {
            *value_length = found.len().saturating_sub(1);
        }
        Ok(())
    })
}

/// How many annotations there are; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_annotation_count(object: Option<&kinf_object>) -> usize {
    guarded(0, || object.map_or(0, |object| object.0.annotation_texts().len() / 2))
}

/// The key of the annotation at a place, in the order of the JSON; empty if there is none. Valid for as long as
/// the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_annotation_key_at(
    object: Option<&kinf_object>,
    at: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.annotation_texts().get(at.checked_mul(2)?))
}

/// The value of the annotation at a place; empty if there is none. Valid for as long as the object is held.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_object_annotation_value_at(
    object: Option<&kinf_object>,
    at: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || object?.0.annotation_texts().get(at.checked_mul(2)?.checked_add(1)?))
}

/// Of texts that are key, value, key, value.
fn find_pair<'a>(pairs: &'a Texts, key: &str) -> Option<&'a [u8]> {
    let found = (0..pairs.len()).step_by(2).find(|&at| {
        pairs.get(at).and_then(|text| text.strip_suffix(b"\0")) == Some(key.as_bytes())
    });
    pairs.get(found? + 1)
}

/// One value of the JSON, by its JSON pointer (RFC 6901), as "/spec/nodeName" or "/spec/containers/0/image".
/// Found by scanning, without decoding the rest; KINF_NOT_FOUND if it is not there.
///
/// @param pointer where to look; empty for the whole object; "~1" is a slash and "~0" a tilde in a name
/// @param value set to where it is
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    value: Option<&mut MaybeUninit<kinf_value>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value = place(value, "value")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        let (json, kind) = unsafe { object.find(pointer, pointer_length) }?;
        *value = kinf_value { r#type: kind, json: json.as_ptr().cast(), json_length: json.len() };
        Ok(())
    })
}

/// The same for a string, without quotes and escapes; KINF_DECODE if it is something else.
///
/// @param value set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get_string(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    value: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value = Out::new(value, "value")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        let string: String = unsafe { object.decode(pointer, pointer_length) }?;
        value.put(kinf_text::new(string));
        Ok(())
    })
}

/// The same for a whole number; KINF_DECODE if it is something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get_int64(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    value: Option<&mut MaybeUninit<i64>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value = place(value, "value")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        *value = unsafe { object.decode(pointer, pointer_length) }?;
        Ok(())
    })
}

/// The same for a number; KINF_DECODE if it is something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get_double(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    value: Option<&mut MaybeUninit<f64>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value = place(value, "value")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        *value = unsafe { object.decode(pointer, pointer_length) }?;
        Ok(())
    })
}

/// The same for true or false; KINF_DECODE if it is something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get_bool(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    value: Option<&mut MaybeUninit<bool>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let value = place(value, "value")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        *value = unsafe { object.decode(pointer, pointer_length) }?;
        Ok(())
    })
}

/// How many elements an array has, or members an object; KINF_DECODE if it is something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_object_get_count(
    object: Option<&kinf_object>,
    pointer: *const c_char,
    pointer_length: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let count = place(count, "count")?;
        let object = required(object, "object")?;
        // SAFETY: pointer and length of the caller's text.
        let (json, _) = unsafe { object.find(pointer, pointer_length) }?;
        *count = pointer::count(json).ok_or_else(|| {
            Failure::new(kinf_status::KINF_DECODE, "it is neither an array nor an object")
        })?;
        Ok(())
    })
}
