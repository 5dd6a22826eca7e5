//! Failures below the API: names, sockets, TLS, HTTP.

use std::{error::Error as StdError, fmt, io, sync::Arc};

/// A connection or an HTTP exchange that failed, and in which phase.
///
/// The libraries underneath are not part of this crate's interface: what they say is part of the text,
/// or a [`source`](StdError::source) to be printed.
#[derive(Clone, Debug)]
pub struct TransportError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    phase: Phase,
    message: String,
    /// The kind of the I/O error that it was.
    io: Option<io::ErrorKind>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The part of a call in which it failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Phase {
    /// Looking up the address of a host name.
    Resolve,
    /// Connecting the socket.
    Connect,
    /// Asking a proxy for a way to the server.
    Proxy,
    /// The TLS handshake, certificates included.
    Tls,
    /// Sending the request.
    Send,
    /// Waiting for the response's head.
    Response,
    /// Reading the response's body.
    Body,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Response => "response",
            Self::Body => "body",
        }
    }
}

impl TransportError {
    pub(crate) fn new(phase: Phase, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { phase, message: message.into(), io: None, source: None }))
    }

    pub(crate) fn io(phase: Phase, message: impl Into<String>, kind: io::ErrorKind) -> Self {
        let mut error = Self::new(phase, message);
        error.0.io = Some(kind);
        error
    }

    pub(crate) fn timeout(phase: Phase, message: impl Into<String>) -> Self {
        Self::io(phase, message, io::ErrorKind::TimedOut)
    }

    /// Where the cause has more to say than the message.
    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Takes over what the predicates say of `other`.
    pub(crate) fn like(mut self, other: &Self) -> Self {
        self.0.io = other.0.io;
        self
    }

    /// The same failure after another one.
    pub(crate) fn after(mut self, earlier: &Self) -> Self {
        self.0.message += &format!(" (before that: {earlier})");
        self
    }

    /// The server could not be spoken to at all: no request of any kind would have got through.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self.0.phase, Phase::Resolve | Phase::Connect | Phase::Proxy | Phase::Tls)
    }

    /// The part of the call that failed.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// The limit for this kind of call ran out.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.io, Some(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock))
    }

    /// Nobody listens at the address.
    #[must_use]
    pub fn is_connection_refused(&self) -> bool {
        self.0.io == Some(io::ErrorKind::ConnectionRefused)
    }

    /// The other side closed or reset the connection in the middle of the exchange.
    #[must_use]
    pub fn is_disconnect(&self) -> bool {
        use io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof,
        };
        matches!(
            self.0.io,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
        )
    }

    pub(crate) fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.phase.as_str(), self.0.message)
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Self::source(self)
    }
}
