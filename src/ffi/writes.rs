//! A connection to a cluster: what writes.

use std::{ffi::c_char, mem::MaybeUninit};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    border::{Out, any_text, attempt, document, required, some_text},
    client::kinf_client,
    error::{Failure, kinf_error},
    object::kinf_object,
    resource::kinf_resource,
    status::kinf_status,
};
use crate::{
    client::{Api, DeleteOptions, Deletion, Patch},
    object::DynamicObject,
};

/// How a patch is written.
#[repr(i32)]
pub enum kinf_patch_type {
    /// RFC 7386: what is there replaces, null removes, lists are replaced whole.
    KINF_PATCH_MERGE = 0,
    /// RFC 6902: a list of operations.
    KINF_PATCH_JSON = 1,
    /// As merge, but known lists are merged by key; built-in kinds only.
    KINF_PATCH_STRATEGIC = 2,
}

const MERGE: i32 = kinf_patch_type::KINF_PATCH_MERGE as i32;
const JSON: i32 = kinf_patch_type::KINF_PATCH_JSON as i32;
const STRATEGIC: i32 = kinf_patch_type::KINF_PATCH_STRATEGIC as i32;

/// The caller's JSON: a [`RawValue`] is checked, and sent as it is.
///
/// # Safety
///
/// As [`document`].
unsafe fn json_text<'a, T: Deserialize<'a>>(
    json: *const c_char,
    length: usize,
) -> Result<T, Failure> {
    // SAFETY: as the caller promises.
    let text = unsafe { document(json, length, "json") }?;
    serde_json::from_str(text).map_err(|error| Failure::argument("json", error.to_string()))
}

/// Objects of one resource in one place.
///
/// # Safety
///
/// As [`any_text`].
unsafe fn api(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
) -> Result<Api<DynamicObject>, Failure> {
    let client = required(client, "client")?;
    let resource = required(resource, "resource")?;
    // SAFETY: as the caller promises.
    let namespace = unsafe { any_text(ns, ns_length, "ns") }?;
    Ok(client.api(resource, namespace))
}

/// Gives the answer to whoever wants it.
fn answer(object: Option<Out<'_, kinf_object>>, answer: crate::Object) {
    if let Some(object) = object {
        object.put(kinf_object::new(answer));
    }
}

/// Where the answer goes, if anybody wants it.
fn wanted(
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
) -> Result<Option<Out<'_, kinf_object>>, Failure> {
    object.map(|object| Out::new(Some(object), "object")).transpose()
}

/// Makes an object.
///
/// @param ns where to make it; empty for an object of the whole cluster
/// @param json the object; apiVersion and kind are added where it has none
/// @param object set to what the server made of it, to be freed with kinf_object_free(); may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_create(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, body) = unsafe {
            (api(client, resource, ns, ns_length)?, json_text::<&RawValue>(json, json_length)?)
        };
        answer(object, api.create(body)?);
        Ok(())
    })
}

/// Replaces an object by another. With a resource version in its metadata it only replaces that very
/// state; otherwise KINF_CONFLICT.
///
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param json the new object
/// @param object set to what the server made of it, to be freed with kinf_object_free(); may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_replace(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    name: *const c_char,
    name_length: usize,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, name, body) = unsafe {
            (
                api(client, resource, ns, ns_length)?,
                some_text(name, name_length, "name")?,
                json_text::<&RawValue>(json, json_length)?,
            )
        };
        answer(object, api.replace(name, body)?);
        Ok(())
    })
}

/// Changes an object in part.
///
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param type one of kinf_patch_type
/// @param json the patch
/// @param object set to the changed object, to be freed with kinf_object_free(); may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_patch(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    name: *const c_char,
    name_length: usize,
    r#type: i32,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, name, body) = unsafe {
            (
                api(client, resource, ns, ns_length)?,
                some_text(name, name_length, "name")?,
                json_text::<&RawValue>(json, json_length)?,
            )
        };
        let patch = match r#type {
            MERGE => Patch::Merge(body),
            JSON => Patch::Json(body),
            STRATEGIC => Patch::Strategic(body),
            other => return Err(Failure::argument("type", format!("{other} is no kind of patch"))),
        };
        answer(object, api.patch(name, &patch)?);
        Ok(())
    })
}

/// Makes an object have these fields, creating it if there is none: server-side apply.
///
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param field_manager who owns the fields from then on
/// @param force whether to take fields that somebody else owns; otherwise KINF_CONFLICT
/// @param json the fields
/// @param object set to the object, to be freed with kinf_object_free(); may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_apply(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    name: *const c_char,
    name_length: usize,
    field_manager: *const c_char,
    field_manager_length: usize,
    force: bool,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, name, manager, body) = unsafe {
            (
                api(client, resource, ns, ns_length)?,
                some_text(name, name_length, "name")?,
                some_text(field_manager, field_manager_length, "field_manager")?,
                json_text::<&RawValue>(json, json_length)?,
            )
        };
        let api = api.field_manager(manager);
        let api = if force { api.force() } else { api };
        answer(object, api.apply(name, body)?);
        Ok(())
    })
}

/// Deletes an object.
///
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param object set to the object if it is still there, waiting for its finalizers or its grace period,
/// to be freed with kinf_object_free(), and to NULL if it is gone; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_delete(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    name: *const c_char,
    name_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, name) = unsafe {
            (api(client, resource, ns, ns_length)?, some_text(name, name_length, "name")?)
        };
        delete(&api, name, &DeleteOptions::new(), object)
    })
}

/// The same, with a say in how.
///
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param json Kubernetes' DeleteOptions, as {"propagationPolicy":"Foreground","gracePeriodSeconds":0,
/// "preconditions":{"uid":"...","resourceVersion":"..."}}, or some of them; KINF_CONFLICT if a precondition
/// does not hold
/// @param object set to the object if it is still there, waiting for its finalizers or its grace period,
/// to be freed with kinf_object_free(), and to NULL if it is gone; may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_delete_with(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    ns: *const c_char,
    ns_length: usize,
    name: *const c_char,
    name_length: usize,
    json: *const c_char,
    json_length: usize,
    object: Option<&mut MaybeUninit<*mut kinf_object>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let object = wanted(object)?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (api, name, options) = unsafe {
            (
                api(client, resource, ns, ns_length)?,
                some_text(name, name_length, "name")?,
                json_text(json, json_length)?,
            )
        };
        delete(&api, name, &options, object)
    })
}

fn delete(
    api: &Api<DynamicObject>,
    name: &str,
    options: &DeleteOptions,
    object: Option<Out<'_, kinf_object>>,
) -> Result<(), Failure> {
    match api.delete_with(name, options)? {
        Deletion::Pending(pending) => answer(object, pending),
        Deletion::Done(_) => {}
    }
    Ok(())
}
