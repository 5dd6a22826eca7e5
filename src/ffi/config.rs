//! Which server to talk to, and as whom.

use std::{ffi::c_char, mem::MaybeUninit, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::{
    border::{Out, any_text, attempt, bytes, document, free, required, some_text, text},
    error::{Failure, kinf_error},
    status::kinf_status,
    text::kinf_text,
};
use crate::config::{Config, ConfigBuilder, Impersonate, Timeouts};

/// Which server to talk to, and as whom.
///
/// Made by kinf_config_infer(), kinf_config_in_cluster(), kinf_config_from_kubeconfig_file(),
/// kinf_config_from_kubeconfig_text() or kinf_config_new(); free it with kinf_config_free(), also after it
/// was given to kinf_client_new(), which takes a copy. May be used from any thread.
pub struct kinf_config(Mutex<Arc<Config>>);

impl kinf_config {
    /// Sets one of the limits.
    fn limit(&self, timeout_ms: u64, set: impl Fn(&mut Timeouts, Duration)) -> Result<(), Failure> {
        if timeout_ms == 0 {
            return Err(Failure::argument("timeout_ms", "it is 0"));
        }
        self.change(|builder| {
            let mut timeouts = self.0.lock().timeouts().clone();
            set(&mut timeouts, Duration::from_millis(timeout_ms));
            builder.timeouts(timeouts)
        })
    }

    pub(super) fn new(config: Config) -> Self {
        Self(Mutex::new(Arc::new(config)))
    }

    pub(super) fn get(&self) -> Config {
        Config::clone(&self.0.lock())
    }

    fn change(&self, change: impl Fn(ConfigBuilder) -> ConfigBuilder) -> Result<(), Failure> {
        loop {
            let before = self.0.lock().clone();
            // Not under the lock: it may log, and who is told may ask about the configuration.
            let changed = Arc::new(change(before.to_builder()).build()?);
            let mut config = self.0.lock();
            if Arc::ptr_eq(&before, &config) {
                *config = changed;
                return Ok(());
            }
        }
    }
}

/// The configuration that kubectl would use: $KUBECONFIG, then that of the pod the program runs in, then
/// ~/.kube/config.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_infer(
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        Out::new(config, "config")?.put(kinf_config::new(Config::infer()?));
        Ok(())
    })
}

/// The configuration of the pod that the program runs in.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_in_cluster(
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        Out::new(config, "config")?.put(kinf_config::new(Config::in_cluster()?));
        Ok(())
    })
}

/// The configuration that a kubeconfig file describes.
///
/// @param path the file
/// @param context which context of it; empty for its current one
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_from_kubeconfig_file(
    path: *const c_char,
    path_length: usize,
    context: *const c_char,
    context_length: usize,
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = Out::new(config, "config")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (path, context) = unsafe {
            (some_text(path, path_length, "path")?, any_text(context, context_length, "context")?)
        };
        let context = Some(context).filter(|name| !name.is_empty());
        config.put(kinf_config::new(Config::from_kubeconfig_file(path, context)?));
        Ok(())
    })
}

/// The configuration that the text of a kubeconfig file describes.
///
/// @param text the YAML
/// @param context which context of it; empty for its current one
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_from_kubeconfig_text(
    text: *const c_char,
    text_length: usize,
    context: *const c_char,
    context_length: usize,
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = Out::new(config, "config")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (text, context) = unsafe {
            (document(text, text_length, "text")?, any_text(context, context_length, "context")?)
        };
        let context = Some(context).filter(|name| !name.is_empty());
        config.put(kinf_config::new(Config::from_kubeconfig_str(text, context)?));
        Ok(())
    })
}

/// A configuration for the server at a URL, without credentials.
///
/// @param url as "https://10.0.0.1:6443"
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_new(
    url: *const c_char,
    url_length: usize,
    config: Option<&mut MaybeUninit<*mut kinf_config>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = Out::new(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let url = unsafe { some_text(url, url_length, "url") }?;
        config.put(kinf_config::new(Config::builder(url).build()?));
        Ok(())
    })
}

/// Frees a configuration; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_free(config: *mut kinf_config) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(config) }
}

/// Sends a bearer token, in place of any other credentials but certificates.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_token(
    config: Option<&kinf_config>,
    token: *const c_char,
    token_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let token = unsafe { some_text(token, token_length, "token") }?;
        config.change(|builder| builder.token(token))
    })
}

/// Sends the bearer token that a file holds, read again as it changes.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_token_file(
    config: Option<&kinf_config>,
    path: *const c_char,
    path_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let path = unsafe { some_text(path, path_length, "path") }?;
        config.change(|builder| builder.token_file(path))
    })
}

/// Sends a user name and a password.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_basic_auth(
    config: Option<&kinf_config>,
    user: *const c_char,
    user_length: usize,
    password: *const c_char,
    password_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (user, password) = unsafe {
            (some_text(user, user_length, "user")?, text(password, password_length, "password")?)
        };
        config.change(|builder| builder.basic_auth(user, password))
    })
}

/// Trusts these certificate authorities, PEM encoded, and no others. Otherwise those of the system.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_certificate_authority(
    config: Option<&kinf_config>,
    pem: *const c_char,
    pem_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let pem = unsafe { bytes(pem, pem_length, "pem") }?;
        config.change(|builder| builder.certificate_authority(pem))
    })
}

/// Trusts the certificate authorities that a PEM file holds, read again as it changes, and no others.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_certificate_authority_file(
    config: Option<&kinf_config>,
    path: *const c_char,
    path_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let path = unsafe { some_text(path, path_length, "path") }?;
        config.change(|builder| builder.certificate_authority_file(path))
    })
}

/// Shows a client certificate, PEM encoded.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_client_certificate(
    config: Option<&kinf_config>,
    certificate: *const c_char,
    certificate_length: usize,
    key: *const c_char,
    key_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (certificate, key) = unsafe {
            (
                bytes(certificate, certificate_length, "certificate")?,
                some_text(key, key_length, "key")?,
            )
        };
        config.change(|builder| builder.client_certificate(certificate, key))
    })
}

/// Shows the client certificate that two PEM files hold, read again as they change.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_client_certificate_files(
    config: Option<&kinf_config>,
    certificate_path: *const c_char,
    certificate_path_length: usize,
    key_path: *const c_char,
    key_path_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointers and lengths of the caller's texts.
        let (certificate_path, key_path) = unsafe {
            (
                some_text(certificate_path, certificate_path_length, "certificate_path")?,
                some_text(key_path, key_path_length, "key_path")?,
            )
        };
        config.change(|builder| builder.client_certificate_files(certificate_path, key_path))
    })
}

/// Accepts any certificate: whoever is in between can read and change everything.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_set_insecure_skip_tls_verify(
    config: Option<&kinf_config>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        config.change(ConfigBuilder::insecure_skip_tls_verify)
    })
}

/// Expects this name in the server's certificate. Otherwise the host of the URL.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_tls_server_name(
    config: Option<&kinf_config>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        config.change(|builder| builder.tls_server_name(name))
    })
}

/// Goes through a proxy: http, https, socks5 or socks5h. Otherwise what the environment says; empty for none.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_proxy(
    config: Option<&kinf_config>,
    url: *const c_char,
    url_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let url = unsafe { any_text(url, url_length, "url") }?;
        config.change(|builder| match url {
            "" => builder.no_proxy(),
            url => builder.proxy(url),
        })
    })
}

/// Acts as another user.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_impersonate(
    config: Option<&kinf_config>,
    user: *const c_char,
    user_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let user = unsafe { some_text(user, user_length, "user") }?;
        config.change(|builder| {
            builder.impersonate(Impersonate { user: user.into(), ..Impersonate::default() })
        })
    })
}

/// The namespace that is meant where none is named.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_default_namespace(
    config: Option<&kinf_config>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        config.change(|builder| builder.default_namespace(name))
    })
}

/// A name for the cluster, which objects carry. Otherwise host and port of the server.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_cluster(
    config: Option<&kinf_config>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { text(name, name_length, "name") }?;
        config.change(|builder| builder.cluster(name))
    })
}

/// What goes into the User-Agent header.
///
/// If it cannot be used, the configuration stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_config_set_user_agent(
    config: Option<&kinf_config>,
    name: *const c_char,
    name_length: usize,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let config = required(config, "config")?;
        // SAFETY: pointer and length of the caller's text.
        let name = unsafe { some_text(name, name_length, "name") }?;
        config.change(|builder| builder.user_agent(name))
    })
}

/// How long to try to reach the server: name lookup, TCP, a proxy's answer. Otherwise 30 seconds.
///
/// @param timeout_ms more than 0
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_set_connect_timeout(
    config: Option<&kinf_config>,
    timeout_ms: u64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        required(config, "config")?.limit(timeout_ms, |timeouts, limit| timeouts.connect = limit)
    })
}

/// How long a call may take that is neither a list nor a watch: writes, reads of one object, discovery.
/// Otherwise 60 seconds.
///
/// @param timeout_ms more than 0
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_set_request_timeout(
    config: Option<&kinf_config>,
    timeout_ms: u64,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        required(config, "config")?.limit(timeout_ms, |timeouts, limit| timeouts.request = limit)
    })
}

/// The URL of the server.
///
/// @param url set to a text that is to be freed with kinf_text_free()
#[unsafe(no_mangle)]
pub extern "C" fn kinf_config_server(
    config: Option<&kinf_config>,
    url: Option<&mut MaybeUninit<*mut kinf_text>>,
    error: Option<&mut MaybeUninit<*mut kinf_error>>,
) -> kinf_status {
    attempt(error, || {
        let url = Out::new(url, "url")?;
        url.put(kinf_text::new(required(config, "config")?.get().server()));
        Ok(())
    })
}
