//! The API server's account of a failure.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// The `Status` object with which the API server answers a request that failed.
///
/// An answer that is not a `Status` (a proxy's HTML page, an empty body) becomes one, with the HTTP
/// code, the [`Reason`] that belongs to it, and the text as a cause.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The failure in words, from the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The failure in one word, for programs; empty if the server gave none. See [`Status::is`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Which object it is about, and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// The HTTP status code, or 0 if the server gave none.
    pub code: u16,
    /// List metadata: an expired continue token comes with one to go on, inconsistently, from.
    pub metadata: StatusMeta,
}

/// The metadata of a [`Status`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusMeta {
    /// A token to go on with after the one that was sent has expired.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    /// The resource version of the state the answer is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// What a [`Status`] says beyond code, reason and message.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, or the resource, of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The UID of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Each field or fact that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// How many seconds to wait before trying again; 0 if the server did not say.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One cause among the [`StatusDetails`].
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StatusCause {
    /// The cause in one word, such as `FieldValueRequired`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The cause in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field it is about, such as `spec.replicas`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $code:literal)*) => {
        /// Why the API server refused, in one word.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Reason { $($(#[$doc])* $name),* }

        impl Reason {
            /// The word as it stands in [`Status::reason`](field@Status::reason).
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// The HTTP code that goes with it.
            #[must_use]
            pub fn code(self) -> u16 {
                match self { $(Self::$name => $code),* }
            }

            fn parse(word: &str) -> Option<Self> {
                match word { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    /// An object of that name exists.
    AlreadyExists 409
    /// The request cannot be understood.
    BadRequest 400
    /// Somebody else changed the object first.
    Conflict 409
    /// The resource version or continue token is too old.
    Expired 410
    /// Not allowed.
    Forbidden 403
    /// No longer there, and it will not come back.
    Gone 410
    /// A bug or an outage behind the server.
    InternalError 500
    /// The object does not pass validation.
    Invalid 422
    /// The resource does not have this verb.
    MethodNotAllowed 405
    /// None of the media types the client accepts is on offer.
    NotAcceptable 406
    /// No such object or resource.
    NotFound 404
    /// The body is too large.
    RequestEntityTooLarge 413
    /// The server cannot answer this request in time; the action may still happen.
    ServerTimeout 500
    /// Not ready to answer.
    ServiceUnavailable 503
    /// A stored object cannot be read.
    StorageReadError 500
    /// The request took too long.
    Timeout 504
    /// Too much load.
    TooManyRequests 429
    /// Credentials are missing or refused.
    Unauthorized 401
    /// The server does not read this kind of body.
    UnsupportedMediaType 415
}

impl Status {
    /// A failure made here rather than by a server.
    pub(crate) fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status: "Failure".into(),
            message: message.into(),
            reason: reason.into(),
            code,
            ..Self::default()
        }
    }

    /// Whether the failure has this reason.
    ///
    /// The server's word decides; where it gave none, or one that is not known here, the HTTP code
    /// does (except for reasons that share a code with another).
    #[must_use]
    pub fn is(&self, reason: Reason) -> bool {
        match Reason::parse(&self.reason) {
            Some(known) => known == reason,
            None => self.code == reason.code() && !shares_its_code(reason),
        }
    }

    pub(crate) fn is_too_many_requests(&self) -> bool {
        self.is(Reason::TooManyRequests) || self.code == 429
    }

    pub(crate) fn is_request_entity_too_large(&self) -> bool {
        self.is(Reason::RequestEntityTooLarge) || self.code == 413
    }

    /// Three generations of API servers say this in three ways.
    pub(crate) fn is_too_large_resource_version(&self) -> bool {
        const TEXT: &str = "Too large resource version";
        let causes = self.details.as_ref().map_or(&[][..], |details| &details.causes);
        causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || (self.is(Reason::Timeout)
                && (causes.iter().any(|cause| cause.message == TEXT)
                    || self.message.contains(TEXT)))
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        (seconds > 0 || self.is(Reason::ServerTimeout)).then(|| Duration::from_secs(seconds.into()))
    }
}

/// Reasons that a bare HTTP code does not imply.
fn shares_its_code(reason: Reason) -> bool {
    use Reason::{AlreadyExists, Expired, ServerTimeout, StorageReadError};
    matches!(reason, AlreadyExists | Expired | ServerTimeout | StorageReadError)
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { "no message" } else { &self.message })?;
        match (self.code, self.reason.as_str()) {
            (0, "") => Ok(()),
            (0, reason) => write!(f, " ({reason})"),
            (code, "") => write!(f, " ({code})"),
            (code, reason) => write!(f, " ({code} {reason})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn error(json: &str) -> Error {
        Error::Api(Box::new(serde_json::from_str(json).unwrap()))
    }

    #[test]
    fn the_servers_reason_decides_and_the_code_only_without_a_known_one() {
        assert!(error(r#"{"code":404}"#).is_not_found());
        assert!(error(r#"{"code":500,"reason":"NotFound"}"#).is_not_found());
        assert!(!error(r#"{"code":404,"reason":"Conflict"}"#).is_not_found());
        assert!(error(r#"{"code":404,"reason":"Unheard"}"#).is_not_found());
        assert!(error(r#"{"code":409}"#).is_conflict());
        assert!(!error(r#"{"code":409}"#).is_already_exists(), "by reason only");
        assert!(!error(r#"{"code":500}"#).is_timeout());
        assert!(error(r#"{"code":429,"reason":"Forbidden"}"#).is_too_many_requests());
        assert!(error(r#"{"code":413,"reason":"Forbidden"}"#).is_request_entity_too_large());
    }

    #[test]
    fn expired_is_the_reason_or_a_bare_410() {
        assert!(error(r#"{"code":410,"reason":"Expired"}"#).is_expired());
        assert!(error(r#"{"code":410,"reason":"Gone"}"#).is_expired());
        assert!(error(r#"{"code":410}"#).is_expired());
        assert!(!error(r#"{"code":410,"reason":"NotFound"}"#).is_expired());
        assert!(!error(r#"{"code":410,"reason":"Expired"}"#).is_gone());
    }

    #[test]
    fn too_large_resource_version_in_all_three_historic_forms() {
        let by_cause = r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
        let by_cause_text =
            r#"{"code":504,"details":{"causes":[{"message":"Too large resource version"}]}}"#;
        let by_text =
            r#"{"reason":"Timeout","message":"Too large resource version: 9, current: 3"}"#;
        for form in [by_cause, by_cause_text, by_text] {
            assert!(error(form).is_too_large_resource_version(), "{form}");
        }
        assert!(
            !error(r#"{"code":500,"message":"Too large resource version"}"#)
                .is_too_large_resource_version()
        );
    }

    #[test]
    fn retry_after_is_what_the_server_asked_for() {
        let asked = error(r#"{"code":429,"details":{"retryAfterSeconds":7}}"#);
        assert_eq!(asked.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(error(r#"{"reason":"ServerTimeout"}"#).retry_after(), Some(Duration::ZERO));
        assert_eq!(error(r#"{"code":429}"#).retry_after(), None);
    }

    #[test]
    fn display_has_the_message_and_the_code() {
        let text = error(r#"{"message":"pods \"x\" not found","code":404,"reason":"NotFound"}"#);
        assert_eq!(text.to_string(), "api: pods \"x\" not found (404 NotFound)");
    }
}
