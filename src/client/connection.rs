//! One cluster as a client sees it: sends requests, with credentials, retries and warnings.

use std::{
    io::Read,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    auth::{Auth, Authorization},
    crowd::Crowd,
    failure::{self, Answer},
    request::Request,
    transport::{Body, Bounds, HttpRequest, HttpResponse, Method, Transport},
    warning::Warnings,
};
use crate::{
    config::{Config, Impersonate},
    error::{Error, Phase, Result},
    stop::StopToken,
};

/// The largest answer that is read whole: objects, discovery, statuses. Lists and logs are streamed.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// How much of an answer that is a failure is looked at.
const MAX_FAILURE: u64 = 1024 * 1024;

/// How long is waited for an answer that one can do without.
const PROBE: Duration = Duration::from_secs(5);

/// How long to wait before a GET is sent again that the connection broke under.
const AFTER_DISCONNECT: Duration = Duration::from_secs(1);

/// The connections to one cluster, with whoever is making requests on them.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) config: Arc<Config>,
    transport: Transport,
    auth: Auth,
    impersonation: Vec<(String, String)>,
    pub(super) warnings: Warnings,
    pub(super) crowd: Arc<Crowd>,
}

/// What kind of call a request is, which decides how long it may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CallKind {
    /// One answer, read whole.
    Request,
    /// The same for an answer that one can do without: it is asked for once, and not waited for long.
    Probe,
    /// One page of a list, read as it arrives.
    List,
    /// Events for as long as they come, with a limit on silence or none; opened again so often, if the server asks
    /// for that.
    Watch { silence: Option<Duration>, retries: u32 },
    /// Bytes for as long as they come.
    Stream,
}

/// A successful answer whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) body: Body,
    pub(crate) content_type: String,
}

impl Connection {
    pub(crate) fn new(config: Config) -> Result<Self> {
        let config = Arc::new(config);
        Ok(Self {
            transport: Transport::new(config.clone())?,
            auth: Auth::new(&config.credentials)?,
            impersonation: config.impersonate.as_ref().map_or_else(Vec::new, impersonation),
            warnings: Warnings::default(),
            crowd: Arc::default(),
            config,
        })
    }

    /// Sends a request and reads the answer whole.
    pub(crate) fn request(&self, request: &Request, stop: &StopToken) -> Result<Vec<u8>> {
        self.read_whole(request, CallKind::Request, stop)
    }

    /// The same for an answer that one can do without.
    pub(crate) fn probe(&self, request: &Request, stop: &StopToken) -> Result<Vec<u8>> {
        self.read_whole(request, CallKind::Probe, stop)
    }

    fn read_whole(&self, request: &Request, kind: CallKind, stop: &StopToken) -> Result<Vec<u8>> {
        let mut answered = self.open(request, kind, stop)?;
        let body = answered.body.read_all(MAX_ANSWER)?;
        // A `Status` of failure is a failure, whatever the HTTP code says.
        match failure::failure_status(&body) {
            Some(status) => Err(Error::Api(Box::new(status))),
            None => Ok(body),
        }
    }

    /// Sends a request, again if the server asks for that, and gives the body to read.
    ///
    /// # Differences from client-go
    ///
    /// A 401 is answered by one more try with fresh credentials, if there are any. A 5xx with
    /// `Retry-After` is retried only for verbs that can safely happen twice. A too large resource
    /// version is not retried here, because waiting longer is the caller's decision. A watch that
    /// cannot be opened is an error and not an empty watch, and is not tried again after its connection
    /// broke: an informer does that, and knows from where. Nor are watches of informers opened again because the
    /// server asks for that: informers wait where others can see it.
    pub(crate) fn open(
        &self,
        request: &Request,
        kind: CallKind,
        stop: &StopToken,
    ) -> Result<Answered> {
        let bounds = self.bounds(kind, stop);
        let target = self.config.server.prefix.clone() + &request.target();
        let headers = self.headers(request, kind);
        let mut retries_left = match kind {
            CallKind::Probe => 0,
            CallKind::Watch { retries, .. } => retries,
            _ => self.config.max_retries,
        };
        // A stream may last, but not the attempts to open it.
        let opened_by =
            bounds.deadline.or_else(|| Instant::now().checked_add(self.config.timeouts.request));
        let mut may_renew = true;
        let mut earlier: Option<Error> = None;
        loop {
            let authorization = self.auth.current(stop)?;
            let sent = self.send(request, &target, &headers, &authorization, bounds.clone());
            let (error, wait) = match sent {
                Ok(response) if (200..=299).contains(&response.status()) => {
                    return self.answered(response, request, kind);
                }
                Ok(response) => {
                    let retry_after = retry_after(&response);
                    let code = response.status();
                    let error = self.failure(response, request);
                    if error.is_unauthorized() && may_renew && self.auth.refused(&authorization) {
                        log::debug!("the server refused the credentials: trying with fresh ones");
                        may_renew = false;
                        continue;
                    }
                    let wait = retry_after.filter(|_| may_retry(code, request.method, &error));
                    (error, wait)
                }
                Err(error) => {
                    let again = request.method == Method::Get
                        && matches!(kind, CallKind::Request | CallKind::List)
                        && is_broken_connection(&error);
                    (error, again.then_some(AFTER_DISCONNECT))
                }
            };
            let Some(wait) = wait.filter(|_| retries_left > 0) else {
                return Err(after(earlier, error));
            };
            retries_left -= 1;
            if opened_by.is_some_and(|deadline| Instant::now() + wait >= deadline) {
                return Err(after(earlier, error));
            }
            log::debug!("trying again in {wait:?}: {error}");
            earlier = Some(error);
            if stop.wait_timeout(wait) {
                return Err(Error::Stopped);
            }
        }
    }

    fn bounds(&self, kind: CallKind, stop: &StopToken) -> Bounds {
        let timeouts = &self.config.timeouts;
        let now = Instant::now();
        let (deadline, silence) = match kind {
            CallKind::Request => (now.checked_add(timeouts.request), None),
            CallKind::Probe => (now.checked_add(timeouts.request.min(PROBE)), None),
            CallKind::List => (now.checked_add(timeouts.list_page), Some(timeouts.list_idle)),
            CallKind::Watch { silence, .. } => (None, silence),
            CallKind::Stream => (None, None),
        };
        Bounds { stop: stop.clone(), deadline, silence }
    }

    fn headers(&self, request: &Request, kind: CallKind) -> Vec<(&'static str, String)> {
        // A compressed watch would be delivered late, and is small.
        let compressed =
            self.config.compression && matches!(kind, CallKind::Request | CallKind::List);
        let encoding = if compressed { "gzip" } else { "identity" };
        let mut headers =
            vec![("accept", request.accept.clone()), ("accept-encoding", encoding.to_owned())];
        if request.body.is_some() {
            headers.push(("content-type", request.content_type.to_owned()));
        }
        headers
    }

    fn send(
        &self,
        request: &Request,
        target: &str,
        headers: &[(&'static str, String)],
        authorization: &Authorization,
        mut bounds: Bounds,
    ) -> Result<HttpResponse> {
        if let Some(certificate) = &authorization.certificate {
            self.transport.use_certificate(certificate)?;
        }
        if bounds.deadline.is_none() {
            // A stream may last, but its head must come.
            let first = self.config.timeouts.request;
            bounds.deadline = Instant::now().checked_add(first);
            bounds.silence = Some(bounds.silence.map_or(first, |silence| silence.min(first)));
        }
        self.transport.send(
            &HttpRequest {
                method: request.method,
                target,
                headers,
                extra_headers: &self.impersonation,
                authorization: authorization.header.clone(),
                body: request.body.as_deref(),
            },
            bounds,
        )
    }

    fn answered(
        &self,
        mut response: HttpResponse,
        request: &Request,
        kind: CallKind,
    ) -> Result<Answered> {
        self.take_warnings(&response);
        if matches!(kind, CallKind::Watch { .. }) && response.status() != 200 {
            return Err(self.failure(response, request));
        }
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        if let CallKind::Watch { silence, .. } = kind {
            response.body.set_silence(silence);
        } else if kind == CallKind::Stream {
            response.body.set_silence(None);
        }
        Ok(Answered { body: response.body, content_type })
    }

    fn failure(&self, mut response: HttpResponse, request: &Request) -> Error {
        self.take_warnings(&response);
        let retry_after = retry_after(&response).map(|wait| wait.as_secs());
        let content_type = response.header("content-type").map(str::to_owned);
        let mut body = Vec::new();
        let read = (&mut response.body).take(MAX_FAILURE).read_to_end(&mut body);
        // A body that cannot be read does not hide the code.
        if let Err(error) = read
            && let Error::Stopped = response.body.failure(error)
        {
            return Error::Stopped;
        }
        let answer = Answer {
            method: request.method,
            about: &request.about,
            code: response.status(),
            content_type: content_type.as_deref(),
            retry_after: retry_after.and_then(|seconds| u32::try_from(seconds).ok()),
        };
        failure::from_answer(&answer, &body)
    }

    fn take_warnings(&self, response: &HttpResponse) {
        for header in response.headers("warning") {
            self.warnings.receive(header);
        }
    }
}

/// Whether the server's wish to be asked again may be granted.
fn may_retry(code: u16, method: Method, error: &Error) -> bool {
    match code {
        429 => true,
        500..=599 => {
            let idempotent = matches!(method, Method::Get | Method::Put | Method::Delete);
            idempotent && !error.is_too_large_resource_version()
        }
        _ => false,
    }
}

/// The header in seconds; a date is not understood, as in client-go.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let seconds: u32 = response.header("retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

fn is_broken_connection(error: &Error) -> bool {
    matches!(error, Error::Transport(error)
        if error.is_disconnect() && matches!(error.phase(), Phase::Send | Phase::Response))
}

/// An earlier failure of another kind is worth knowing about.
fn after(earlier: Option<Error>, error: Error) -> Error {
    match (earlier, error) {
        (Some(Error::Transport(earlier)), Error::Transport(last))
            if earlier.to_string() != last.to_string() =>
        {
            last.after(&earlier).into()
        }
        (_, error) => error,
    }
}

fn impersonation(who: &Impersonate) -> Vec<(String, String)> {
    let mut headers = vec![("impersonate-user".to_owned(), who.user.clone())];
    headers.extend(who.uid.iter().map(|uid| ("impersonate-uid".to_owned(), uid.clone())));
    headers.extend(who.groups.iter().map(|group| ("impersonate-group".to_owned(), group.clone())));
    for (key, values) in &who.extra {
        let name = format!("impersonate-extra-{}", escape_header_name(key));
        headers.extend(values.iter().map(|value| (name.clone(), value.clone())));
    }
    headers
}

/// Percent-encodes what a header name cannot hold, and the percent sign; names are lower case.
fn escape_header_name(key: &str) -> String {
    let mut name = String::new();
    for byte in key.bytes() {
        if byte != b'%' && (byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte)) {
            name.push(byte.to_ascii_lowercase().into());
        } else {
            name += &format!("%{byte:02X}").to_ascii_lowercase();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn api(code: u16) -> Error {
        Error::Api(Box::new(Status::failure(code, "", "")))
    }

    #[test]
    fn a_429_is_retried_for_every_verb_and_a_5xx_for_idempotent_ones() {
        use Method::{Delete, Get, Patch, Post, Put};
        for method in [Get, Put, Delete, Post, Patch] {
            assert!(may_retry(429, method, &api(429)));
            assert_eq!(may_retry(503, method, &api(503)), !matches!(method, Post | Patch));
            for code in [301, 400, 404, 409] {
                assert!(!may_retry(code, method, &api(code)), "{code}");
            }
        }
        let too_large = Status::failure(504, "Timeout", "Too large resource version: 9");
        assert!(!may_retry(504, Get, &Error::Api(Box::new(too_large))));
    }

    #[test]
    fn impersonation_becomes_headers() {
        let mut who = Impersonate::user("jane");
        who.uid = Some("7".into());
        who.groups = vec!["a".into(), "b".into()];
        who.extra.insert("example.com/Sco%pe".into(), vec!["x".into(), "y".into()]);
        let extra = "impersonate-extra-example.com%2fsco%25pe";
        let expected = [
            ("impersonate-user", "jane"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "a"),
            ("impersonate-group", "b"),
            (extra, "x"),
            (extra, "y"),
        ];
        assert_eq!(impersonation(&who), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
}
