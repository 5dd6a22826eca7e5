//! One connection on which requests are sent and answers are read, one after the other.

use std::io;

use super::{
    bounds::Bounds,
    head::{Head, malformed},
    input::Input,
    stream::Stream,
};
use crate::error::{Error, Phase, TransportError};

/// How much is written at a time. In one write of megabytes, the kernel did not notice in half a minute that the server
/// had stopped listening; between pieces it does at once.
const PIECE: usize = 16 * 1024;

/// A connection that speaks HTTP/1.1.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    pub(super) input: Input,
    /// Why sending failed: told if there is no answer to read.
    hung_up: Option<io::Error>,
    /// What was last read may not be all that has arrived.
    pub(super) has_more: bool,
}

/// The other side does not read any more.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, input: Input::new(), hung_up: None, has_more: false }
    }

    pub(super) fn send(&mut self, bytes: &[u8], bounds: &Bounds) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            match self.stream.write_all(piece, bounds) {
                // A server that does not want the rest of a body says why before it hangs up.
                Err(error) if is_hang_up(&error) => {
                    self.hung_up = Some(error);
                    break;
                }
                sent => sent?,
            }
        }
        Ok(())
    }

    /// Blocks until the head of an answer is there; says so if the connection ends before.
    pub(super) fn read_head(&mut self, bounds: &Bounds) -> io::Result<Head> {
        let mut seen = 0;
        loop {
            if self.is_foreign() {
                let text = "what answers there speaks TLS: the address should begin with https";
                let error = TransportError::new(Phase::Response, text);
                return Err(io::Error::other(Error::from(error)));
            }
            if let Some((head, length)) = Head::read(self.input.unread(), seen)? {
                self.input.take(length);
                match head.status {
                    101 => return Err(malformed("the server goes on in another protocol")),
                    // What it says before its answer is of no use to anybody here.
                    100..200 => seen = 0,
                    _ => return Ok(head),
                }
                continue;
            }
            seen = self.input.unread().len();
            if self.fill(bounds)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads what there is, or waits for some; 0 is the end.
    pub(super) fn fill(&mut self, bounds: &Bounds) -> io::Result<usize> {
        let stream = &mut self.stream;
        let read = self.input.fill(|room| stream.read(room, bounds));
        let nothing = match &read {
            Ok((amount, _)) => *amount == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        if nothing && let Some(why) = self.hung_up.take() {
            return Err(why);
        }
        let (amount, was_full) = read?;
        self.has_more = was_full || self.stream.has_more();
        Ok(amount)
    }

    /// Whether an answer to plain HTTP begins as an alert of TLS.
    fn is_foreign(&self) -> bool {
        const ALERT: &[u8] = &[21, 3];
        !self.stream.is_tls() && self.input.unread().starts_with(ALERT)
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(super) fn give_back_room(&mut self) {
        self.input.give_back_room();
        self.stream.give_back_room();
    }

    /// Whether nothing is left of the last exchange.
    pub(super) fn is_clean(&self) -> bool {
        self.hung_up.is_none() && self.input.unread().is_empty()
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_reusable(&mut self) -> bool {
        self.stream.is_reusable()
    }
}
