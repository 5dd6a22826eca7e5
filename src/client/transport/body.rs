//! The body of an answer, as it comes.

use std::{
    fmt,
    io::{self, BufReader, Read},
    sync::Weak,
    time::{Duration, Instant},
};

use flate2::bufread::MultiGzDecoder;

use super::{
    Bounds, failure,
    framing::Framing,
    head::{Head, malformed},
    pool::Pool,
    wire::Wire,
};
use crate::{
    error::{Error, Phase, Result, TransportError},
    json::stream::Arriving,
};

/// Where a read brings this much, there may be more.
const MUCH: usize = 32 * 1024;

/// How much that is compressed is taken at a time.
const COMPRESSED: usize = 32 * 1024;

/// The body of a response, read from the socket as it is asked for.
///
/// Dropped before its end, it closes its connection; read to the end, it gives it back.
pub(crate) struct Body {
    reader: Reader,
    gather: Duration,
    /// The last read took all that there was.
    caught_up: bool,
}

enum Reader {
    Plain(Framed),
    Gzip(Box<MultiGzDecoder<BufReader<Framed>>>),
    /// In an encoding that was not asked for.
    Unknown(Framed, String),
}

/// What is between the head of an answer and its end.
struct Framed {
    /// Until the end.
    wire: Option<Wire>,
    framing: Framing,
    bounds: Bounds,
    /// Where the connection goes at the end, if it may be used again and somebody may want it.
    home: Weak<Pool>,
}

impl Body {
    pub(super) fn new(
        wire: Wire,
        head: &Head,
        home: Weak<Pool>,
        bounds: Bounds,
    ) -> io::Result<Self> {
        let framing = Framing::of(head)?;
        let ends_by_close = matches!(framing, Framing::UntilClose);
        let is_kept = head.keeps_connection() && !ends_by_close;
        let home = if is_kept { home } else { Weak::new() };
        let mut framed = Framed { wire: Some(wire), framing, bounds, home };
        framed.end_if_over();
        let codings: Vec<_> = head
            .words("content-encoding")
            .filter(|coding| !coding.eq_ignore_ascii_case(b"identity"))
            .collect();
        let is_gzip = |coding: &[u8]| {
            coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
        };
        let reader = match codings[..] {
            // What is empty is not compressed either, whatever it says.
            _ if framed.wire.is_none() => Reader::Plain(framed),
            [] => Reader::Plain(framed),
            [coding] if is_gzip(coding) => Reader::gzip(framed),
            _ => {
                let codings = codings.join(&b", "[..]);
                Reader::Unknown(framed, String::from_utf8_lossy(&codings).into_owned())
            }
        };
        Ok(Self { reader, gather: Duration::ZERO, caught_up: false })
    }

    /// Reads everything, up to `limit` bytes.
    pub(crate) fn read_all(&mut self, limit: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let read = self.take(limit + 1).read_to_end(&mut all);
        read.map_err(|error| self.failure(error))?;
        if all.len() as u64 > limit {
            let text = format!("the answer is larger than {limit} bytes");
            return Err(TransportError::new(Phase::Body, text).into());
        }
        Ok(all)
    }

    /// Lets it last from now on, as long as the server is not silent for longer than this.
    pub(crate) fn set_silence(&mut self, silence: Option<Duration>) {
        let bounds = &mut self.framed().bounds;
        (bounds.silence, bounds.deadline) = (silence, None);
    }

    /// Lets what comes gather for so long, from now on, before it is read, unless there is much to read already:
    /// servers write an event in pieces, and to be woken for each of them costs more than to read them all.
    pub(crate) fn set_gather(&mut self, gather: Duration) {
        self.gather = gather;
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(crate) fn give_back_room(&mut self) {
        if let Some(wire) = &mut self.framed().wire {
            wire.give_back_room();
        }
    }

    /// What an error from [`read`](Read::read) means.
    pub(crate) fn failure(&self, error: io::Error) -> Error {
        let framed = match &self.reader {
            Reader::Plain(framed) | Reader::Unknown(framed, _) => framed,
            Reader::Gzip(decoder) => decoder.get_ref().get_ref(),
        };
        failure(&framed.bounds, Phase::Body, error)
    }

    fn framed(&mut self) -> &mut Framed {
        match &mut self.reader {
            Reader::Plain(framed) | Reader::Unknown(framed, _) => framed,
            Reader::Gzip(decoder) => decoder.get_mut().get_mut(),
        }
    }

    fn read_now(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.reader {
            Reader::Plain(framed) => framed.read(buf),
            Reader::Gzip(decoder) => decoder.read(buf).map_err(of_gzip),
            Reader::Unknown(_, codings) => {
                Err(malformed(&format!("it is encoded as {codings:?}, which was not asked for")))
            }
        }?;
        let is_decoded = match &self.reader {
            Reader::Gzip(decoder) => decoder.get_ref().buffer().is_empty(),
            _ => true,
        };
        let has_more = !is_decoded || self.framed().wire.as_ref().is_none_or(Wire::has_more);
        self.caught_up = read < buf.len() && read < MUCH && !has_more;
        Ok(read)
    }
}

impl Reader {
    /// Takes what has arrived: to wait for more is up to whoever reads.
    fn gzip(mut framed: Framed) -> Self {
        let silence = framed.bounds.silence.replace(Duration::ZERO);
        let mut decoder = MultiGzDecoder::new(BufReader::with_capacity(COMPRESSED, framed));
        decoder.get_mut().get_mut().bounds.silence = silence;
        Self::Gzip(Box::new(decoder))
    }
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let gathers = self.caught_up && !self.gather.is_zero();
        let gather = self.gather;
        if gathers && self.framed().bounds.stop.wait_timeout(gather) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.read_now(buf)
    }
}

impl Arriving for Body {
    /// To ask costs as much as to read a little, so it is asked only where the last read may have left something.
    fn read_arrived(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.caught_up {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let silence = self.framed().bounds.silence.replace(Duration::ZERO);
        let read = self.read_now(buf);
        self.framed().bounds.silence = silence;
        self.caught_up |= read.is_err();
        read
    }
}

/// Bytes were the problem, and not getting them: nobody is to take that for a problem of what they stand for.
fn of_gzip(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => malformed(&error.to_string()),
        _ => error,
    }
}

impl Framed {
    fn end_if_over(&mut self) {
        if !self.framing.is_over() {
            return;
        }
        if let Some(wire) = self.wire.take()
            && wire.is_clean()
            && let Some(home) = self.home.upgrade()
        {
            home.keep(wire, Instant::now());
        }
    }
}

impl Read for Framed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(Wire { link, input }) = &mut self.wire else { return Ok(0) };
        let read = self.framing.read(input, buf, |input| link.fill(input, &self.bounds))?;
        self.end_if_over();
        Ok(read)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
