//! What can go wrong, and what to ask of it.

mod config;
mod decode;
mod other;
mod status;
mod transport;
mod wait;

use std::{error::Error as StdError, fmt, io, time::Duration};

pub use self::{
    config::ConfigError,
    decode::DecodeError,
    other::OtherError,
    status::{Reason, Status, StatusCause, StatusDetails, StatusMeta},
    transport::{Phase, TransportError},
    wait::{Missing, NotReady, WaitError},
};
pub(crate) use self::{
    config::Kind as ConfigErrorKind,
    decode::Found,
    wait::{Goal, Grouped},
};

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong while talking to an API server or running an informer.
///
/// Ask the predicates ([`is_not_found`](Self::is_not_found), [`is_conflict`](Self::is_conflict), ...)
/// rather than matching on codes. `Display` says what happened in one line; a
/// [`source`](std::error::Error::source) is there only where it has more to say. `Debug` is that line
/// with all causes, as a `main` that returns an error prints it; `{:#?}` shows the structure. No variant
/// ever shows a credential.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kinformer::{Client, Error};
///
/// match Client::try_default()?.api::<Pod>().namespace("prod").get("web-0") {
///     Ok(pod) => println!("{}", pod.resource_version()),
///     Err(error) if error.is_not_found() => println!("not there"),
///     Err(Error::Api(status)) => println!("the server says {}: {}", status.code, status.message),
///     Err(error) => return Err(error),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[doc(alias = "StatusError")]
pub enum Error {
    /// The server answered with a failure.
    Api(Box<Status>),
    /// The configuration could not be loaded, or contradicts itself.
    Config(ConfigError),
    /// The server's answer is not the JSON that was expected.
    Decode(DecodeError),
    /// An argument cannot be used; nothing was sent.
    Invalid(InvalidInput),
    /// Code that is not this crate's failed: see [`Error::other`].
    Other(OtherError),
    /// The call was interrupted because its [`StopToken`](crate::StopToken) was stopped.
    Stopped,
    /// Connecting, TLS or HTTP failed, or took too long.
    Transport(TransportError),
    /// Informers have not done what was waited for: they took too long, or cannot any more.
    Wait(WaitError),
}

impl Error {
    pub(crate) fn invalid(argument: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(InvalidInput(Box::new((argument, message.into()))))
    }

    pub(crate) fn decode(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self::Decode(DecodeError::new(what, source))
    }

    /// A failure of your own code, for a [`ListerWatcher`](crate::ListerWatcher), a transform or a handler
    /// to return. Its text is the text of the error.
    ///
    /// ```
    /// let error = kinformer::Error::other("the archive is locked");
    /// assert_eq!(error.to_string(), "the archive is locked");
    /// ```
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(OtherError::new(error.into()))
    }

    /// A connection of your own that failed, for a [`ListerWatcher`](crate::ListerWatcher) to return: the
    /// predicates and a reflector see in it what they see in one of this crate.
    ///
    /// ```
    /// use kinformer::{Error, Phase};
    ///
    /// let refused = std::io::ErrorKind::ConnectionRefused.into();
    /// assert!(Error::transport(Phase::Connect, &refused).is_connection_refused());
    /// ```
    #[must_use]
    pub fn transport(phase: Phase, error: &io::Error) -> Self {
        TransportError::io(phase, error.to_string(), error.kind()).into()
    }

    /// The error that [`Error::other`] was given, if it is of this type.
    #[must_use]
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match self {
            Self::Other(error) => error.get_ref().downcast_ref(),
            _ => None,
        }
    }

    /// The server's own account of the failure, if it gave one.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            _ => None,
        }
    }

    /// The object, or the resource itself, does not exist (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_reason(Reason::NotFound)
    }

    /// An object of that name exists (409 on create).
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.has_reason(Reason::AlreadyExists)
    }

    /// Somebody else changed the object first, or a precondition does not hold (409).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.has_reason(Reason::Conflict)
    }

    /// The credentials were missing or refused (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.has_reason(Reason::Unauthorized)
    }

    /// The credentials are good and the action is not allowed (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.has_reason(Reason::Forbidden)
    }

    /// The object or the request parameters do not pass the server's validation (422).
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.has_reason(Reason::Invalid)
    }

    /// The request cannot be understood (400).
    #[must_use]
    pub fn is_bad_request(&self) -> bool {
        self.has_reason(Reason::BadRequest)
    }

    /// The resource does not have this verb (405).
    #[must_use]
    pub fn is_method_not_allowed(&self) -> bool {
        self.has_reason(Reason::MethodNotAllowed)
    }

    /// The server does not read this kind of body (415).
    #[must_use]
    pub fn is_unsupported_media_type(&self) -> bool {
        self.has_reason(Reason::UnsupportedMediaType)
    }

    /// The body is larger than the server takes (413).
    #[must_use]
    pub fn is_request_entity_too_large(&self) -> bool {
        self.status().is_some_and(Status::is_request_entity_too_large)
    }

    /// What was asked for is gone for good (410 `Gone`; see also [`is_expired`](Self::is_expired)).
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.has_reason(Reason::Gone)
    }

    /// The resource version or continue token is too old: list again (410 `Expired` or `Gone`).
    #[must_use]
    #[doc(alias = "IsResourceExpired")]
    pub fn is_expired(&self) -> bool {
        self.has_reason(Reason::Expired) || self.is_gone()
    }

    /// The server has not reached the resource version that was asked for.
    #[must_use]
    #[doc(alias = "isTooLargeResourceVersionError")]
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status().is_some_and(Status::is_too_large_resource_version)
    }

    /// The server is shedding load (429).
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.status().is_some_and(Status::is_too_many_requests)
    }

    /// Something broke inside the server (500).
    #[must_use]
    pub fn is_internal_error(&self) -> bool {
        self.has_reason(Reason::InternalError)
    }

    /// The server is not ready to answer (503).
    #[must_use]
    pub fn is_service_unavailable(&self) -> bool {
        self.has_reason(Reason::ServiceUnavailable)
    }

    /// The call took longer than its limit, here or in the server (504); a wait took longer than it may.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Transport(error) => error.is_timeout(),
            Self::Wait(error) => error.is_timeout(),
            _ => self.has_reason(Reason::Timeout) || self.has_reason(Reason::ServerTimeout),
        }
    }

    /// Nobody listens at the server's address.
    #[must_use]
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Transport(error) if error.is_connection_refused())
    }

    /// The call was interrupted by its stop token.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// How long the server asks its client to wait before trying again.
    #[must_use]
    #[doc(alias = "SuggestsClientDelay")]
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(Status::retry_after)
    }

    fn has_reason(&self, reason: Reason) -> bool {
        self.status().is_some_and(|status| status.is(reason))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(status) => write!(f, "api: {status}"),
            Self::Config(error) => write!(f, "config: {error}"),
            Self::Decode(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
            Self::Other(error) => error.fmt(f),
            Self::Stopped => f.write_str("stopped"),
            Self::Transport(error) => error.fmt(f),
            Self::Wait(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(&describe(self));
        }
        match self {
            Self::Api(status) => f.debug_tuple("Api").field(status).finish(),
            Self::Config(error) => f.debug_tuple("Config").field(error).finish(),
            Self::Decode(error) => f.debug_tuple("Decode").field(error).finish(),
            Self::Invalid(error) => f.debug_tuple("Invalid").field(error).finish(),
            Self::Other(error) => f.debug_tuple("Other").field(error).finish(),
            Self::Stopped => f.write_str("Stopped"),
            Self::Transport(error) => f.debug_tuple("Transport").field(error).finish(),
            Self::Wait(error) => f.debug_tuple("Wait").field(error).finish(),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            Self::Other(error) => error.source(),
            Self::Transport(error) => error.source(),
            Self::Api(_) | Self::Decode(_) | Self::Invalid(_) | Self::Stopped | Self::Wait(_) => {
                None
            }
        }
    }
}

/// An error with what caused it, in one line.
pub(crate) fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Errors of others often repeat their cause.
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// An argument that cannot be used, with the reason.
#[derive(Clone, Debug)]
pub struct InvalidInput(Box<(&'static str, String)>);

impl InvalidInput {
    /// The name of the argument.
    #[must_use]
    pub fn argument(&self) -> &str {
        self.0.0
    }
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid {}: {}", self.0.0, self.0.1)
    }
}

impl StdError for InvalidInput {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 16, "{}", size_of::<Error>());
    }

    #[test]
    fn display_is_one_lower_case_line_with_the_reason() {
        let cause = serde_json::from_str::<u8>("[").unwrap_err();
        assert_eq!(
            Error::decode("pods \"a/b\"", cause).to_string(),
            "cannot decode pods \"a/b\": invalid type: sequence, expected u8 at line 1 column 0"
        );
        assert_eq!(Error::invalid("name", "is empty").to_string(), "invalid name: is empty");
        assert_eq!(Error::Stopped.to_string(), "stopped");
        let broken = io::Error::other("the cable is out");
        assert_eq!(Error::transport(Phase::Send, &broken).to_string(), "send: the cable is out");
    }

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the archive cannot be read")
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn debug_is_one_line_with_every_cause_once() {
        let error = Error::other(Outer(io::Error::other("the disk is full")));
        assert_eq!(error.to_string(), "the archive cannot be read");
        assert_eq!(format!("{error:?}"), "the archive cannot be read: the disk is full");
        assert!(error.downcast_ref::<Outer>().is_some() && error.downcast_ref::<Error>().is_none());
        let refused = Error::transport(Phase::Connect, &io::ErrorKind::ConnectionRefused.into());
        assert_eq!(format!("{refused:?}"), "connect: connection refused");
        assert!(format!("{refused:#?}").starts_with("Transport("), "{refused:#?}");
        let decode = Error::decode("a list", serde::de::Error::custom("it is none"));
        assert_eq!(format!("{decode:?}"), "cannot decode a list: it is none");
    }
}
