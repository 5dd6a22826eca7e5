//! What can be made to go wrong.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Something that goes wrong with a request.
///
/// In JSON, for [control over HTTP](crate::testing#control-over-http), a fault is an object with one member,
/// named after the variant: `{"reset": {"at": {"afterEvents": 3}}}`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Fault {
    /// Answers with this status instead of doing what was asked.
    Status(StatusFault),
    /// Resets the connection (RST).
    Reset {
        /// When.
        at: Moment,
    },
    /// Closes the connection (FIN).
    Close {
        /// When.
        at: Moment,
    },
    /// Sends nothing more and keeps the connection open, as a server does whose machine is gone.
    Hang {
        /// When.
        at: Moment,
    },
    /// Sends the body in small pieces.
    Drip {
        /// The size of a piece.
        bytes: usize,
        /// The pause after each piece, in milliseconds.
        pause_ms: u64,
    },
    /// Ends the connection in the middle of a chunk, or of the body if it is not chunked.
    TruncateChunk {
        /// Watch events before that; for other requests it does not matter.
        after_events: u32,
    },
    /// Sends no bookmarks on a watch.
    WithholdBookmarks {
        /// Not even the one that ends the initial events of a streamed list.
        initial: bool,
    },
    /// Says that the `continue` token of a list is too old (410). Requests without one pass.
    ExpireContinue,
    /// Sends an `ERROR` event on a watch and ends it.
    WatchError {
        /// Events before that.
        after_events: u32,
        /// The status in the event; 410 `Expired` by default.
        #[serde(default = "StatusFault::expired")]
        status: StatusFault,
    },
    /// Sends bytes that are not JSON: instead of the body, or on a watch after some events.
    Garbage {
        /// Events before that.
        after_events: u32,
    },
    /// Sends every watch event twice.
    DuplicateEvents,
    /// Sends every watch event this much later, in milliseconds.
    LateEvents {
        /// The delay of each event.
        delay_ms: u64,
    },
    /// Compresses the body and spoils it; on a watch after some events, in the middle of another one.
    CorruptGzip {
        /// Events before that; for other requests it does not matter.
        after_events: u32,
    },
}

/// When in a response something happens.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Moment {
    /// After the request is read, before anything is sent.
    BeforeHead,
    /// After the head, before the body.
    AfterHead,
    /// After so many bytes of the body.
    AfterBytes(usize),
    /// After so many events of a watch; at once for other requests.
    AfterEvents(u32),
}

/// A status to answer with.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusFault {
    code: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
    #[serde(default)]
    form: StatusForm,
}

/// How a [`StatusFault`] is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StatusForm {
    /// A `Status` object in JSON.
    #[default]
    Json,
    /// The same with line breaks and indentation.
    Pretty,
    /// Its message as plain text.
    Text,
    /// A page such as a proxy shows.
    Html,
}

impl StatusFault {
    /// An HTTP status code, with the reason and message that belong to it.
    #[must_use]
    pub fn new(code: u16) -> Self {
        Self { code, reason: None, message: None, retry_after: None, form: StatusForm::Json }
    }

    /// Another reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Another message.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Asks the client to wait so many seconds, in a `Retry-After` header and in the status.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Written like this instead of as JSON.
    #[must_use]
    pub fn form(mut self, form: StatusForm) -> Self {
        self.form = form;
        self
    }

    pub(super) fn shape(&self) -> StatusForm {
        self.form
    }

    pub(crate) fn expired() -> Self {
        Self::new(410).reason("Expired").message("too old resource version: 1 (2)")
    }

    pub(super) fn retry_after_seconds(&self) -> Option<u32> {
        self.retry_after
    }

    pub(crate) fn status(&self) -> crate::Status {
        let (reason, message) = words(self.code);
        let reason = self.reason.as_deref().unwrap_or(reason);
        let message = self.message.as_deref().unwrap_or(message);
        let mut status = crate::Status::failure(self.code, reason, message);
        if let Some(seconds) = self.retry_after {
            status.details = Some(crate::StatusDetails {
                retry_after_seconds: seconds,
                ..crate::StatusDetails::default()
            });
        }
        status
    }
}

impl Fault {
    /// A status with its usual reason and message.
    #[must_use]
    pub fn status(code: u16) -> Self {
        Self::Status(StatusFault::new(code))
    }

    /// 429, asking to wait so many seconds.
    #[must_use]
    pub fn too_many_requests(retry_after: u32) -> Self {
        Self::Status(StatusFault::new(429).retry_after(retry_after))
    }

    /// 410 as an event of a watch, after so many others.
    #[must_use]
    pub fn expired_after(events: u32) -> Self {
        Self::WatchError { after_events: events, status: StatusFault::expired() }
    }

    pub(super) fn pause(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }
}

/// The reason and message that a real server gives with a code.
fn words(code: u16) -> (&'static str, &'static str) {
    match code {
        400 => ("BadRequest", "the request cannot be understood"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        405 => {
            ("MethodNotAllowed", "the server does not allow this method on the requested resource")
        }
        409 => ("Conflict", "Operation cannot be fulfilled"),
        410 => ("Expired", "The resourceVersion for the provided list is too old."),
        422 => ("Invalid", "the request is invalid"),
        429 => ("TooManyRequests", "too many requests, please try again later"),
        500 => ("InternalError", "Internal error occurred: injected"),
        503 => ("ServiceUnavailable", "apiserver is shutting down"),
        504 => ("Timeout", "Timeout: request did not complete within the allotted timeout"),
        _ => ("", "injected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_survive_a_trip_through_json() {
        for (fault, json) in [
            (
                Fault::too_many_requests(3),
                r#"{"status":{"code":429,"retryAfter":3,"form":"json"}}"#,
            ),
            (Fault::Reset { at: Moment::BeforeHead }, r#"{"reset":{"at":"beforeHead"}}"#),
            (Fault::Hang { at: Moment::AfterEvents(3) }, r#"{"hang":{"at":{"afterEvents":3}}}"#),
            (Fault::Drip { bytes: 7, pause_ms: 20 }, r#"{"drip":{"bytes":7,"pauseMs":20}}"#),
            (Fault::CorruptGzip { after_events: 2 }, r#"{"corruptGzip":{"afterEvents":2}}"#),
            (Fault::DuplicateEvents, r#""duplicateEvents""#),
        ] {
            assert_eq!(serde_json::to_string(&fault).unwrap(), json);
            assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), fault);
        }
        let short = r#"{"watchError":{"afterEvents":2}}"#;
        assert_eq!(serde_json::from_str::<Fault>(short).unwrap(), Fault::expired_after(2));
    }
}
