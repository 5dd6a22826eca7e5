//! The codes that functions return.

use crate::error::Error;

/// What came of a call. The numbers never change; new ones may be added.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum kinf_status {
    /// It worked.
    KINF_OK = 0,
    /// An argument cannot be used: NULL, not UTF-8, too long, or not what it should be. The message names it.
    KINF_INVALID_ARGUMENT = 100,
    /// The configuration cannot be loaded, or contradicts itself. The message names file and field.
    KINF_CONFIG = 200,
    /// Connecting, TLS or HTTP failed.
    KINF_TRANSPORT = 300,
    /// It took longer than it may.
    KINF_TIMEOUT = 301,
    /// What arrived is not the JSON that was expected.
    KINF_DECODE = 310,
    /// The server refused, for a reason without a code here: see kinf_error_http_code().
    KINF_API = 400,
    /// The credentials were missing or refused.
    KINF_UNAUTHORIZED = 401,
    /// The credentials are good, and the action is not allowed.
    KINF_FORBIDDEN = 403,
    /// There is no such thing: object, label, field, resource, index.
    KINF_NOT_FOUND = 404,
    /// Somebody else changed the object first.
    KINF_CONFLICT = 409,
    /// The resource version is too old.
    KINF_EXPIRED = 410,
    /// The object does not pass the server's validation.
    KINF_INVALID_OBJECT = 422,
    /// The server is shedding load.
    KINF_TOO_MANY_REQUESTS = 429,
    /// There is an object of that name.
    KINF_ALREADY_EXISTS = 499,
    /// It has been stopped or closed.
    KINF_STOPPED = 500,
    /// There is nothing now: try again later.
    KINF_EMPTY = 501,
    /// The caches have not synced, in time or at all. The message says which, and why.
    KINF_NOT_SYNCED = 502,
    /// Something else failed.
    KINF_OTHER = 900,
    /// A fault in the library: it panicked, and the call was given up.
    KINF_PANIC = 999,
}

impl kinf_status {
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Stopped => Self::KINF_STOPPED,
            Error::Config(_) => Self::KINF_CONFIG,
            Error::Decode(_) => Self::KINF_DECODE,
            Error::Invalid(_) => Self::KINF_INVALID_ARGUMENT,
            error if error.is_timeout() => Self::KINF_TIMEOUT,
            Error::Transport(_) => Self::KINF_TRANSPORT,
            Error::Wait(_) => Self::KINF_STOPPED,
            Error::Api(_) => Self::of_api(error),
            _ => Self::KINF_OTHER,
        }
    }

    fn of_api(error: &Error) -> Self {
        let known = [
            (error.is_not_found(), Self::KINF_NOT_FOUND),
            (error.is_already_exists(), Self::KINF_ALREADY_EXISTS),
            (error.is_conflict(), Self::KINF_CONFLICT),
            (error.is_unauthorized(), Self::KINF_UNAUTHORIZED),
            (error.is_forbidden(), Self::KINF_FORBIDDEN),
            (error.is_expired(), Self::KINF_EXPIRED),
            (error.is_invalid(), Self::KINF_INVALID_OBJECT),
            (error.is_too_many_requests(), Self::KINF_TOO_MANY_REQUESTS),
        ];
        known.iter().find(|(is, _)| *is).map_or(Self::KINF_API, |(_, status)| *status)
    }
}
