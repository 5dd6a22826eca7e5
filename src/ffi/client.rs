//! A connection to a cluster: what reads.

use std::{ffi::c_char, mem::MaybeUninit};

use super::{
    border::{Out, any_text, attempt, free, guarded, required, some_text},
    config::kinf_config,
    error::{Failure, kinf_error},
    list::kinf_list,
    object::kinf_object,
    resource::kinf_resource,
    selection::kinf_selection,
    status::kinf_status,
    text::{kinf_strings, kinf_text},
};
use crate::{
    client::{Api, Client, Discovery},
    object::DynamicObject,
    stop::StopToken,
};

/// A connection to a cluster.
///
/// Made by kinf_client_new(); free it with kinf_client_free(). kinf_client_clone() gives another handle on
/// the same connections. May be used from any thread, by several at once: each call blocks its caller only.
pub struct kinf_client {
    pub(super) client: Client,
    pub(super) discovery: Discovery,
    stop: StopToken,
    /// Whether the server only goes through the motions of writing.
    dry_run: bool,
}

impl kinf_client {
    fn new(client: &Client, dry_run: bool) -> Self {
        let stop = StopToken::new();
        let client = client.with_stop(&stop);
        Self { discovery: client.discovery(), client, stop, dry_run }
    }

    pub(super) fn api(&self, resource: &kinf_resource, namespace: &str) -> Api<DynamicObject> {
        let api = resource.api(&self.client);
        let api = if self.dry_run { api.dry_run() } else { api };
        if namespace.is_empty() { api } else { api.namespace(namespace) }
    }
}

/// A client for the server that a configuration describes. Nothing is sent yet.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_new(
    config: Option<&kinf_config>,
    client: Option<&mut MaybeUninit<*mut kinf_client>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let client = Out::new(client, "client")?;
        let config = required(config, "config")?.get();
        client.put(kinf_client::new(&Client::new(config)?, false));
        Ok(())
    })
}

/// Another handle on the same connections, to be freed on its own. Stopping one does not stop the other.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_clone(
    client: Option<&kinf_client>,
    clone: Option<&mut MaybeUninit<*mut kinf_client>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let clone = Out::new(clone, "clone")?;
        let client = required(client, "client")?;
        clone.put(kinf_client::new(&client.client, client.dry_run));
        Ok(())
    })
}

/// The same for a dry run: what this handle writes, the server checks, completes and answers, and does not keep.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_dry_run(
    client: Option<&kinf_client>,
    clone: Option<&mut MaybeUninit<*mut kinf_client>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let clone = Out::new(clone, "clone")?;
        clone.put(kinf_client::new(&required(client, "client")?.client, true));
        Ok(())
    })
}

/// Interrupts every call on this handle, now and from now on: they return KINF_STOPPED. Informers are not
/// affected. Does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_stop(client: Option<&kinf_client>) {
    guarded((), || {
        if let Some(client) = client {
            client.stop.stop();
        }
    });
}

/// Frees a client; NULL is fine. Factories that were made with it keep what they need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_free(client: *mut kinf_client) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(client) }
}

/// Reads one object.
///
/// @param resource what it is
/// @param ns where it is; empty for an object of the whole cluster
/// @param name what it is called
/// @param object set to a handle that is to be freed with kinf_object_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_get(
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
        let object = Out::new(object, "object")?;
        let client = required(client, "client")?;
        let resource = required(resource, "resource")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (namespace, name) =
            unsafe { (any_text(ns, ns_length, "ns")?, some_text(name, name_length, "name")?) };
        object.put(kinf_object::new(client.api(resource, namespace).get(name)?));
        Ok(())
    })
}

/// Lists objects, page by page, into one list.
///
/// @param resource what they are
/// @param selection which of them; NULL for all
/// @param list set to a handle that is to be freed with kinf_list_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_list(
    client: Option<&kinf_client>,
    resource: Option<&kinf_resource>,
    selection: Option<&kinf_selection>,
    list: Option<&mut MaybeUninit<*mut kinf_list>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let list = Out::new(list, "list")?;
        let client = required(client, "client")?;
        let (namespace, options) = kinf_selection::of_list(selection);
        let resource = required(resource, "resource")?;
        resource.whole()?;
        let api = client.api(resource, &namespace);
        let objects = api.list_all(&options).collect::<Result<Vec<_>, _>>()?;
        list.put(kinf_list::new(objects));
        Ok(())
    })
}

/// Reads any path of the server, as "/readyz" or "/metrics".
///
/// @param text set to the answer, which is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_client_get_raw(
    client: Option<&kinf_client>,
    path: *const c_char,
    path_length: usize,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        let client = required(client, "client")?;
        // SAFETY: pointer and length of the caller's text.
        let path = unsafe { some_text(path, path_length, "path") }?;
        let answer = String::from_utf8(client.client.get_raw(path)?).map_err(|_| {
            Failure::new(kinf_status::KINF_DECODE, format!("the answer to {path:?} is not UTF-8"))
        })?;
        text.put(kinf_text::new(answer));
        Ok(())
    })
}

/// The version of the server, as "v1.36.3".
///
/// @param version set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_server_version(
    client: Option<&kinf_client>,
    version: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let version = Out::new(version, "version")?;
        let client = required(client, "client")?;
        version.put(kinf_text::new(client.client.server_version()?.git_version));
        Ok(())
    })
}

/// The warnings that the server has sent, each once, oldest first.
///
/// @param warnings set to texts that are to be freed with kinf_strings_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_client_warnings(
    client: Option<&kinf_client>,
    warnings: Option<&mut MaybeUninit<*mut kinf_strings>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let warnings = Out::new(warnings, "warnings")?;
        warnings.put(required(client, "client")?.client.warnings().into_iter().collect());
        Ok(())
    })
}
