//! Why something failed.

use std::{any::Any, ffi::c_char, mem::MaybeUninit};

use super::{
    border::{free, give_text, guarded},
    status::kinf_status,
};
use crate::{
    error::{DecodeError, Error, describe},
    object::Texts,
};

/// Why a call failed. Made by the call that failed; free it with kinf_error_free().
///
/// Belongs to whoever called; may be read from any thread.
pub struct kinf_error {
    status: kinf_status,
    http_code: u16,
    retry_after_ms: i64,
    /// Message and reason.
    texts: Texts,
}

/// A failure on its way to C.
pub(super) struct Failure {
    pub(super) status: kinf_status,
    message: String,
    server: Option<Server>,
}

/// What the server said about it.
struct Server {
    code: u16,
    reason: String,
    retry_after_ms: i64,
}

impl Failure {
    pub(super) fn new(status: kinf_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), server: None }
    }

    pub(super) fn argument(name: &str, why: impl AsRef<str>) -> Self {
        let message = format!("invalid {name}: {}", why.as_ref());
        Self::new(kinf_status::KINF_INVALID_ARGUMENT, message)
    }

    pub(super) fn not_found(what: &str, name: &str) -> Self {
        Self::new(kinf_status::KINF_NOT_FOUND, format!("there is no {what} {name:?}"))
    }

    pub(super) fn panic(payload: &(dyn Any + Send)) -> Self {
        let why = payload.downcast_ref::<&str>().copied();
        let why = why.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!("the library panicked: {}", why.unwrap_or("it did not say why"));
        Self::new(kinf_status::KINF_PANIC, message)
    }

    /// The same with another code, if it is about an argument.
    pub(super) fn or_argument(self, status: kinf_status) -> Self {
        match self.status {
            kinf_status::KINF_INVALID_ARGUMENT => Self { status, ..self },
            _ => self,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let retry_after = error.retry_after().map(|after| i64::try_from(after.as_millis()));
        let server = error.status().map(|status| Server {
            code: status.code,
            reason: status.reason.clone(),
            retry_after_ms: retry_after.map_or(-1, |ms| ms.unwrap_or(i64::MAX)),
        });
        Self { status: kinf_status::of(&error), message: describe(&error), server }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Error::from(error).into()
    }
}

impl From<Failure> for kinf_error {
    fn from(failure: Failure) -> Self {
        let server = failure.server;
        let reason = server.as_ref().map_or("", |server| &server.reason);
        Self {
            status: failure.status,
            texts: [&*failure.message, reason].into_iter().collect(),
            http_code: server.as_ref().map_or(0, |server| server.code),
            retry_after_ms: server.as_ref().map_or(-1, |server| server.retry_after_ms),
        }
    }
}

/// Frees an error; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kinf_error_free(error: *mut kinf_error) {
    // SAFETY: NULL, or given by this library and not freed, as the header says.
    unsafe { free(error) }
}

/// The code that the call returned; KINF_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_error_status(error: Option<&kinf_error>) -> kinf_status {
    guarded(kinf_status::KINF_PANIC, || error.map_or(kinf_status::KINF_OK, |error| error.status))
}

/// What happened, in one line; empty for NULL. Valid until the error is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_error_message(
    error: Option<&kinf_error>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || error?.texts.get(0))
}

/// The server's reason, as "NotFound"; empty if the failure is not the server's. Valid until the error
/// is freed.
///
/// @param length set to the number of bytes, without the NUL; may be NULL
#[unsafe(no_mangle)]
pub extern "C" fn kinf_error_reason(
    error: Option<&kinf_error>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    give_text(length, || error?.texts.get(1))
}

/// The HTTP code that the server answered with; 0 if the failure is not the server's.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_error_http_code(error: Option<&kinf_error>) -> u16 {
    guarded(0, || error.map_or(0, |error| error.http_code))
}

/// How long the server asks to wait before trying again, in milliseconds; -1 if it does not.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_error_retry_after_ms(error: Option<&kinf_error>) -> i64 {
    guarded(-1, || error.map_or(-1, |error| error.retry_after_ms))
}
