//! Cutting JSON values out of a byte stream, one at a time, without holding the rest.

use std::io::{self, Read};

use super::scan::{ends_scalar, find_quote};

/// How much is read at a time, and the space that is kept between values.
const CHUNK: usize = 16 * 1024;

/// The largest single value, as client-go's. An API server stores nothing near it.
const MAX_VALUE: usize = 16 * 1024 * 1024;

/// A window on a stream of JSON text: holds one value at a time, and what was read beyond it.
#[derive(Debug)]
pub(crate) struct JsonStream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What is in `buffer` and not taken yet.
    start: usize,
    end: usize,
}

/// Where in a value the scan is, between two reads.
#[derive(Default)]
struct Progress {
    scanned: usize,
    depth: usize,
    in_string: bool,
}

impl<R: Read> JsonStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, end: 0 }
    }

    pub(crate) fn reader(&self) -> &R {
        &self.reader
    }

    pub(crate) fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The next byte that is not white space, left where it is; `None` at the end of the stream.
    pub(crate) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            while self.start < self.end {
                match self.buffer[self.start] {
                    b' ' | b'\n' | b'\r' | b'\t' => self.start += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Takes `byte`, which must come next after white space.
    pub(crate) fn expect(&mut self, byte: u8) -> io::Result<()> {
        match self.peek()? {
            Some(found) if found == byte => {
                self.start += 1;
                Ok(())
            }
            Some(found) => {
                let text = format!("expected {:?}, found {:?}", byte as char, found as char);
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Takes the next value, as soon as its last byte has arrived.
    ///
    /// A number or a word ends only where the next byte shows it, so it waits for that one.
    pub(crate) fn take_value(&mut self) -> io::Result<&[u8]> {
        let first = self.peek()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut progress = Progress::default();
        let length = loop {
            let seen = &self.buffer[self.start..self.end];
            let found = match first {
                b'{' | b'[' | b'"' => progress.find_end(seen),
                b't' | b'f' | b'n' | b'-' | b'0'..=b'9' => progress.find_scalar_end(seen),
                other => {
                    let text = format!("{:?} starts no JSON value", other as char);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            };
            if found.unwrap_or(progress.scanned) > MAX_VALUE {
                let text = format!("a JSON value of more than {MAX_VALUE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if let Some(length) = found {
                break length;
            }
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let value = self.start..self.start + length;
        self.start = value.end;
        Ok(&self.buffer[value])
    }

    /// Reads more, behind what is there; 0 at the end of the stream.
    fn fill(&mut self) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            // A large object now and then must not hold its space for ever.
            if self.buffer.len() > 4 * CHUNK {
                self.buffer.truncate(CHUNK);
                self.buffer.shrink_to_fit();
            }
        }
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let wanted = (self.end * 2).max(CHUNK);
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
        }
        let read = self.reader.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }
}

impl Progress {
    /// The length of the object, array or string at the start of `seen`, if its end is in it.
    fn find_end(&mut self, seen: &[u8]) -> Option<usize> {
        let mut at = self.scanned;
        while at < seen.len() {
            if self.in_string {
                let Some(found) = find_quote(&seen[at..]) else {
                    at = seen.len();
                    break;
                };
                at += found;
                if seen[at] == b'\\' {
                    if at + 1 == seen.len() {
                        // The escaped byte is still to come: look at the backslash again with it.
                        break;
                    }
                    at += 2;
                    continue;
                }
                self.in_string = false;
                if self.depth == 0 {
                    return Some(at + 1);
                }
            } else {
                match seen[at] {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        self.scanned = at;
        None
    }

    fn find_scalar_end(&mut self, seen: &[u8]) -> Option<usize> {
        let found = seen[self.scanned..].iter().position(|&byte| ends_scalar(byte));
        let end = found.map(|length| self.scanned + length);
        self.scanned = seen.len();
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its text in pieces of the given size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buf.len());
            buf[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn values(text: &str, piece: usize) -> io::Result<Vec<String>> {
        let mut stream = JsonStream::new(Pieces(text.as_bytes(), piece));
        let mut found = Vec::new();
        while stream.peek()?.is_some() {
            found.push(String::from_utf8(stream.take_value()?.to_vec()).unwrap());
        }
        Ok(found)
    }

    #[test]
    fn any_split_of_the_stream_gives_the_same_values() {
        let text = "{\"a\":\"}\\\"\\\\\"}\n  {\"b\":[1,2,{}]}[\"x\"]\"s\\\\\"\r\n{}12 true ";
        let expected = values(text, text.len()).unwrap();
        assert_eq!(expected.len(), 7, "{expected:?}");
        assert_eq!(expected[0], r#"{"a":"}\"\\"}"#);
        for piece in 1..text.len() {
            assert_eq!(values(text, piece).unwrap(), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn a_value_is_there_with_its_last_byte_and_not_with_the_next() {
        struct ThenPanic(bool);
        impl Read for ThenPanic {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                assert!(!std::mem::replace(&mut self.0, true), "read past the value");
                buf[..7].copy_from_slice(b"{\"a\":1}");
                Ok(7)
            }
        }
        let mut stream = JsonStream::new(ThenPanic(false));
        assert_eq!(stream.take_value().unwrap(), b"{\"a\":1}");
    }

    #[test]
    fn a_stream_that_ends_inside_a_value_is_an_error() {
        for text in ["{", "{\"a\":\"", "{\"a\":\"\\", "[1,", "\"", "tru"] {
            for piece in [1, 100] {
                let error = values(text, piece).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{text}");
            }
        }
        assert_eq!(values("}", 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(values("hello", 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_large_value_is_whole_and_its_space_is_given_back() {
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000));
        let text = format!("{large}{{}}");
        let mut stream = JsonStream::new(Pieces(text.as_bytes(), 10_000));
        assert_eq!(stream.take_value().unwrap(), large.as_bytes());
        assert_eq!(stream.take_value().unwrap(), b"{}");
        assert_eq!(stream.peek().unwrap(), None);
        assert!(stream.buffer.len() <= 4 * CHUNK, "{}", stream.buffer.len());
    }

    #[test]
    fn a_value_without_end_is_refused_at_the_limit() {
        let mut stream = JsonStream::new(io::repeat(b'['));
        assert_eq!(stream.take_value().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
