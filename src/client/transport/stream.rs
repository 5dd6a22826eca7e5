//! A byte stream to the server: a socket, or TLS over another stream.

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};

use super::{bounds::Bounds, room::Room, socket::Socket, tls};
use crate::error::{Error, Phase, Result, TransportError};

/// Bytes to and from the server, or from the proxy that leads to it.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// TLS over any stream: over another TLS where the proxy itself speaks it.
#[derive(Debug)]
pub(super) struct TlsStream {
    /// Whose certificate was asked for.
    name: String,
    connection: ClientConnection,
    received: Received,
    lower: Stream,
}

/// How much is taken from below at a time, at first and if there is always more: rustls asks for 4 KB, a
/// quarter of a record, which is a system call for every quarter.
const RECEIVED: usize = 16 * 1024;
const MAX_RECEIVED: usize = 64 * 1024;

/// Bytes from below that rustls has not taken.
#[derive(Debug)]
struct Received {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// How much is taken at a time.
    room: Room,
}

impl Default for Received {
    fn default() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, room: Room::new(RECEIVED, MAX_RECEIVED) }
    }
}

impl Received {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether there may be more below than was taken.
    fn took_all_it_could(&self) -> bool {
        self.end > 0 && self.end == self.bytes.len()
    }

    /// Keeps what nobody has taken, and no more room than that.
    fn give_back_room(&mut self) {
        self.room.give_back();
        if self.bytes.len() > self.room.size() {
            self.bytes = self.bytes[self.start..self.end].to_vec();
            (self.start, self.end) = (0, self.bytes.len());
        }
    }

    /// Takes in more, of which there must be none left.
    fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        (self.start, self.end) = (0, 0);
        if self.bytes.len() != self.room.size() {
            self.bytes.resize(self.room.size(), 0);
            self.bytes.shrink_to_fit();
        }
        self.end = read(&mut self.bytes)?;
        self.room.saw(self.end, self.end == self.bytes.len());
        Ok(self.end)
    }
}

impl Read for Received {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = (&self.bytes[self.start..self.end]).read(buf)?;
        self.start += read;
        Ok(read)
    }
}

impl Stream {
    /// Wraps the stream in TLS and shakes hands.
    pub(super) fn into_tls(
        self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        bounds: &Bounds,
    ) -> Result<Self> {
        let shown = name.to_str().into_owned();
        let connection =
            ClientConnection::new(config, name).map_err(|error| tls::failure(&shown, error))?;
        let received = Received::default();
        let mut tls =
            Box::new(TlsStream { name: shown.clone(), connection, received, lower: self });
        while tls.connection.is_handshaking() {
            let step = tls.flush(bounds).and_then(|()| tls.receive(bounds));
            match step {
                Ok(0) => {
                    let text = format!("{shown}: the server closed the connection");
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(TransportError::io(Phase::Tls, text, kind).into());
                }
                Ok(_) => {}
                Err(error) => {
                    bounds.stop.check()?;
                    return Err(tls::handshake_failure(&shown, tls.last_words(error)).into());
                }
            }
        }
        tls.flush(bounds).map_err(|error| tls::handshake_failure(&shown, tls.last_words(error)))?;
        Ok(Self::Tls(tls))
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(super) fn give_back_room(&mut self) {
        if let Self::Tls(tls) = self {
            tls.received.give_back_room();
            tls.lower.give_back_room();
        }
    }

    /// Reads what there is, or waits for some; 0 is the end.
    pub(super) fn read(&mut self, buf: &mut [u8], bounds: &Bounds) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buf, bounds),
            Self::Tls(tls) => tls.read(buf, bounds),
        }
    }

    pub(super) fn write_all(&mut self, mut bytes: &[u8], bounds: &Bounds) -> io::Result<()> {
        self.write_rest(&mut bytes, bounds)
    }

    /// Writes everything. After an error `rest` is what is left: to write that, be it nothing, goes on from there.
    pub(super) fn write_rest(&mut self, rest: &mut &[u8], bounds: &Bounds) -> io::Result<()> {
        while !rest.is_empty() {
            match self.write(rest, bounds)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => *rest = &rest[written..],
            }
        }
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(tls) => tls.flush(bounds).map_err(|error| tls.explain(error)),
        }
    }

    fn write(&mut self, buf: &[u8], bounds: &Bounds) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(buf, bounds),
            Self::Tls(tls) => {
                // First, so that nothing is taken where this fails.
                tls.flush(bounds).map_err(|error| tls.explain(error))?;
                tls.connection.writer().write(buf)
            }
        }
    }

    /// Whether more may have arrived than was read.
    pub(super) fn has_more(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => !tls.received.is_empty() || tls.received.took_all_it_could(),
        }
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_reusable(&mut self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_quiet(),
            Self::Tls(tls) => tls.is_reusable(),
        }
    }

    /// Reads that take only what has arrived already.
    fn without_waiting<T>(
        &mut self,
        operation: &mut dyn FnMut(&mut dyn Read) -> io::Result<T>,
    ) -> io::Result<T> {
        match self {
            Self::Plain(socket) => socket.without_waiting(operation),
            Self::Tls(tls) => {
                tls.drain()?;
                operation(&mut tls.connection.reader())
            }
        }
    }
}

impl TlsStream {
    /// Reads as much as there is room for and has arrived; waits only for the first of it.
    fn read(&mut self, buf: &mut [u8], bounds: &Bounds) -> io::Result<usize> {
        let mut read = 0;
        loop {
            match self.connection.reader().read(&mut buf[read..]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(more) if more > 0 && read + more < buf.len() => read += more,
                // An end or an error is found again by the next read.
                result if read > 0 => return Ok(read + result.unwrap_or(0)),
                result => return result,
            }
            if read > 0 && self.received.is_empty() {
                return Ok(read);
            }
            // What rustls has to say to what it reads is sent, but not the rest of a request that the server does not take.
            let is_sending = self.connection.wants_write();
            let received = self.receive(bounds);
            match received.and_then(|_| if is_sending { Ok(()) } else { self.flush(bounds) }) {
                Err(error) if read == 0 => return Err(self.explain(error)),
                Err(_) => return Ok(read),
                Ok(()) => {}
            }
        }
    }

    /// The error of a read or a write after the handshake, as its caller sees it.
    ///
    /// A server of TLS 1.3 refuses a client's certificate only when the client takes the handshake for
    /// done, so that the refusal is found by whatever comes next.
    fn explain(&mut self, error: io::Error) -> io::Error {
        match self.last_words(error).downcast::<rustls::Error>() {
            Ok(said) => io::Error::other(Error::from(tls::failure(&self.name, said))),
            Err(error) => error,
        }
    }

    /// What the server said before it hung up on us, if it said so in the language of TLS.
    fn last_words(&mut self, error: io::Error) -> io::Error {
        let hung_up =
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        if !hung_up {
            return error;
        }
        let said = self.drain().err();
        let is_tls =
            |said: &io::Error| matches!(said.get_ref(), Some(e) if e.is::<rustls::Error>());
        said.filter(is_tls).unwrap_or(error)
    }

    /// Takes in bytes from below, whole records or parts of them; 0 is the end of the lower stream.
    fn receive(&mut self, bounds: &Bounds) -> io::Result<usize> {
        if self.received.is_empty() {
            // Nothing may come any more after what was wrong behind bytes that have been read since.
            self.process(bounds)?;
            self.received.fill(|buf| self.lower.read(buf, bounds))?;
        }
        let received = self.connection.read_tls(&mut self.received)?;
        self.process(bounds)?;
        Ok(received)
    }

    /// Lets rustls make something of what it has taken; what was wrong once is wrong for ever.
    fn process(&mut self, bounds: &Bounds) -> io::Result<()> {
        if let Err(error) = self.connection.process_new_packets() {
            // The other side deserves the alert; whether it gets it does not matter to the caller.
            let _ = self.flush(bounds);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(())
    }

    fn flush(&mut self, bounds: &Bounds) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Lower(&mut self.lower, bounds))?;
        }
        match &mut self.lower {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(lower) => lower.flush(bounds),
        }
    }

    /// Between requests a server may send session tickets, which are no reason to give up the
    /// connection; data or a farewell are.
    fn is_reusable(&mut self) -> bool {
        if self.drain().is_err() {
            return false;
        }
        let waiting = self.connection.reader().read(&mut [0]);
        matches!(waiting, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Takes in what has arrived, without waiting.
    fn drain(&mut self) -> io::Result<()> {
        let (connection, received) = (&mut self.connection, &mut self.received);
        self.lower.without_waiting(&mut |lower| take_in(connection, received.chain(lower)))
    }
}

/// Reads until there is nothing more for now. A server that has more to say than a few session tickets
/// is not one to go on with.
fn take_in(connection: &mut ClientConnection, mut lower: impl Read) -> io::Result<()> {
    const READS: usize = 16;
    for _ in 0..READS {
        match connection.read_tls(&mut lower) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => connection.process_new_packets().map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
    }
    Err(io::Error::other("the server does not stop talking"))
}

/// The lower stream with the bounds of one call, as rustls wants it.
struct Lower<'a>(&'a mut Stream, &'a Bounds);

impl Write for Lower<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf, self.1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::transport::room::LITTLE, config::Trust};

    fn connection() -> ClientConnection {
        let config = tls::client_config(&Trust::Insecure, None).unwrap();
        ClientConnection::new(Arc::new(config), "a.example".try_into().unwrap()).unwrap()
    }

    /// The beginning of a record that is as long as a record can be, in reads of one byte each.
    struct Drip {
        reads: usize,
        most: usize,
    }

    impl Read for Drip {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            const HEAD: [u8; 5] = [22, 3, 3, 0x40, 0];
            if self.reads == self.most {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            buf[0] = HEAD.get(self.reads).copied().unwrap_or(0);
            self.reads += 1;
            Ok(1)
        }
    }

    #[test]
    fn room_for_much_is_given_back_and_what_nobody_has_taken_is_not() {
        let mut received = Received::default();
        let fill = |received: &mut Received| {
            received.fill(|buf| {
                buf.fill(7);
                Ok(buf.len())
            })
        };
        while fill(&mut received).unwrap() < MAX_RECEIVED {
            received.start = received.end;
        }
        assert!(received.took_all_it_could());
        received.start = received.end - 3;
        received.give_back_room();
        assert_eq!(received.bytes.capacity(), 3);
        let mut left = Vec::new();
        received.read_to_end(&mut left).unwrap();
        assert_eq!(left, [7; 3]);
        assert_eq!(fill(&mut received).unwrap(), RECEIVED);
        for _ in 0..3 * LITTLE {
            received.fill(|_| Ok(1)).unwrap();
            received.start = 1;
        }
        assert!(!received.took_all_it_could());
        assert_eq!(received.bytes.capacity(), RECEIVED);
    }

    #[test]
    fn a_server_that_never_stops_talking_is_not_listened_to_for_ever() {
        let mut server = Drip { reads: 0, most: 10_000 };
        let error = take_in(&mut connection(), &mut server).unwrap_err();
        assert_eq!(error.to_string(), "the server does not stop talking");
        assert_eq!(server.reads, 16);
    }

    #[test]
    fn a_server_that_has_said_little_or_nothing_may_be_gone_on_with_unless_it_is_gone() {
        for most in [0, 9] {
            assert!(take_in(&mut connection(), &mut Drip { reads: 0, most }).is_ok());
        }
        let gone = take_in(&mut connection(), &mut io::empty()).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }
}
