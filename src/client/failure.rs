//! Turning an answer that is not a success into an error.

use super::{request::About, transport::Method};
use crate::{
    error::{Error, Reason, Status, StatusCause, StatusDetails},
    json::decode::decode_bytes,
};

/// How much of an answer that is not a `Status` is kept.
const MAX_TEXT: usize = 2048;

/// How much of a name is told: no object's is longer.
const MAX_NAME: usize = 253;

/// What servers say of a resource that they do not serve; they do not say which.
const NO_SUCH_RESOURCE: &str = "the server could not find the requested resource";

/// What is known about an answer besides its body.
pub(super) struct Answer<'a> {
    pub(super) method: Method,
    pub(super) about: &'a About,
    pub(super) code: u16,
    pub(super) content_type: Option<&'a str>,
    pub(super) retry_after: Option<u32>,
}

/// The server's own account if the body is one, else one made from the HTTP code.
pub(super) fn from_answer(answer: &Answer<'_>, body: &[u8]) -> Error {
    let status = failure_status(body).map(|status| completed(status, answer));
    Error::Api(Box::new(status.unwrap_or_else(|| generic(answer, body))))
}

/// What the server's own account leaves out is in the head of its answer.
fn completed(mut status: Status, answer: &Answer<'_>) -> Status {
    if status.code == 0 {
        status.code = answer.code;
    }
    if status.code == 404 && status.message == NO_SUCH_RESOURCE {
        status.message += &named(answer.about);
    }
    if let Some(seconds) = answer.retry_after {
        let details = status.details.get_or_insert_default();
        if details.retry_after_seconds == 0 {
            details.retry_after_seconds = seconds;
        }
    }
    status
}

/// The body as a `Status` of a failure; a success is not one, nor is anything without a kind.
pub(super) fn failure_status(body: &[u8]) -> Option<Status> {
    status(body).filter(|status| status.status == "Failure")
}

/// The body as a `Status` of a success, which some calls are answered with in place of an object.
pub(super) fn success_status(body: &[u8]) -> Option<Status> {
    status(body).filter(|status| status.status != "Failure")
}

fn status(body: &[u8]) -> Option<Status> {
    #[derive(serde::Deserialize)]
    struct Kind {
        kind: String,
    }
    let kind: Kind = decode_bytes(body).ok()?;
    if kind.kind != "Status" {
        return None;
    }
    decode_bytes(body).ok()
}

fn generic(answer: &Answer<'_>, body: &[u8]) -> Status {
    let is_text = answer.content_type.is_none_or(|kind| kind.starts_with("text/"));
    let body = String::from_utf8_lossy(&body[..body.len().min(MAX_TEXT)]);
    let text = if is_text { body.trim() } else { "unknown" };
    let reason = reason(answer.code, answer.method).map_or("", Reason::as_str);
    let mut message = match answer.code {
        400 => "the server does not understand the request".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => format!("access is forbidden: {text}"),
        404 => NO_SUCH_RESOURCE.to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 | 415 => format!("the server and the client have no format in common: {text}"),
        409 => "the server reports a conflict".to_owned(),
        422 => "the server refuses the object as invalid".to_owned(),
        429 => "the server has received too many requests".to_owned(),
        503 => "the server cannot handle the request at the moment".to_owned(),
        504 => "the server could not complete the request in time".to_owned(),
        code => format!("the server answered {code}"),
    };
    message += &named(answer.about);
    let mut status = Status::failure(answer.code, reason, message);
    let About { group, resource, name } = answer.about;
    let cause = StatusCause {
        reason: "UnexpectedServerResponse".into(),
        message: text.into(),
        ..StatusCause::default()
    };
    let details = StatusDetails {
        group: group.clone(),
        kind: resource.clone(),
        name: name.clone(),
        causes: vec![cause],
        retry_after_seconds: answer.retry_after.unwrap_or(0),
        ..StatusDetails::default()
    };
    status.details = Some(details);
    status
}

/// What a request was about, to be put behind a message that does not say so.
fn named(About { group, resource, name }: &About) -> String {
    let mut text = resource.clone();
    if !resource.is_empty() && !group.is_empty() {
        text += &format!(".{group}");
    }
    if !resource.is_empty() && !name.is_empty() {
        text.push(' ');
        text.extend(name.chars().take(MAX_NAME));
    }
    if text.is_empty() { text } else { format!(" ({text})") }
}

fn reason(code: u16, method: Method) -> Option<Reason> {
    Some(match code {
        400 => Reason::BadRequest,
        401 => Reason::Unauthorized,
        403 => Reason::Forbidden,
        404 => Reason::NotFound,
        405 => Reason::MethodNotAllowed,
        406 => Reason::NotAcceptable,
        409 if method == Method::Post => Reason::AlreadyExists,
        409 => Reason::Conflict,
        415 => Reason::UnsupportedMediaType,
        422 => Reason::Invalid,
        429 => Reason::TooManyRequests,
        503 => Reason::ServiceUnavailable,
        504 => Reason::Timeout,
        500..=599 => Reason::InternalError,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16, method: Method, content_type: Option<&str>, body: &str) -> Error {
        let about =
            About { group: "apps".into(), resource: "deployments".into(), name: "web".into() };
        let answer = Answer { method, about: &about, code, content_type, retry_after: Some(3) };
        from_answer(&answer, body.as_bytes())
    }

    #[test]
    fn a_failure_in_the_body_wins_over_the_http_code() {
        let body = r#"{"kind":"Status","status":"Failure","message":"gone","reason":"NotFound","code":404}"#;
        let error = error(400, Method::Get, Some("application/json"), body);
        assert!(error.is_not_found());
        assert_eq!(error.status().unwrap().code, 404);
    }

    #[test]
    fn a_resource_that_is_not_served_is_named() {
        let said = "the server could not find the requested resource";
        let body = format!(
            r#"{{"kind":"Status","status":"Failure","message":"{said}","code":404,"details":{{}}}}"#
        );
        let json = error(404, Method::Get, Some("application/json"), &body);
        let text = error(404, Method::Get, Some("text/plain"), "404 page not found");
        for error in [json, text] {
            let text = error.to_string();
            assert!(text.starts_with(&format!("api: {said} (deployments.apps web)")), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_failure_status_is_not_taken_for_one() {
        for body in [
            r#"{"kind":"Status","status":"Success"}"#,
            r#"{"status":"Failure","code":404}"#,
            "{}",
            "",
            "<html>",
            "null",
            "[]",
        ] {
            let error = error(400, Method::Get, Some("application/json"), body);
            assert!(error.is_bad_request(), "{body}");
            assert_eq!(
                error.status().unwrap().details.as_ref().unwrap().causes[0].message,
                "unknown"
            );
        }
    }

    #[test]
    fn codes_have_their_reasons() {
        let by_code = |code| error(code, Method::Put, None, "text");
        assert!(by_code(401).is_unauthorized() && by_code(403).is_forbidden());
        assert!(by_code(404).is_not_found() && by_code(405).is_method_not_allowed());
        assert!(by_code(409).is_conflict() && by_code(422).is_invalid());
        assert!(by_code(415).is_unsupported_media_type());
        assert!(by_code(429).is_too_many_requests() && by_code(503).is_service_unavailable());
        assert!(by_code(504).is_timeout() && by_code(500).is_internal_error());
        assert!(by_code(502).is_internal_error() && by_code(410).is_expired());
        assert!(by_code(413).is_request_entity_too_large());
        assert!(error(409, Method::Post, None, "").is_already_exists());
    }

    #[test]
    fn text_is_kept_up_to_a_limit_and_names_what_it_is_about() {
        let error = error(403, Method::Get, Some("text/plain"), &"x".repeat(9999));
        let status = error.status().unwrap();
        assert!(status.message.contains("deployments.apps web"), "{status}");
        assert_eq!(status.details.as_ref().unwrap().causes[0].message.len(), MAX_TEXT);
        assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(3)));
    }
}
