//! One connection's bytes, both ways: buffers, chunks, hang-ups, and faults that act on bytes.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use rustls::{ServerConnection, StreamOwned};

use crate::StopToken;

/// How long a client may take over the rest of a request that it has begun.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// How long a client may leave what was sent unread.
const WRITE_LIMIT: Duration = Duration::from_secs(60);
const FLUSH_AT: usize = 64 * 1024;
const MOST_READ_AHEAD: usize = 1024 * 1024;
/// What a client may still send when its connection is closing, how long that may take, and how
/// long it may be silent.
const MOST_DRAINED: usize = 64 * 1024 * 1024;
const DRAIN_LIMIT: Duration = Duration::from_secs(5);
const DRAIN_SILENCE: Duration = Duration::from_millis(250);

/// The first byte of a deflate block of a type that there is not.
const NO_BLOCK: u8 = 0b111;

/// A client's connection.
pub(crate) struct Wire {
    socket: Socket,
    input: Vec<u8>,
    output: Vec<u8>,
    chunked: bool,
    /// In a compressed stream: what the next flush makes a gzip member of.
    member: Option<Vec<u8>>,
    /// Bytes of the current body so far.
    sent: usize,
    script: Script,
    ending: Option<Ending>,
    stop: StopToken,
}

/// What is to happen to the bytes of one response's body.
#[derive(Clone, Debug, Default)]
pub(crate) enum Script {
    #[default]
    Nothing,
    /// Ends the connection in this way once so many bytes are out.
    End(usize, Ending),
    /// Sends so many bytes at a time, with a pause after each.
    Drip(usize, Duration),
}

/// How a connection ends when a fault ends it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// With a FIN, as if the response were over.
    Close,
    /// With an RST.
    Reset,
    /// Not at all: the socket stays open and silent until the client has had enough.
    Hang,
}

enum Socket {
    Plain(SharedTcp),
    Tls(Box<StreamOwned<ServerConnection, SharedTcp>>),
}

/// A socket that the server's stop can shut down while this thread is blocked in it.
#[derive(Debug)]
struct SharedTcp(Arc<TcpStream>);

impl Wire {
    pub(crate) fn plain(tcp: Arc<TcpStream>, stop: StopToken) -> Self {
        Self::new(Socket::Plain(SharedTcp(tcp)), stop)
    }

    pub(super) fn tls(tcp: Arc<TcpStream>, session: ServerConnection, stop: StopToken) -> Self {
        Self::new(Socket::Tls(Box::new(StreamOwned::new(session, SharedTcp(tcp)))), stop)
    }

    fn new(socket: Socket, stop: StopToken) -> Self {
        let wire = Self {
            socket,
            input: Vec::new(),
            output: Vec::new(),
            chunked: false,
            member: None,
            sent: 0,
            script: Script::Nothing,
            ending: None,
            stop,
        };
        // Neither fails on a socket that is still there.
        let _ = wire.tcp().set_nodelay(true);
        let _ = wire.tcp().set_write_timeout(Some(WRITE_LIMIT));
        wire
    }

    fn tcp(&self) -> &TcpStream {
        match &self.socket {
            Socket::Plain(tcp) => &tcp.0,
            Socket::Tls(tls) => &tls.sock.0,
        }
    }

    /// What has been read and not consumed.
    pub(super) fn input(&self) -> &[u8] {
        &self.input
    }

    pub(super) fn consume(&mut self, length: usize) {
        self.input.drain(..length);
    }

    /// Reads more input; false at the end of it.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        // Between requests a client may be silent for as long as it likes.
        let limit = (!self.input.is_empty()).then_some(REQUEST_LIMIT);
        self.tcp().set_read_timeout(limit)?;
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(length) => {
                    self.input.extend_from_slice(&buffer[..length]);
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the client has closed its side, found out without waiting.
    pub(crate) fn hung_up(&mut self) -> bool {
        if self.tcp().set_nonblocking(true).is_err() {
            return true;
        }
        let mut buffer = [0; 4096];
        let gone = loop {
            if self.input.len() > MOST_READ_AHEAD {
                break false;
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => break true,
                // The next request, sent ahead of time.
                Ok(length) => self.input.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break true,
            }
        };
        gone || self.tcp().set_nonblocking(false).is_err()
    }

    /// Sends bytes that are no part of a response's body.
    pub(super) fn send_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.extend_from_slice(bytes);
        self.flush_all()
    }

    /// Begins a response. Its body is what follows, up to [`finish`](Self::finish).
    pub(crate) fn begin(&mut self, head: &[u8], chunked: bool, script: Script) -> io::Result<()> {
        self.output.extend_from_slice(head);
        self.chunked = chunked;
        self.member = None;
        self.sent = 0;
        self.script = script;
        self.obey()
    }

    /// Compresses the body from here on, each flush as a gzip member of its own.
    pub(crate) fn compress_flushes(&mut self) {
        self.member = Some(Vec::new());
    }

    /// Sends a part of the body; in a chunked response it is one chunk.
    pub(crate) fn body(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.member {
            None => self.chunk(bytes),
            Some(member) => {
                member.extend_from_slice(bytes);
                if member.len() < FLUSH_AT { Ok(()) } else { self.flush_all() }
            }
        }
    }

    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.chunked {
            self.output.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(self.allowance(rest.len()));
            self.output.extend_from_slice(part);
            self.sent += part.len();
            rest = later;
            if self.output.len() >= FLUSH_AT {
                self.send()?;
            }
            self.obey()?;
        }
        if self.chunked {
            self.output.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Announces a chunk, sends less of it, and ends the connection.
    pub(crate) fn truncate_chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.chunked {
            self.output.extend_from_slice(format!("{:x}\r\n", bytes.len().max(2)).as_bytes());
        }
        self.output.extend_from_slice(&bytes[..bytes.len() / 2]);
        self.flush_all()?;
        self.end(Ending::Close)
    }

    /// Sends the first half of the bytes as the beginning of a gzip member, and what no compressor writes.
    pub(crate) fn spoil_member(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.end_member()?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes[..bytes.len() / 2])?;
        // So that the client can read this much before it finds out.
        encoder.flush()?;
        self.chunk(encoder.get_ref())?;
        self.send()?;
        self.chunk(&[NO_BLOCK])?;
        self.send()
    }

    /// Ends the body, if it was chunked, and sends what is left.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.end_member()?;
        self.member = None;
        if self.chunked {
            self.output.extend_from_slice(b"0\r\n\r\n");
        }
        self.script = Script::Nothing;
        self.flush_all()
    }

    pub(crate) fn flush_all(&mut self) -> io::Result<()> {
        self.end_member()?;
        self.send()
    }

    fn end_member(&mut self) -> io::Result<()> {
        match &mut self.member {
            Some(member) if !member.is_empty() => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(member)?;
                member.clear();
                let compressed = encoder.finish()?;
                self.chunk(&compressed)
            }
            _ => Ok(()),
        }
    }

    fn send(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.output)?;
        self.output.clear();
        self.output.shrink_to(FLUSH_AT);
        self.socket.flush()
    }

    /// Makes the connection end in this way: the error takes the thread out of what it is doing.
    pub(crate) fn end(&mut self, ending: Ending) -> io::Result<()> {
        self.ending = Some(ending);
        Err(io::Error::other("ended by an injected fault"))
    }

    /// How many of the next `wanted` bytes may go out before the script has to be looked at.
    fn allowance(&self, wanted: usize) -> usize {
        match self.script {
            Script::Nothing => wanted,
            Script::End(at, _) => wanted.min(at.saturating_sub(self.sent)),
            Script::Drip(bytes, _) => wanted.min(bytes.max(1)),
        }
    }

    fn obey(&mut self) -> io::Result<()> {
        match self.script {
            Script::End(at, ending) if self.sent >= at => {
                self.send()?;
                self.end(ending)
            }
            Script::Drip(_, pause) if self.sent > 0 => {
                self.send()?;
                if self.stop.wait_timeout(pause) || self.hung_up() {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether the connection is to end with an RST, for which nobody else may hold its socket.
    pub(super) fn resets(&self) -> bool {
        self.ending == Some(Ending::Reset)
    }

    /// The last thing to happen to a connection.
    pub(super) fn close(mut self) {
        match self.ending {
            Some(Ending::Hang) => {
                while !self.stop.wait_timeout(Duration::from_millis(200)) && !self.hung_up() {}
            }
            Some(Ending::Reset) => {
                // With no time to linger, closing the socket sends RST.
                let _ = socket2::SockRef::from(self.tcp()).set_linger(Some(Duration::ZERO));
                return;
            }
            Some(Ending::Close) | None => {
                if let Socket::Tls(tls) = &mut self.socket {
                    tls.conn.send_close_notify();
                    // Not `flush`, which would first wait for a handshake to end.
                    while tls.conn.wants_write() && tls.conn.write_tls(&mut tls.sock).is_ok() {}
                }
            }
        }
        let _ = self.tcp().shutdown(Shutdown::Write);
        self.drain();
    }

    /// Reads on for a moment: closing a socket with unread input would reset the connection and
    /// could take the response from a client that has not read it yet, or is still sending.
    fn drain(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let _ = self.tcp().set_read_timeout(Some(DRAIN_SILENCE));
        let (start, mut drained) = (Instant::now(), 0);
        while drained < MOST_DRAINED && start.elapsed() < DRAIN_LIMIT && !self.stop.is_stopped() {
            match self.socket.read(&mut buffer) {
                Ok(length @ 1..) => drained += length,
                _ => break,
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(buffer),
            Self::Tls(tls) => match tls.read(buffer) {
                // A client that leaves without saying so in TLS has left all the same.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.write(buffer),
            Self::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}

impl Read for SharedTcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for SharedTcp {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self.0).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}
