//! Cutting JSON values out of a byte stream, one at a time, without holding the rest.

use std::io::{self, Read};

use super::{
    outline::{Outline, Value},
    scan::skip_white_space,
};

/// How much is read at a time at first, and the space that is kept between values.
const CHUNK: usize = 16 * 1024;

/// How much is read at a time if there is always more.
const MAX_CHUNK: usize = 256 * 1024;

/// After how many reads in a row that bring little some of the space is given back: fewer may be chance.
const LITTLE: u32 = 8;

/// How many times as much is read after a read that filled all there was room for, and how much less after some that would
/// have fitted into that. Not little by little, because a row of buffers that were outgrown is a row of holes in memory.
const GROWTH: usize = 8;

/// The largest single value, as client-go's. An API server stores nothing near it.
const MAX_VALUE: usize = 16 * 1024 * 1024;

/// A reader that can tell what has arrived from what has not.
pub(crate) trait Arriving: Read {
    /// Reads what has arrived, if any may have; [`io::ErrorKind::WouldBlock`] if nothing has.
    fn read_arrived(&mut self, buf: &mut [u8]) -> io::Result<usize>;
}

/// A window on a stream of JSON text: holds one value at a time, and what was read beyond it.
#[derive(Debug)]
pub(crate) struct JsonStream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What is in `buffer` and not taken yet.
    start: usize,
    end: usize,
    /// Of the value that was taken last.
    outline: Outline,
    /// Of the value that comes next, as far as it has been looked at.
    ahead: Outline,
    /// How long that is, if it is known.
    ahead_length: Option<usize>,
    /// How much is read at a time.
    chunk: usize,
    /// How many reads in a row brought little.
    little: u32,
    /// Why nothing more can be read: found before it was asked for.
    failure: Option<io::Error>,
}

impl<R: Read> JsonStream<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            outline: Outline::default(),
            ahead: Outline::default(),
            ahead_length: None,
            chunk: CHUNK,
            little: 0,
            failure: None,
        }
    }

    /// The same for values of which nobody wants to know what is inside of more than so many objects and arrays.
    pub(crate) fn outlined_to_depth(mut self, deepest: usize) -> Self {
        (self.outline, self.ahead) = (Outline::to_depth(deepest), Outline::to_depth(deepest));
        self
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
            if let Some(byte) = self.buffered() {
                return Ok(Some(byte));
            }
            if self.fill(R::read)? == 0 {
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
    pub(crate) fn take_value(&mut self) -> io::Result<Value<'_>> {
        let first = self.peek()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let length = loop {
            if let Some(length) = self.look_ahead(first)? {
                break length;
            }
            if self.fill(R::read)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let value = self.start..self.start + length;
        self.start = value.end;
        std::mem::swap(&mut self.outline, &mut self.ahead);
        self.ahead.clear();
        self.ahead_length = None;
        Ok(self.outline.value(&self.buffer[value], 0..length))
    }

    /// The next byte that is not white space, if it has been read.
    fn buffered(&mut self) -> Option<u8> {
        let read = &self.buffer[..self.end];
        self.start = skip_white_space(read, self.start);
        read.get(self.start).copied()
    }

    /// How long the next value is, which begins with `first`, if all of it is there.
    fn look_ahead(&mut self, first: u8) -> io::Result<Option<usize>> {
        let seen = &self.buffer[self.start..self.end];
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        if self.ahead_length.is_none() {
            self.ahead_length = match first {
                b'{' | b'[' | b'"' => self.ahead.find_end(seen),
                b't' | b'f' | b'n' | b'-' | b'0'..=b'9' => self.ahead.find_scalar_end(seen),
                other => return Err(invalid(format!("{:?} starts no JSON value", other as char))),
            };
        }
        if self.ahead_length.unwrap_or(self.ahead.scanned()) > MAX_VALUE {
            return Err(invalid(format!("a JSON value of more than {MAX_VALUE} bytes")));
        }
        Ok(self.ahead_length)
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(crate) fn give_back_room(&mut self) {
        self.chunk = CHUNK;
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        self.buffer.truncate(self.end.max(CHUNK));
        self.buffer.shrink_to_fit();
        self.ahead.give_back_room();
        self.outline.give_back_room();
    }

    /// Reads more, behind what is there; 0 at the end of the stream.
    fn fill(
        &mut self,
        read: impl FnOnce(&mut R, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            // Neither a large object now and then nor a lot for once must hold its space for ever.
            if self.little >= LITTLE || self.buffer.len() > MAX_CHUNK {
                self.little = 0;
                self.chunk = (self.chunk / GROWTH).max(CHUNK);
                self.buffer.truncate(self.chunk);
                self.buffer.shrink_to_fit();
                self.ahead.give_back_room();
                self.outline.give_back_room();
            }
        }
        if self.buffer.len() - self.end < self.chunk / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let wanted = (self.end * 2).max(self.chunk);
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
        }
        let room = self.buffer.len() - self.end;
        let read = read(&mut self.reader, &mut self.buffer[self.end..])?;
        self.end += read;
        // As much as there was room for: the other side is faster, and may be for long.
        if read == room {
            (self.chunk, self.little) = ((GROWTH * self.chunk).min(MAX_CHUNK), 0);
        } else if read < self.chunk / GROWTH {
            self.little = self.little.saturating_add(1);
        } else {
            self.little = 0;
        }
        Ok(read)
    }
}

impl<R: Arriving> JsonStream<R> {
    /// Whether the next value, an object, is there already or has arrived, and is then: taking it does not wait.
    pub(crate) fn has_object(&mut self) -> bool {
        loop {
            match self.buffered() {
                Some(b'{') => match self.look_ahead(b'{') {
                    Ok(Some(_)) => return true,
                    Ok(None) => {}
                    Err(_) => return false,
                },
                Some(_) => return false,
                None => {}
            }
            match self.fill(R::read_arrived) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // Some errors are told once: it is for whoever waits for what comes next.
                Err(error) => {
                    self.failure = Some(error);
                    return false;
                }
            }
        }
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

    /// Nothing has arrived but what was waited for.
    impl Arriving for Pieces<'_> {
        fn read_arrived(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// All of it has arrived.
    impl Arriving for &[u8] {
        fn read_arrived(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.read(buf)
        }
    }

    fn values(text: &str, piece: usize) -> io::Result<Vec<String>> {
        let mut stream = JsonStream::new(Pieces(text.as_bytes(), piece));
        let mut found = Vec::new();
        while stream.peek()?.is_some() {
            found.push(String::from_utf8(stream.take_value()?.bytes().to_vec()).unwrap());
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
        assert_eq!(stream.take_value().unwrap().bytes(), b"{\"a\":1}");
    }

    #[test]
    fn it_is_known_whether_another_object_is_there() {
        let text = "{\"a\":1}\n{\"b\":[{}]} \n {\"c\"";
        let mut stream = JsonStream::new(Pieces(text.as_bytes(), text.len()));
        assert!(!stream.has_object(), "nothing has been read yet");
        assert_eq!(stream.take_value().unwrap().bytes(), b"{\"a\":1}");
        assert!(stream.has_object() && stream.has_object());
        let value = stream.take_value().unwrap();
        assert_eq!(value.bytes(), b"{\"b\":[{}]}");
        assert_eq!(value.containers_within().count(), 1, "with its own outline");
        assert!(!stream.has_object(), "only its beginning is there");
        for none in ["", " ", "3", "x", "]"] {
            let text = format!("{{}}{none}");
            let mut stream = JsonStream::new(Pieces(text.as_bytes(), text.len()));
            stream.take_value().unwrap();
            assert!(!stream.has_object(), "{none}");
        }
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
        assert_eq!(stream.take_value().unwrap().bytes(), large.as_bytes());
        assert_eq!(stream.take_value().unwrap().bytes(), b"{}");
        assert_eq!(stream.peek().unwrap(), None);
        assert!(stream.buffer.len() <= MAX_CHUNK, "{}", stream.buffer.len());
    }

    #[test]
    fn room_is_given_back_and_what_has_been_read_stays() {
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(10_000)).repeat(30);
        let mut stream = JsonStream::new(text.as_bytes());
        let expected = &text.as_bytes()[..text.len() / 30];
        for _ in 0..15 {
            assert_eq!(stream.take_value().unwrap().bytes(), expected);
        }
        assert!(stream.buffer.capacity() > CHUNK && stream.has_object());
        stream.give_back_room();
        assert!(stream.buffer.capacity() <= (stream.end - stream.start).max(CHUNK));
        for _ in 15..30 {
            assert_eq!(stream.take_value().unwrap().bytes(), expected);
        }
        assert_eq!(stream.peek().unwrap(), None);
    }

    #[test]
    fn room_stays_while_a_large_value_comes_in_small_pieces() {
        let text = format!("{{\"a\":\"{}\"}}{{}}", "x".repeat(1_000_000));
        let mut stream = JsonStream::new(Pieces(text.as_bytes(), 100));
        let (mut room, mut moves) = (0, 0);
        while stream.look_ahead(b'{').unwrap().is_none() {
            assert!(stream.fill(Read::read).unwrap() > 0);
            moves += usize::from(std::mem::replace(&mut room, stream.buffer.len()) != room);
        }
        assert!(moves < 20, "{moves}");
        stream.take_value().unwrap();
        stream.take_value().unwrap();
        assert_eq!(stream.peek().unwrap(), None);
        assert_eq!(stream.buffer.len(), CHUNK);
    }

    #[test]
    fn room_is_given_back_when_little_comes_for_long() {
        let value = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000));
        let (much, little) = (value.repeat(1_000), value.repeat(100));
        let reader = much.as_bytes().chain(Pieces(little.as_bytes(), value.len()));
        let mut stream = JsonStream::new(reader);
        for _ in 0..1_000 {
            stream.take_value().unwrap();
        }
        assert_eq!(stream.chunk, MAX_CHUNK);
        for _ in 0..100 {
            assert_eq!(stream.take_value().unwrap().bytes(), value.as_bytes());
        }
        assert!(stream.buffer.len() <= CHUNK, "{}", stream.buffer.len());
        assert_eq!(stream.peek().unwrap(), None);
    }

    #[test]
    fn an_object_that_has_arrived_is_there_and_a_failure_is_for_whoever_asks_for_more() {
        /// Gives what each step says: some text, or an error.
        struct Steps(std::vec::IntoIter<Result<&'static str, io::ErrorKind>>);
        impl Read for Steps {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                (&mut self.0.next().unwrap_or(Ok(""))?.as_bytes()).read(buf)
            }
        }
        impl Arriving for Steps {
            fn read_arrived(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.read(buf)
            }
        }
        let nothing = Err(io::ErrorKind::WouldBlock);
        let broken = Err(io::ErrorKind::ConnectionReset);
        let steps = vec![Ok("{}"), Ok("{\"a\""), Ok(":1}{"), nothing, Ok("}"), broken, Ok("{}")];
        let mut stream = JsonStream::new(Steps(steps.into_iter()));
        assert_eq!(stream.take_value().unwrap().bytes(), b"{}");
        assert!(stream.has_object(), "in two pieces");
        assert_eq!(stream.take_value().unwrap().bytes(), b"{\"a\":1}");
        assert!(!stream.has_object(), "only its beginning has arrived");
        assert_eq!(stream.take_value().unwrap().bytes(), b"{}");
        assert!(!stream.has_object());
        assert_eq!(stream.peek().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_value_without_end_is_refused_at_the_limit() {
        let mut stream = JsonStream::new(io::repeat(b'['));
        assert_eq!(stream.take_value().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
