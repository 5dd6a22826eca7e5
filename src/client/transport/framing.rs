//! Where the body of an answer ends.

use std::io;

use super::{
    head::{Head, malformed},
    input::Input,
};

/// How a body is marked off from what comes after it, and how much of it is still to come.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Pieces, each with its length before it.
    Chunked(Chunk),
    /// What comes until the connection is closed.
    UntilClose,
}

/// What comes next of a body that is sent in pieces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunk {
    /// The length of a piece, of which so much is known; `None` before its first digit.
    Size(Option<u64>),
    /// What stands behind a length, up to the end of the line: nobody has a use for it.
    Extension {
        size: u64,
        length: usize,
    },
    /// The end of the line that a length is in.
    AfterSize(u64),
    /// So much of a piece.
    Data(u64),
    /// The end of the line that ends a piece.
    AfterData,
    /// Lines after the last piece, up to an empty one: of the line that has begun, and of all of them, so much.
    Trailer {
        line: usize,
        length: usize,
    },
    Over,
}

/// What stands beside pieces may be so long.
const MAX_BESIDE: usize = 64 * 1024;
/// A length that is larger cannot have another digit.
const MAX_SIZE: u64 = u64::MAX >> 4;

impl Framing {
    pub(super) fn of(head: &Head) -> io::Result<Self> {
        if matches!(head.status, 100..200 | 204 | 304) {
            return Ok(Self::Length(0));
        }
        let mut encodings = head.words("transfer-encoding").peekable();
        if encodings.peek().is_some() {
            return match encodings.all(|encoding| encoding.eq_ignore_ascii_case(b"chunked")) {
                true => Ok(Self::Chunked(Chunk::Size(None))),
                false => Err(malformed("its transfer encoding is none that is known here")),
            };
        }
        let mut lengths =
            head.values("content-length").flat_map(|value| value.split(|&b| b == b','));
        let Some(length) = lengths.next() else { return Ok(Self::UntilClose) };
        let length = number(length);
        match length {
            Some(length) if lengths.all(|other| number(other) == Some(length)) => {
                Ok(Self::Length(length))
            }
            _ => Err(malformed("its content length is no number, or several")),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// Reads some of the body, of what `fill` brings; 0 is its end.
    pub(super) fn read(
        &mut self,
        input: &mut Input,
        buf: &mut [u8],
        mut fill: impl FnMut(&mut Input) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let (taken, given) = self.decode(input.unread(), buf)?;
            input.take(taken);
            if given > 0 || buf.is_empty() || self.is_over() {
                return Ok(given);
            }
            let is_end = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            match fill(input) {
                // TLS that just ends is no worse an end than that of a connection without TLS.
                Err(error) if !is_end(&error) => return Err(error),
                Ok(more) if more > 0 => {}
                _ if matches!(self, Self::UntilClose) => *self = Self::Length(0),
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Copies as much of the body as there is, and room for; says how much was taken and how much of that is body.
    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> io::Result<(usize, usize)> {
        match self {
            Self::Length(left) => {
                let copied = copy(input, out, *left);
                *left -= copied as u64;
                Ok((copied, copied))
            }
            Self::UntilClose => {
                let copied = copy(input, out, u64::MAX);
                Ok((copied, copied))
            }
            Self::Chunked(chunk) => chunk.decode(input, out),
        }
    }
}

impl Chunk {
    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> io::Result<(usize, usize)> {
        let (mut taken, mut given) = (0, 0);
        while let Some(&byte) = input.get(taken) {
            if let Self::Data(left) = *self {
                let copied = copy(&input[taken..], &mut out[given..], left);
                if copied == 0 {
                    break;
                }
                (taken, given) = (taken + copied, given + copied);
                let left = left - copied as u64;
                *self = if left == 0 { Self::AfterData } else { Self::Data(left) };
                continue;
            }
            match self.after(byte) {
                Ok(Some(next)) => *self = next,
                // What came before it counts; it is found again.
                Err(_) if given > 0 => break,
                Ok(None) => break,
                Err(error) => return Err(error),
            }
            taken += 1;
        }
        Ok((taken, given))
    }

    /// What comes after a byte that is not data; `None` if it is of the next answer.
    fn after(self, byte: u8) -> io::Result<Option<Self>> {
        let bad = || malformed("the pieces of the body are malformed");
        Ok(Some(match (self, byte) {
            (Self::Size(size), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                let size = size.unwrap_or(0);
                if size > MAX_SIZE {
                    return Err(bad());
                }
                Self::Size(Some(size << 4 | digit))
            }
            (
                Self::Size(Some(size)) | Self::Extension { size, .. } | Self::AfterSize(size),
                b'\n',
            ) => match size {
                0 => Self::Trailer { line: 0, length: 0 },
                size => Self::Data(size),
            },
            (Self::Size(Some(size)) | Self::Extension { size, .. }, b'\r') => Self::AfterSize(size),
            (Self::Size(Some(size)), b';' | b' ' | b'\t') => Self::Extension { size, length: 0 },
            (Self::Extension { size, length }, _) if length < MAX_BESIDE => {
                Self::Extension { size, length: length + 1 }
            }
            (Self::AfterData, b'\r') => Self::AfterData,
            (Self::AfterData, b'\n') => Self::Size(None),
            (Self::Trailer { line: 0, .. }, b'\n') => Self::Over,
            (Self::Trailer { length, .. }, b'\n') => Self::Trailer { line: 0, length },
            (Self::Trailer { line, length }, b'\r') => Self::Trailer { line, length },
            (Self::Trailer { line, length }, _) if length < MAX_BESIDE => {
                Self::Trailer { line: line + 1, length: length + 1 }
            }
            (Self::Over, _) => return Ok(None),
            _ => return Err(bad()),
        }))
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

fn copy(from: &[u8], to: &mut [u8], most: u64) -> usize {
    let length = from.len().min(to.len()).min(usize::try_from(most).unwrap_or(usize::MAX));
    to[..length].copy_from_slice(&from[..length]);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(fields: &str) -> io::Result<Framing> {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        Framing::of(&Head::read(text.as_bytes(), 0).unwrap().unwrap().0)
    }

    /// All of the body that is in `text`, which comes in pieces of `step` bytes, for readers with so much room; and
    /// what was not taken.
    fn read(fields: &str, text: &[u8], step: usize, room: usize) -> io::Result<(Vec<u8>, usize)> {
        let (mut framing, mut input) = (framing(fields)?, Input::new());
        let (mut body, mut out, mut left) = (Vec::new(), vec![0; room], text);
        loop {
            let read = framing.read(&mut input, &mut out, |input| {
                let (piece, after) = left.split_at(step.min(left.len()));
                left = after;
                let copied = input.fill(|buf| Ok(copy(piece, buf, u64::MAX)));
                copied.map(|(copied, _)| copied)
            })?;
            if read == 0 {
                return Ok((body, input.unread().len() + left.len()));
            }
            body.extend(&out[..read]);
        }
    }

    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

    #[test]
    fn a_body_is_the_same_however_it_arrives_and_is_read() {
        let chunked = b"3\r\nabc\r\n0A;x=y\r\n0123456789\r\n2 \ndd\n0\r\nTrailer: x\r\n\r\nHTTP";
        for step in 1..chunked.len() {
            for room in 1..20 {
                let read = read(CHUNKED, chunked, step, room).unwrap();
                assert_eq!(read, (b"abc0123456789dd".to_vec(), 4), "{step}, {room}");
            }
        }
        assert_eq!(read("Content-Length: 3\r\n", b"abcd", 2, 2).unwrap(), (b"abc".to_vec(), 1));
        assert_eq!(read("", b"abcd", 3, 2).unwrap(), (b"abcd".to_vec(), 0));
    }

    #[test]
    fn pieces_count_before_a_length_and_lengths_that_differ_are_refused() {
        let both = format!("Content-Length: 1\r\n{CHUNKED}");
        assert!(matches!(framing(&both).unwrap(), Framing::Chunked(_)));
        let same = "Content-Length: 7, 07\r\ncontent-length: 7\r\n";
        assert!(matches!(framing(same).unwrap(), Framing::Length(7)));
        for bad in [
            "Content-Length: 7\r\nContent-Length: 8\r\n",
            "Content-Length: 7,\r\n",
            "Content-Length: +7\r\n",
            "Content-Length: -7\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
        ] {
            assert!(framing(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_body_that_ends_before_its_end_is_an_error_unless_nothing_else_would_end_it() {
        for (fields, text) in [("Content-Length: 3\r\n", "ab"), (CHUNKED, "2\r\nab\r\n0\r\n")] {
            let error = read(fields, text.as_bytes(), 1, 9).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        let mut framing = Framing::UntilClose;
        let ends = |_: &mut Input| Err(io::ErrorKind::UnexpectedEof.into());
        assert_eq!(framing.read(&mut Input::new(), &mut [0], ends).unwrap(), 0);
        let breaks = |_: &mut Input| Err(io::ErrorKind::ConnectionReset.into());
        assert!(Framing::UntilClose.read(&mut Input::new(), &mut [0], breaks).is_err());
    }

    #[test]
    fn answers_without_a_body_have_none() {
        for status in [204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
            let head = Head::read(text.as_bytes(), 0).unwrap().unwrap().0;
            assert!(Framing::of(&head).unwrap().is_over());
        }
    }

    #[test]
    fn what_came_before_something_malformed_counts() {
        let (mut framing, mut out) = (framing(CHUNKED).unwrap(), [0; 9]);
        let input = b"2\r\nab\r\nx";
        assert_eq!(framing.decode(input, &mut out).unwrap(), (7, 2));
        assert!(framing.decode(&input[7..], &mut out).is_err());
    }

    #[test]
    fn malformed_pieces_are_refused() {
        let endless = format!("1;{}", "x".repeat(2 * MAX_BESIDE));
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(MAX_BESIDE));
        for bad in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "5\rx\nhello",
            "3\r\nabcd",
            "fffffffffffffffff\r\n",
            &endless,
            &trailers,
        ] {
            assert!(read(CHUNKED, bad.as_bytes(), 7, 7).is_err(), "{bad:.20}");
        }
    }
}
