//! One connection on which requests are sent and answers are read, one after the other.

use std::{
    io,
    time::{Duration, Instant},
};

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

/// How long the server may not read before it is looked whether it has answered already.
const GLANCE: Duration = Duration::from_millis(100);

/// A connection that speaks HTTP/1.1.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) link: Link,
    pub(super) input: Input,
}

/// What the input of a connection comes from.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    /// Why sending failed: told if there is no answer to read.
    hung_up: Option<io::Error>,
    /// What was last read may not be all that has arrived.
    has_more: bool,
}

/// The other side does not read any more.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self { link: Link { stream, hung_up: None, has_more: false }, input: Input::new() }
    }

    /// Sends a part of a request, or as much of it as the server wants.
    pub(super) fn send(&mut self, bytes: &[u8], bounds: &Bounds) -> io::Result<()> {
        let brief = Bounds { silence: Some(GLANCE), ..bounds.clone() };
        for mut piece in bytes.chunks(PIECE) {
            let (mut since, mut left) = (Instant::now(), piece.len());
            while self.link.hung_up.is_none()
                && let Err(error) = self.link.stream.write_rest(&mut piece, &brief)
            {
                // A server that does not want the rest of a body says why before it hangs up, or does not hang up.
                if is_hang_up(&error) {
                    self.link.hung_up = Some(error);
                    break;
                }
                if error.kind() != io::ErrorKind::TimedOut {
                    return Err(error);
                }
                let now = Instant::now();
                if piece.len() < left {
                    (since, left) = (now, piece.len());
                }
                let is_silent = bounds.silence.is_some_and(|silence| now - since >= silence);
                let is_late = bounds.deadline.is_some_and(|deadline| now >= deadline);
                if self.is_answered(bounds)? {
                    self.link.hung_up = Some(io::ErrorKind::TimedOut.into());
                } else if is_silent || is_late {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether there is an answer, or an end, before all of the request was sent.
    fn is_answered(&mut self, bounds: &Bounds) -> io::Result<bool> {
        let now = Bounds { silence: Some(Duration::ZERO), deadline: None, ..bounds.clone() };
        match self.link.fill(&mut self.input, &now) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if is_hang_up(&error) => return Ok(true),
            Ok(0) => return Ok(true),
            read => _ = read?,
        }
        while let Some((head, length)) = Head::read(self.input.unread(), 0)? {
            if !head.is_interim() {
                return Ok(true);
            }
            self.input.take(length);
        }
        Ok(false)
    }

    /// Blocks until the head of an answer is there.
    pub(super) fn read_head(&mut self, bounds: &Bounds) -> io::Result<Head> {
        let link = &mut self.link;
        read_head(&mut self.input, |input| {
            let read = link.fill(input, bounds)?;
            link.check_native(input)?;
            Ok(read)
        })
    }

    /// Whether more may be there than was taken.
    pub(super) fn has_more(&self) -> bool {
        self.link.has_more || !self.input.unread().is_empty()
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(super) fn give_back_room(&mut self) {
        self.input.give_back_room();
        self.link.stream.give_back_room();
    }

    /// Whether nothing is left of the last exchange.
    pub(super) fn is_clean(&self) -> bool {
        self.link.hung_up.is_none() && self.input.unread().is_empty()
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_reusable(&mut self) -> bool {
        self.link.stream.is_reusable()
    }
}

impl Link {
    /// Reads what there is, or waits for some; 0 is the end.
    pub(super) fn fill(&mut self, input: &mut Input, bounds: &Bounds) -> io::Result<usize> {
        let read = input.fill(|room| self.stream.read(room, bounds));
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

    /// Fails if an answer to plain HTTP begins as an alert of TLS.
    fn check_native(&self, input: &Input) -> io::Result<()> {
        const ALERT: &[u8] = &[21, 3];
        if self.stream.is_tls() || !input.unread().starts_with(ALERT) {
            return Ok(());
        }
        let text = "what answers there speaks TLS: the address should begin with https";
        Err(io::Error::other(Error::from(TransportError::new(Phase::Response, text))))
    }
}

/// Reads the head of an answer from what `fill` brings, which is nothing at the end of the connection.
pub(super) fn read_head(
    input: &mut Input,
    mut fill: impl FnMut(&mut Input) -> io::Result<usize>,
) -> io::Result<Head> {
    let mut seen = 0;
    loop {
        if let Some((head, length)) = Head::read(input.unread(), seen)? {
            input.take(length);
            match head.status {
                101 => return Err(malformed("the server goes on in another protocol")),
                _ if head.is_interim() => seen = 0,
                _ => return Ok(head),
            }
            continue;
        }
        seen = input.unread().len();
        if fill(input)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
