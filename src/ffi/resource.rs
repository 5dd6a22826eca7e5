//! Where objects are served.

use std::{ffi::c_char, mem::MaybeUninit};

use super::{
    border::{Out, any_text, attempt, free, give_text, guarded, required, some_text},
    error::{Failure, kinf_error},
    status::kinf_status,
};
use crate::{
    client::{Api, Client},
    object::{ApiResource, DynamicObject, Texts, join_api_version},
};

/// A resource of the API: group, version, kind, plural, and whether its objects live in namespaces.
///
/// Found by kinf_client_find() and kinf_client_find_kind(), or made by kinf_resource_new() or
/// kinf_resource_subresource(); free it with kinf_resource_free(). May be used from any thread.
pub struct kinf_resource {
    resource: ApiResource,
    /// Part of each object that is read and written on its own, as "status".
    subresource: Option<String>,
    /// Group, version, kind and plural.
    texts: Texts,
}

impl kinf_resource {
    pub(super) fn new(resource: ApiResource) -> Self {
        let texts = [resource.group(), resource.version(), resource.kind(), resource.plural()];
        Self { texts: texts.into_iter().collect(), resource, subresource: None }
    }

    /// For an informer or a list, which are about whole objects.
    pub(super) fn whole(&self) -> Result<&ApiResource, Failure> {
        match &self.subresource {
            None => Ok(&self.resource),
            Some(name) => {
                let why = format!("{name} is part of each object, and not to be listed or watched");
                Err(Failure::argument("resource", why))
            }
        }
    }

    /// The objects, or that part of them.
    pub(super) fn api(&self, client: &Client) -> Api<DynamicObject> {
        let api = client.dynamic(&self.resource);
        match self.subresource.as_deref() {
            None => api,
            // Whose kind is another.
            Some("scale") => api.scale().cast(),
            Some(name) => api.subresource(name),
        }
    }
}

/// A resource that is known without asking the server.
///
/// @param group the API group, as "apps"; empty for the core group
/// @param version as "v1"
/// @param kind as "Deployment"
/// @param plural as "deployments"
/// @param namespaced whether its objects live in namespaces
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_resource_new(
    group: *const c_char,
    group_length: usize,
    version: *const c_char,
    version_length: usize,
    kind: *const c_char,
    kind_length: usize,
    plural: *const c_char,
    plural_length: usize,
    namespaced: bool,
    resource: Option<&mut MaybeUninit<*mut kinf_resource>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let resource = Out::new(resource, "resource")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (group, version, kind, plural) = unsafe {
            (
                any_text(group, group_length, "group")?,
                some_text(version, version_length, "version")?,
                some_text(kind, kind_length, "kind")?,
                some_text(plural, plural_length, "plural")?,
            )
        };
        let api_version = join_api_version(group, version);
        let made = match namespaced {
            true => ApiResource::namespaced(&api_version, kind, plural),
            false => ApiResource::cluster(&api_version, kind, plural),
        };
        resource.put(kinf_resource::new(made));
        Ok(())
    })
}

/// Part of the objects of a resource that is read and written on its own: "status", "scale", "eviction" and
/// whatever else the server has.
///
/// kinf_client_get(), _create(), _replace(), _patch() and _apply() with it are about that part of the
/// object of that name, which for _create() is the one in the metadata of what is made. It cannot be listed or
/// watched.
///
/// @param resource whose
/// @param name as "status"
/// @param subresource set to a handle that is to be freed with kinf_resource_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_resource_subresource(
    resource: Option<&kinf_resource>,
    name: *const c_char,
    name_length: usize,
    subresource: Option<&mut MaybeUninit<*mut kinf_resource>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let subresource = Out::new(subresource, "subresource")?;
        let whole = required(resource, "resource")?.whole()?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        let mut made = kinf_resource::new(whole.clone());
        made.subresource = Some(name.to_owned());
        subresource.put(made);
        Ok(())
    })
}

/// Frees a resource; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_resource_free(resource: *mut kinf_resource) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(resource) }
}

/// The API group, as "apps"; empty for the core group. Valid until the resource is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_resource_group(
    resource: Option<&kinf_resource>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || resource?.texts.get(0))
}

/// The version, as "v1". Valid until the resource is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_resource_version(
    resource: Option<&kinf_resource>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || resource?.texts.get(1))
}

/// The kind, as "Deployment". Valid until the resource is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_resource_kind(
    resource: Option<&kinf_resource>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || resource?.texts.get(2))
}

/// The plural, as "deployments". Valid until the resource is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_resource_plural(
    resource: Option<&kinf_resource>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || resource?.texts.get(3))
}

/// Whether the objects live in namespaces; false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_resource_is_namespaced(resource: Option<&kinf_resource>) -> bool {
    guarded(false, || resource.is_some_and(|resource| resource.resource.is_namespaced()))
}
