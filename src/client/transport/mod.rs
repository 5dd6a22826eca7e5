//! HTTP/1.1 to one API server.
//!
//! A request is [written](head) to a connection ([`wire`]) out of a [`pool`], and its answer read from it as it comes
//! ([`body`]). The connection underneath ([`stream`]) can be interrupted by a [`StopToken`](crate::StopToken) in
//! whatever it does.

mod body;
mod bounds;
mod dial;
pub(crate) mod files;
mod framing;
mod head;
mod input;
mod pool;
mod proxy;
mod resolve;
mod room;
mod socket;
mod stream;
mod tls;
mod wire;

use std::{io, sync::Arc, time::Instant};

use parking_lot::Mutex;

pub(crate) use self::{body::Body, bounds::Bounds, tls::ClientCertificate};
use self::{dial::Dialer, files::Files, head::Head, pool::Pool, wire::Wire};
use crate::{
    config::{Config, Identity, Secret, Trust},
    error::{ConfigError, Error, Phase, Result, TransportError},
};

/// A body that is not larger is sent together with the head, and with most heads in one write.
const SMALL_BODY: usize = 8 * 1024;

/// Sends requests to one server, over connections it keeps for the next ones.
#[derive(Debug)]
pub(crate) struct Transport {
    config: Arc<Config>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pool: Arc<Pool>,
    /// The files that trust and identity come from.
    files: Files,
    /// From a credential plugin; used where the configuration has no certificate of its own.
    certificate: Option<ClientCertificate>,
}

/// A request, less what is the same for all requests to one server.
#[derive(Debug)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [(&'static str, String)],
    /// Header names that are only known at run time, as impersonation's.
    pub(crate) extra_headers: &'a [(String, String)],
    /// The value of the `Authorization` header.
    pub(crate) authorization: Option<Secret>,
    pub(crate) body: Option<&'a [u8]>,
}

/// The verbs of HTTP that the API server knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// The head of a response, and its body to be read.
pub(crate) struct HttpResponse {
    head: Head,
    pub(crate) body: Body,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl Transport {
    pub(crate) fn new(config: Arc<Config>) -> Result<Self> {
        // Looked at before they are read: a change in between is seen later, not missed.
        let files = Files::new(files_of(&config), Instant::now());
        let state = Mutex::new(State { pool: pool(&config, None)?, files, certificate: None });
        Ok(Self { config, state })
    }

    /// Uses this certificate on new connections, and drops the old ones if it is another than before.
    pub(crate) fn use_certificate(&self, certificate: &ClientCertificate) -> Result<()> {
        if self.state.lock().certificate.as_ref() != Some(certificate) {
            // Not under the lock: it may tell a logger something, and a logger may use the client.
            let fresh = pool(&self.config, Some(certificate))?;
            let mut state = self.state.lock();
            state.pool = fresh;
            state.certificate = Some(certificate.clone());
        }
        Ok(())
    }

    /// Sends a request and blocks until the head of the response is there.
    ///
    /// An answer of any status is `Ok`.
    pub(crate) fn send(&self, request: &HttpRequest<'_>, bounds: Bounds) -> Result<HttpResponse> {
        let host = self.config.server.authority();
        let mut bytes = head::write(request, &host, &self.config.user_agent)?;
        let body = request.body.unwrap_or_default();
        let (joined, apart) =
            if body.len() <= SMALL_BODY { (body, &[][..]) } else { (&[][..], body) };
        bytes.extend(joined);
        loop {
            bounds.stop.check()?;
            let pool = self.pool(Instant::now());
            let kept = pool.take(Instant::now());
            let is_kept = kept.is_some();
            let mut wire = kept
                .map_or_else(|| pool.dial(&bounds), Ok)
                .map_err(|error| if bounds.stop.is_stopped() { Error::Stopped } else { error })?;
            let error = match exchange(&mut wire, [&bytes, apart], &bounds) {
                Ok(head) => {
                    log::trace!("{} {}: {}", request.method.as_str(), request.target, head.status);
                    let malformed = |error| failure(&bounds, Phase::Response, error);
                    let body = Body::new(wire, &head, Arc::downgrade(&pool), bounds.clone())
                        .map_err(malformed)?;
                    return Ok(HttpResponse { head, body });
                }
                Err((phase, error)) => failure(&bounds, phase, error),
            };
            // The server may close a kept connection at the moment it is used again. That says nothing
            // about the server, and a GET can be sent twice.
            let stale = matches!(&error, Error::Transport(error) if error.is_disconnect());
            if !(stale && is_kept && request.method == Method::Get) {
                return Err(error);
            }
        }
    }

    /// The connections for the certificates as they are on disk now.
    fn pool(&self, now: Instant) -> Arc<Pool> {
        let mut state = self.state.lock();
        if !state.files.changed(now) {
            return state.pool.clone();
        }
        let certificate = state.certificate.clone();
        drop(state);
        // Not under the lock: a logger may use the client.
        let read = pool(&self.config, certificate.as_ref());
        match &read {
            Ok(_) => log::debug!("certificates changed on disk: using them for new connections"),
            Err(error) => log::warn!("keeping the certificates read before: {error}"),
        }
        let mut state = self.state.lock();
        // Who came with another certificate in between has read the files later.
        if let Ok(fresh) = read
            && state.certificate == certificate
        {
            state.pool = fresh;
        }
        state.pool.clone()
    }
}

impl HttpResponse {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    /// The first value that is text of a header, whose name is given in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.head.values(name).filter_map(|value| std::str::from_utf8(value).ok())
    }
}

/// Sends a request, and waits for the head of the answer.
fn exchange(
    wire: &mut Wire,
    request: [&[u8]; 2],
    bounds: &Bounds,
) -> std::result::Result<Head, (Phase, io::Error)> {
    for part in request.into_iter().filter(|part| !part.is_empty()) {
        wire.send(part, bounds).map_err(|error| (Phase::Send, error))?;
    }
    wire.read_head(bounds).map_err(|error| (Phase::Response, error))
}

/// What an error of a connection means to the caller.
fn failure(bounds: &Bounds, phase: Phase, error: io::Error) -> Error {
    if bounds.stop.is_stopped() {
        return Error::Stopped;
    }
    if error.kind() == io::ErrorKind::TimedOut {
        return TransportError::timeout(phase, "timed out").into();
    }
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => TransportError::io(phase, error.to_string(), error.kind()).into(),
    }
}

fn pool(config: &Config, plugin: Option<&ClientCertificate>) -> Result<Arc<Pool>> {
    let own = match &config.identity {
        None => None,
        Some(Identity::Pem { certificate, key }) => {
            Some(ClientCertificate { certificate: certificate.clone(), key: key.clone() })
        }
        Some(Identity::Files { certificate, key }) => {
            let read = |path: &std::path::Path, field| {
                std::fs::read(path)
                    .map_err(|error| ConfigError::unreadable(field, &error).in_file(path))
            };
            let certificate = read(certificate, "client-certificate")?.into();
            let key = String::from_utf8(read(key, "client-key")?)
                .map_err(|_| ConfigError::new("client-key", "is not PEM").in_file(key))?;
            Some(ClientCertificate { certificate, key: Secret::new(key) })
        }
    };
    Ok(Arc::new(Pool::new(Dialer::new(config, own.as_ref().or(plugin))?)))
}

fn files_of(config: &Config) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    if let Trust::File(path) = &config.trust {
        files.push(path.clone());
    }
    if let Some(Identity::Files { certificate, key }) = &config.identity {
        files.extend([certificate.clone(), key.clone()]);
    }
    files
}

/// Reads an answer that comes from anywhere, so much of its body at a time: gives its code, its body, and what was
/// not taken of what comes after it, or what is wrong.
#[cfg(feature = "_fuzz")]
pub(crate) fn read_answer(
    mut reader: impl io::Read,
    room: usize,
) -> (Option<u16>, Vec<u8>, std::result::Result<Vec<u8>, String>) {
    let mut fill =
        |input: &mut input::Input| input.fill(|buf| reader.read(buf)).map(|(amount, _)| amount);
    let (mut input, mut code, mut body) = (input::Input::new(), None, Vec::new());
    let mut read = || {
        let head = wire::read_head(&mut input, &mut fill)?;
        code = Some(head.status);
        let (mut framing, mut out) = (framing::Framing::of(&head)?, vec![0; room]);
        while let read @ 1.. = framing.read(&mut input, &mut out, &mut fill)? {
            body.extend_from_slice(&out[..read]);
        }
        while fill(&mut input)? > 0 {}
        Ok(())
    };
    let ended = read().map_err(|error: io::Error| error.to_string());
    (code, body, ended.map(|()| input.unread().to_vec()))
}
