//! What the server serves.

use std::{ffi::c_char, mem::MaybeUninit};

use serde_json::json;

use super::{
    border::{Out, attempt, required, some_text},
    client::kinf_client,
    error::{Failure, kinf_error},
    resource::kinf_resource,
    status::kinf_status,
    text::kinf_text,
};
use crate::client::DiscoveredResource;

/// Finds a resource of the server by plural, singular or short name, as "deployments", "deploy",
/// "deployments.apps" or "apps/v1/deployments".
///
/// The server's catalogue is read at the first call, and again if it lacks the name.
///
/// @param resource set to a handle that is to be freed with kinf_resource_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_find(
    client: Option<&kinf_client>,
    name: *const c_char,
    name_length: usize,
    resource: Option<&mut MaybeUninit<*mut kinf_resource>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let resource = Out::new(resource, "resource")?;
        let client = required(client, "client")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        let found = client.discovery.find_resource(name);
        resource.put(kinf_resource::new(found.map_err(missing)?.resource));
        Ok(())
    })
}

/// Finds the resource of a kind, as "Deployment", "Deployment.apps" or "apps/v1/Deployment".
///
/// @param resource set to a handle that is to be freed with kinf_resource_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_find_kind(
    client: Option<&kinf_client>,
    kind: *const c_char,
    kind_length: usize,
    resource: Option<&mut MaybeUninit<*mut kinf_resource>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let resource = Out::new(resource, "resource")?;
        let client = required(client, "client")?;
        // SAFETY: pointer and length of the caller's text.
        let kind = unsafe { some_text(kind, kind_length, "kind") }?;
        let found = client.discovery.find_kind(kind);
        resource.put(kinf_resource::new(found.map_err(missing)?.resource));
        Ok(())
    })
}

/// A name that is not there is an argument to Rust, and a code of its own to C.
pub(super) fn missing(error: crate::Error) -> Failure {
    Failure::from(error).or_argument(kinf_status::KINF_NOT_FOUND)
}

/// Everything that the server serves, as a JSON array of objects with the members group, version, kind,
/// plural, singular, shortNames, categories, namespaced, verbs and subresources.
///
/// @param preferred_only each resource only in the version that the server prefers
/// @param text set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_resources_json(
    client: Option<&kinf_client>,
    preferred_only: bool,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        let discovery = &required(client, "client")?.discovery;
        let found = match preferred_only {
            true => discovery.preferred_resources()?,
            false => discovery.resources()?,
        };
        let described: serde_json::Value = found.iter().map(describe).collect();
        text.put(kinf_text::new(described.to_string()));
        Ok(())
    })
}

/// Reads the server's catalogue again.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_refresh(
    client: Option<&kinf_client>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || Ok(required(client, "client")?.discovery.refresh()?))
}

fn describe(found: &DiscoveredResource) -> serde_json::Value {
    let resource = &found.resource;
    json!({
        "group": resource.group(),
        "version": resource.version(),
        "kind": resource.kind(),
        "plural": resource.plural(),
        "singular": found.singular,
        "shortNames": found.short_names,
        "categories": found.categories,
        "namespaced": resource.is_namespaced(),
        "verbs": found.verbs,
        "subresources": found.subresources,
    })
}
