//! A Kubernetes API server inside the process, for tests.

use std::{ffi::c_char, mem::MaybeUninit};

use super::{
    border::{Out, attempt, free, give_text, guarded, required},
    config::kinf_config,
    error::kinf_error,
    status::kinf_status,
    text::kinf_text,
};
use crate::{
    error::Error,
    object::Texts,
    testing::{ApiServer, Fault, Verb, When},
};

/// A Kubernetes API server inside the process, on a loopback port, for tests. Only in libraries built with
/// the feature "testing", and with KINF_TESTING defined.
///
/// Made by kinf_test_server_start(); kinf_test_server_free() stops it. May be used from any thread.
pub struct kinf_test_server {
    server: ApiServer,
    url: Texts,
}

/// Starts a server.
///
/// @param demo whether it has a small workload that changes by itself
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_start(
    demo: bool,
    server: Option<&mut MaybeUninit<*mut kinf_test_server>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let place = Out::new(server, "server")?;
        let server = if demo { ApiServer::demo() } else { ApiServer::start() };
        let server = server.map_err(Error::other)?;
        place.put(kinf_test_server { url: [server.url()].into_iter().collect(), server });
        Ok(())
    })
}

/// Stops a server and frees it; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_test_server_free(server: *mut kinf_test_server) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(server) }
}

/// Where it listens, as "http://127.0.0.1:40123". Valid until the server is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_url(
    server: Option<&kinf_test_server>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || server?.url.get(0))
}

/// A configuration for the server.
///
/// @param config set to a handle that is to be freed with kinf_config_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_config(
    server: Option<&kinf_test_server>,
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = Out::new(config, "config")?;
        config.put(kinf_config::new(required(server, "server")?.server.config()));
        Ok(())
    })
}

/// A kubeconfig for the server, in YAML.
///
/// @param text set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_kubeconfig(
    server: Option<&kinf_test_server>,
    text: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let text = Out::new(text, "text")?;
        text.put(kinf_text::new(required(server, "server")?.server.kubeconfig()));
        Ok(())
    })
}

/// Cuts every connection. Does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_drop_connections(server: Option<&kinf_test_server>) {
    guarded((), || {
        if let Some(server) = server {
            server.server.drop_connections();
        }
    });
}

/// Forgets the history: watches from before now are told that they are too old, and list again. Does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_compact(server: Option<&kinf_test_server>) {
    guarded((), || {
        if let Some(server) = server {
            server.server.compact();
        }
    });
}

/// Answers the next so many lists and watches with an HTTP code, as 403 or 500. Does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_server_fail(
    server: Option<&kinf_test_server>,
    http_code: u16,
    times: u32,
) {
    guarded((), || {
        if let Some(server) = server {
            for verb in [Verb::List, Verb::Watch] {
                server.server.inject(When::any().verb(verb).times(times), Fault::status(http_code));
            }
        }
    });
}

/// Panics inside of the library, to show that it is caught: KINF_PANIC.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_test_panic(error: Option<&mut MaybeUninit<*mut kinf_error>>) -> kinf_status {
    attempt(error, || panic!("on purpose"))
}
