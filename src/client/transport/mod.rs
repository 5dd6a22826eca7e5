//! HTTP/1.1 to one API server. The only file that names ureq.
//!
//! ureq drives the protocol and keeps the pool; the connection underneath is ours ([`stream`]), so that
//! a [`StopToken`](crate::StopToken) can interrupt it and so that credentials stay out of ureq.

mod bounds;
mod buffers;
mod dial;
pub(crate) mod files;
mod proxy;
mod resolve;
mod room;
mod socket;
mod stream;
mod tls;

use std::{
    cell::RefCell,
    fmt,
    io::{self, Read},
    mem::ManuallyDrop,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ureq::{
    http::{self, HeaderMap},
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport as Wire},
    },
};

pub(crate) use self::{bounds::Bounds, tls::ClientCertificate};
use self::{buffers::ElasticBuffers, dial::Dialer, files::Files, stream::Stream};
use crate::{
    config::{Config, Identity, Secret, Trust},
    error::{ConfigError, Error, Phase, Result, TransportError},
    json::stream::Arriving,
};

/// Where a read brings this much, there may be more.
const MUCH: usize = 32 * 1024;
/// Unless a request has a longer line: ureq writes lines whole or not at all.
const OUTPUT_BUFFER: usize = 8 * 1024;
/// Less than what fits: a head that fills the buffer would look like the end of the connection.
const MAX_RESPONSE_HEAD: usize = 64 * 1024 - 1;
/// As client-go's: what a server closes sooner is found out before it is used.
const IDLE_CONNECTIONS: usize = 25;
const IDLE_AGE: Duration = Duration::from_secs(90);

/// Sends requests to one server, over connections it keeps for the next ones.
#[derive(Debug)]
pub(crate) struct Transport {
    config: Arc<Config>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    agent: ureq::Agent,
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
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Body,
}

/// The body of a response, read from the socket as it is asked for.
///
/// Dropped before its end, it closes its connection; read to the end, it gives it back.
pub(crate) struct Body {
    reader: ureq::BodyReader<'static>,
    call: Arc<Call>,
    gather: Duration,
    /// The last read took all that there was.
    caught_up: bool,
    /// The connection may have more than it has given.
    has_more: bool,
    /// Little is expected of the next reads.
    expects_little: bool,
}

impl Transport {
    pub(crate) fn new(config: Arc<Config>) -> Result<Self> {
        // Looked at before they are read: a change in between is seen later, not missed.
        let files = Files::new(files_of(&config), Instant::now());
        let state = Mutex::new(State { agent: agent(&config, None)?, files, certificate: None });
        Ok(Self { config, state })
    }

    /// Uses this certificate on new connections, and drops the old ones if it is another than before.
    pub(crate) fn use_certificate(&self, certificate: &ClientCertificate) -> Result<()> {
        let mut state = self.state.lock();
        if state.certificate.as_ref() != Some(certificate) {
            state.agent = agent(&self.config, Some(certificate))?;
            state.certificate = Some(certificate.clone());
        }
        Ok(())
    }

    /// Sends a request and blocks until the head of the response is there.
    ///
    /// An answer of any status is `Ok`.
    pub(crate) fn send(&self, request: &HttpRequest<'_>, bounds: Bounds) -> Result<HttpResponse> {
        loop {
            bounds.stop.check()?;
            let agent = self.agent(Instant::now());
            let call = Call::new(bounds.clone(), request);
            let head = self.head(request).map_err(|error| call.failure(error))?;
            let result = call.run(|| match request.body {
                Some(body) => agent.run(head.map(|()| body)),
                None => agent.run(head),
            });
            let error = match result {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    // A compressed body reads its first bytes here.
                    call.progress.lock().phase = Phase::Body;
                    let reader = call.run(|| body.into_reader());
                    return Ok(HttpResponse {
                        status: head.status.as_u16(),
                        headers: head.headers,
                        body: Body::new(reader, call),
                    });
                }
                Err(error) => call.failure(error),
            };
            // The server may close a kept connection at the moment it is used again. That says nothing
            // about the server, and a GET can be sent twice.
            let stale = matches!(&error, Error::Transport(error) if error.is_disconnect())
                && !call.progress.lock().dialled;
            if !(stale && request.method == Method::Get) {
                return Err(error);
            }
        }
    }

    fn head(&self, request: &HttpRequest<'_>) -> Result<http::Request<()>, ureq::Error> {
        let method = match request.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        };
        let uri = format!("{}{}", origin(&self.config), request.target);
        let mut builder = http::Request::builder().method(method).uri(uri);
        for (name, value) in request.headers {
            builder = builder.header(*name, value);
        }
        for (name, value) in request.extra_headers {
            builder = builder.header(name, value);
        }
        Ok(builder.body(())?)
    }

    /// The agent for the certificates as they are on disk now.
    fn agent(&self, now: Instant) -> ureq::Agent {
        let mut state = self.state.lock();
        if !state.files.changed(now) {
            return state.agent.clone();
        }
        let read = agent(&self.config, state.certificate.as_ref());
        let read = read.map(|fresh| state.agent = fresh);
        let current = state.agent.clone();
        drop(state);
        // Not under the lock: a logger may use the client.
        match read {
            Ok(()) => log::debug!("certificates changed on disk: using them for new connections"),
            Err(error) => log::warn!("keeping the certificates read before: {error}"),
        }
        current
    }
}

impl HttpRequest<'_> {
    /// At least as long as the longest line of its head.
    fn longest_line(&self) -> usize {
        const METHOD_VERSION_AND_ENDS: usize = 64;
        let own = self.headers.iter().map(|(name, value)| name.len() + value.len());
        let extra = self.extra_headers.iter().map(|(name, value)| name.len() + value.len());
        let longest = own.chain(extra).max().unwrap_or(0).max(self.target.len());
        longest + METHOD_VERSION_AND_ENDS
    }
}

impl HttpResponse {
    /// The first value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.headers.get_all(name).iter();
        values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
    }
}

impl Body {
    fn new(reader: ureq::BodyReader<'static>, call: Arc<Call>) -> Self {
        // How much the last answer on this connection was says nothing about this one.
        Self {
            reader,
            call,
            gather: Duration::ZERO,
            caught_up: false,
            has_more: true,
            expects_little: true,
        }
    }

    /// Reads everything, up to `limit` bytes.
    pub(crate) fn read_all(&mut self, limit: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let read = self.take(limit + 1).read_to_end(&mut all);
        read.map_err(|error| self.call.failure(ureq::Error::from(error)))?;
        if all.len() as u64 > limit {
            let text = format!("the answer is larger than {limit} bytes");
            return Err(TransportError::new(Phase::Body, text).into());
        }
        Ok(all)
    }

    fn read_in(&mut self, call: &Arc<Call>, buf: &mut [u8]) -> io::Result<usize> {
        call.begin_read(std::mem::take(&mut self.expects_little), self.has_more);
        let read = call.run(|| self.reader.read(buf))?;
        self.has_more = call.progress.lock().has_more;
        self.caught_up = read < buf.len() && read < MUCH && !self.has_more;
        Ok(read)
    }

    /// Lets it last from now on, as long as the server is not silent for longer than this.
    pub(crate) fn set_silence(&mut self, silence: Option<Duration>) {
        let bounds = Bounds { silence, deadline: None, ..self.call.bounds.clone() };
        self.call = Call::with(bounds, 0, None);
        self.call.begin_read(false, false);
    }

    /// Lets what comes gather for so long, from now on, before it is read, unless there is much to read already:
    /// servers write an event in pieces, and to be woken for each of them costs more than to read them all.
    pub(crate) fn set_gather(&mut self, gather: Duration) {
        self.gather = gather;
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(crate) fn give_back_room(&mut self) {
        self.expects_little = true;
    }

    /// What an error from [`read`](Read::read) means.
    pub(crate) fn failure(&self, error: io::Error) -> Error {
        self.call.failure(ureq::Error::from(error))
    }
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let gathers = self.caught_up && !self.gather.is_zero();
        if gathers && self.call.bounds.stop.wait_timeout(self.gather) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let call = self.call.clone();
        self.read_in(&call, buf)
    }
}

impl Arriving for Body {
    /// To ask costs as much as to read a little, so it is asked only where the last read may have left something.
    fn read_arrived(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.caught_up {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bounds = Bounds { silence: Some(Duration::ZERO), ..self.call.bounds.clone() };
        let read = self.read_in(&Call::with(bounds, 0, None), buf);
        self.caught_up |= read.is_err();
        read.map_err(|error| match ureq::Error::from(error) {
            // Of a compressed body, that nothing has arrived is wrapped up as this.
            ureq::Error::Decompress(_, error) if error.kind() == io::ErrorKind::WouldBlock => error,
            other => other.into_io(),
        })
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

fn agent(config: &Config, plugin: Option<&ClientCertificate>) -> Result<ureq::Agent> {
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
    let dialer = Dialer::new(config, own.as_ref().or(plugin))?;
    let settings = ureq::config::Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(config.user_agent.as_str())
        .max_idle_connections(IDLE_CONNECTIONS)
        .max_idle_connections_per_host(IDLE_CONNECTIONS)
        .max_idle_age(IDLE_AGE)
        .max_response_header_size(MAX_RESPONSE_HEAD)
        .proxy(None)
        .build();
    Ok(ureq::Agent::with_parts(settings, dialer, NoLookup))
}

/// Scheme and authority, without the prefix.
fn origin(config: &Config) -> String {
    let scheme = if config.server.https { "https" } else { "http" };
    format!("{scheme}://{}", config.server.authority())
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

/// One request and its response, as seen from the connection.
///
/// ureq's traits have no room for it, so the thread that moves the bytes carries it along: everything
/// that reads or writes goes through [`Call::run`].
struct Call {
    bounds: Bounds,
    /// What the output buffer must hold.
    longest_line: usize,
    progress: Mutex<Progress>,
}

struct Progress {
    phase: Phase,
    /// Whether the call opened its connection, rather than taking one that was kept.
    dialled: bool,
    /// Until it is sent.
    authorization: Option<Secret>,
    /// Little will come: the connection is to give its room back.
    expects_little: bool,
    /// What was last read from the connection may not be all that has arrived there.
    has_more: bool,
}

thread_local! {
    /// Empty between calls. Never dropped, so that calls can be made while a thread or the process ends.
    static CURRENT: ManuallyDrop<RefCell<Option<Arc<Call>>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

impl Call {
    fn new(bounds: Bounds, request: &HttpRequest<'_>) -> Arc<Self> {
        Self::with(bounds, request.longest_line(), request.authorization.clone())
    }

    fn with(bounds: Bounds, longest_line: usize, authorization: Option<Secret>) -> Arc<Self> {
        let progress = Progress {
            phase: Phase::Send,
            dialled: false,
            authorization,
            expects_little: false,
            has_more: false,
        };
        Arc::new(Self { bounds, longest_line, progress: Mutex::new(progress) })
    }

    fn run<T>(self: &Arc<Self>, operation: impl FnOnce() -> T) -> T {
        /// Puts back what was there, also when `operation` panics.
        struct Restore(Option<Arc<Call>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.replace(self.0.take()));
            }
        }
        let _restore = Restore(CURRENT.with(|current| current.replace(Some(self.clone()))));
        operation()
    }

    fn current() -> io::Result<Arc<Self>> {
        let current = CURRENT.with(|current| current.borrow().clone());
        current.ok_or_else(|| io::Error::other("no call is being made"))
    }

    fn begin_read(&self, expects_little: bool, has_more: bool) {
        let mut progress = self.progress.lock();
        progress.phase = Phase::Body;
        progress.expects_little |= expects_little;
        progress.has_more = has_more;
    }

    fn expect_response(&self) {
        let mut progress = self.progress.lock();
        if progress.phase == Phase::Send {
            progress.phase = Phase::Response;
        }
    }

    fn failure(&self, error: ureq::Error) -> Error {
        if self.bounds.stop.is_stopped() {
            return Error::Stopped;
        }
        let phase = self.progress.lock().phase;
        let error = match error {
            ureq::Error::Io(error) => error,
            // The end came where the length of the next piece should be.
            ureq::Error::BodyStalled => io::ErrorKind::UnexpectedEof.into(),
            // Of a compressed body, whatever happens while it is read is wrapped up as this.
            ureq::Error::Decompress(_, error) if !is_bad_data(&error) => error,
            other => {
                return TransportError::new(phase, other.to_string()).into();
            }
        };
        if error.kind() == io::ErrorKind::TimedOut {
            return TransportError::timeout(phase, "timed out").into();
        }
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(error) => TransportError::io(phase, error.to_string(), error.kind()).into(),
        }
    }
}

/// Whether bytes were the problem, and not getting them.
fn is_bad_data(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}

/// A connection as ureq sees it.
#[derive(Debug)]
struct Connection {
    stream: Stream,
    buffers: ElasticBuffers,
    /// Why sending failed: told if there is no answer to read.
    hung_up: Option<io::Error>,
}

/// The other side does not read any more.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl Connector for Dialer {
    type Out = Connection;

    fn connect(
        &self,
        _details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Connection>, ureq::Error> {
        let call = Call::current()?;
        call.progress.lock().dialled = true;
        let stream = self.dial(&call.bounds).map_err(io::Error::other)?;
        Ok(Some(Connection { stream, buffers: ElasticBuffers::new(OUTPUT_BUFFER), hung_up: None }))
    }
}

impl Connection {
    fn give_back_room(&mut self) {
        self.buffers.give_back_room();
        self.stream.give_back_room();
    }

    /// Whether an answer to plain HTTP begins as an alert of TLS.
    fn is_foreign(&self) -> bool {
        const ALERT: &[u8] = &[21, 3];
        !self.stream.is_tls() && self.buffers.input().starts_with(ALERT)
    }
}

impl Wire for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        let needed =
            CURRENT.with(|call| call.borrow().as_ref().map_or(0, |call| call.longest_line));
        self.buffers.reserve_output(needed);
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        let call = Call::current()?;
        let authorization = call.progress.lock().authorization.take();
        let output = &self.buffers.output()[..amount];
        if self.hung_up.is_some() {
            return Ok(());
        }
        let sent = match authorization {
            None => self.stream.write_all(output, &call.bounds),
            // The first output of a call starts with the request line. The credential joins here and
            // not sooner because ureq writes the heads it makes to the log.
            Some(value) => {
                let line =
                    output.windows(2).position(|pair| pair == b"\r\n").map_or(0, |at| at + 2);
                let (line, rest) = output.split_at(line);
                let head =
                    [line, b"authorization: ", value.expose().as_bytes(), b"\r\n", rest].concat();
                self.stream.write_all(&head, &call.bounds)
            }
        };
        match sent {
            // A server that does not want the rest of a body says why before it hangs up.
            Err(error) if is_hang_up(&error) => self.hung_up = Some(error),
            sent => sent?,
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        let call = Call::current()?;
        call.expect_response();
        if std::mem::take(&mut call.progress.lock().expects_little) {
            self.give_back_room();
        }
        let room = self.buffers.input_append_buf();
        let size = room.len();
        let read = self.stream.read(room, &call.bounds);
        let read = match (read, self.hung_up.take()) {
            (Err(error), hung_up) if error.kind() == io::ErrorKind::WouldBlock => {
                self.hung_up = hung_up;
                return Err(error.into());
            }
            (Ok(read), hung_up) if read > 0 => {
                self.hung_up = hung_up;
                read
            }
            (_, Some(error)) => return Err(error.into()),
            (read, None) => read?,
        };
        self.buffers.input_appended(read);
        let mut progress = call.progress.lock();
        progress.has_more = read == size || self.stream.has_more();
        if progress.phase == Phase::Response && self.is_foreign() {
            let text = "what answers there speaks TLS: the address should begin with https";
            let error = TransportError::new(Phase::Response, text);
            return Err(io::Error::other(Error::from(error)).into());
        }
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // It may not be used again for some time.
        self.give_back_room();
        self.hung_up.is_none() && self.stream.is_reusable()
    }

    fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }
}

/// The dialer looks names up, and only when it connects.
#[derive(Debug)]
struct NoLookup;

impl Resolver for NoLookup {
    fn resolve(
        &self,
        _uri: &http::Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}
