//! Heads of HTTP/1.1: those of requests, written, and those of answers, read.

use std::io;

use memchr::memchr;

use super::{HttpRequest, Method};
use crate::error::{Error, Result};

/// A head that is longer is none that an API server sends.
const MAX_HEAD: usize = 64 * 1024;

/// What an answer says before its body.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Whether it is of HTTP/1.0, whose connections are for one request unless somebody says otherwise.
    is_old: bool,
    fields: Vec<(Box<str>, Box<[u8]>)>,
}

impl Head {
    /// Reads the head at the beginning of `input`, if all of it is there; and how long it is. The first `seen` bytes
    /// were not a whole one.
    pub(super) fn read(input: &[u8], seen: usize) -> io::Result<Option<(Self, usize)>> {
        const BEGINNING: &[u8] = b"HTTP/1.";
        let compared = input.len().min(BEGINNING.len());
        if input[..compared] != BEGINNING[..compared] {
            return Err(malformed("what answers there does not speak HTTP/1"));
        }
        let length = end(input, seen);
        if length.unwrap_or(input.len()) > MAX_HEAD {
            return Err(malformed(&format!("the header is larger than {MAX_HEAD} bytes")));
        }
        let Some(length) = length else { return Ok(None) };
        let lines = input[..length].split(|&byte| byte == b'\n');
        let mut lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let (is_old, status) = status_line(lines.next().unwrap_or_default())
            .ok_or_else(|| malformed("the first line of the answer is not one of HTTP/1.1"))?;
        let mut fields: Vec<(Box<str>, Box<[u8]>)> = Vec::new();
        for line in lines.take_while(|line| !line.is_empty()) {
            match fields.last_mut() {
                // A value that goes on in another line, as it may in old servers.
                Some((_, value)) if is_folded(line) => {
                    *value = [&**value, line.trim_ascii()].join(&b' ').into();
                }
                _ => fields.push(field(line)?),
            }
        }
        Ok(Some((Self { status, is_old, fields }, length)))
    }

    /// Whether it only comes before an answer: what it says is of no use to anybody here. (101 is an answer: that the
    /// server goes on in another protocol.)
    pub(super) fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..200)
    }

    /// The values of a header whose name is given in lower case, in their order.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let fields = self.fields.iter().filter(move |(field, _)| **field == *name);
        fields.map(|(_, value)| &**value)
    }

    /// The words of a header whose values are lists.
    pub(super) fn words(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let words = self.values(name).flat_map(|value| value.split(|&byte| byte == b','));
        words.map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
    }

    /// Whether another request may be sent on the connection.
    pub(super) fn keeps_connection(&self) -> bool {
        let says = |word: &[u8]| self.words("connection").any(|it| it.eq_ignore_ascii_case(word));
        // HTTP/1.0 knows no pieces: who sends them all the same is not to be trusted with another answer.
        let is_sound = || self.words("transfer-encoding").next().is_none();
        !says(b"close") && (!self.is_old || says(b"keep-alive") && is_sound())
    }
}

/// Where the empty line ends that ends a head.
fn end(input: &[u8], seen: usize) -> Option<usize> {
    let mut at = seen.saturating_sub(2);
    loop {
        at += memchr(b'\n', &input[at..])? + 1;
        match &input[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// Whether it is of HTTP/1.0, and the code.
fn status_line(line: &[u8]) -> Option<(bool, u16)> {
    let (version, rest) = (line.get(..9)?, line.get(9..)?);
    let is_old = match version {
        b"HTTP/1.1 " => false,
        b"HTTP/1.0 " => true,
        _ => return None,
    };
    let (code, reason) = (rest.get(..3)?, &rest[3..]);
    if !code.iter().all(u8::is_ascii_digit) || !(reason.is_empty() || reason[0] == b' ') {
        return None;
    }
    let code = code.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    (100..1000).contains(&code).then_some((is_old, code))
}

fn is_folded(line: &[u8]) -> bool {
    matches!(line, [b' ' | b'\t', rest @ ..] if !rest.trim_ascii().is_empty() && is_value(rest))
}

fn field(line: &[u8]) -> io::Result<(Box<str>, Box<[u8]>)> {
    let colon = memchr(b':', line).unwrap_or(line.len());
    let name = std::str::from_utf8(&line[..colon]).ok().filter(|name| is_name(name));
    let (Some(name), Some(value)) = (name, line.get(colon + 1..)) else {
        return Err(malformed("a header is malformed"));
    };
    if !is_value(value) {
        // What is in it may be nobody's business.
        return Err(malformed(&format!("the header {name:?} is malformed")));
    }
    Ok((name.to_ascii_lowercase().into(), value.trim_ascii().into()))
}

/// Writes a head. The credential is in it: nobody is to see it but the server.
pub(super) fn write(request: &HttpRequest<'_>, host: &str, user_agent: &str) -> Result<Vec<u8>> {
    let target = request.target;
    if !target.starts_with('/') || target.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(Error::invalid("path", format!("{target:?} cannot be sent as it is")));
    }
    let mut head = format!("{} {target} HTTP/1.1\r\n", request.method.as_str()).into_bytes();
    let mut field = |name: &str, value: &str| {
        if !is_name(name) || !is_value(value.as_bytes()) {
            // The value may be nobody's business.
            return Err(Error::invalid("header", format!("{name:?} cannot be sent as it is")));
        }
        for part in [name, ": ", value, "\r\n"] {
            head.extend(part.as_bytes());
        }
        Ok(())
    };
    field("host", host)?;
    field("user-agent", user_agent)?;
    for (name, value) in request.headers {
        field(name, value)?;
    }
    for (name, value) in request.extra_headers {
        field(name, value)?;
    }
    if let Some(credential) = &request.authorization {
        field("authorization", credential.expose())?;
    }
    let has_none = matches!(request.method, Method::Get | Method::Delete);
    if let Some(length) = request.body.map(<[u8]>::len).or((!has_none).then_some(0)) {
        field("content-length", &length.to_string())?;
    }
    head.extend(b"\r\n");
    Ok(head)
}

fn is_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

fn is_value(value: &[u8]) -> bool {
    value.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control())
}

/// An answer that is none. Of no kind that a reader of what is inside of it would give.
pub(super) fn malformed(text: &str) -> io::Error {
    io::Error::other(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn read(text: &str) -> Head {
        let (head, length) = Head::read(text.as_bytes(), 0).unwrap().unwrap();
        assert_eq!(length, text.len());
        head
    }

    #[test]
    fn a_head_is_read_when_it_is_whole_and_not_before() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n{}";
        for end in 0..text.len() - 2 {
            for seen in 0..=end {
                assert!(Head::read(&text[..end], seen).unwrap().is_none());
            }
            let (head, length) = Head::read(text, end).unwrap().unwrap();
            assert_eq!((head.status, length), (200, text.len() - 2));
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_values_are_trimmed() {
        let head = read("HTTP/1.1 404\nA:  x \nb: 1\nB: \u{e9}\n\n");
        let values = |name| head.values(name).map(String::from_utf8_lossy).collect::<Vec<_>>();
        assert_eq!(
            (head.status, values("a"), values("b")),
            (404, vec!["x".into()], vec!["1".into(), "é".into()])
        );
        assert!(values("c").is_empty());
    }

    #[test]
    fn a_value_may_go_on_in_the_next_line() {
        let head = read("HTTP/1.1 200 OK\r\nA: one\r\n\ttwo \r\n three\r\nB: x\r\n\r\n");
        let values = |name| head.values(name).collect::<Vec<_>>().concat();
        assert_eq!((values("a"), values("b")), (b"one two three".to_vec(), b"x".to_vec()));
    }

    #[test]
    fn a_connection_is_kept_as_its_version_has_it_unless_it_is_said() {
        for (text, keeps) in [
            ("HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: x, Close\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n\r\n", true),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
                false,
            ),
        ] {
            assert_eq!(read(text).keeps_connection(), keeps, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused_as_soon_as_that_is_clear() {
        for text in [
            "S",
            "HTTP/2",
            "HTTP/1.1 20\r\n\r\n",
            "HTTP/1.1 099 X\r\n\r\n",
            "HTTP/1.1 2000\r\n\r\n",
            "HTTP/1.7 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
            "HTTP/1.1 200 OK\r\nwhite space: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: \0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n \r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\r\nContent-Length: 1\r\n\r\n",
        ] {
            assert!(Head::read(text.as_bytes(), 0).is_err(), "{text:?}");
        }
        let secret =
            Head::read(b"HTTP/1.1 200 OK\r\nSet-Cookie: secret\x01\r\n\r\n", 0).unwrap_err();
        assert_eq!(secret.to_string(), "the header \"Set-Cookie\" is malformed");
        for end in ["", "\r\n\r\n"] {
            let long = format!("HTTP/1.1 200 OK\r\nA: {}{end}", "x".repeat(MAX_HEAD));
            let error = Head::read(long.as_bytes(), 0).unwrap_err();
            assert_eq!(error.to_string(), "the header is larger than 65536 bytes");
        }
    }

    #[test]
    fn a_request_is_written_with_its_credential_and_nothing_can_be_slipped_in() {
        let mut request = HttpRequest {
            method: Method::Post,
            target: "/api?x=1",
            headers: &[("accept", "a/b".to_owned())],
            extra_headers: &[],
            authorization: Some(Secret::new("Bearer t".to_owned())),
            body: Some(b"{}"),
        };
        assert_eq!(
            String::from_utf8(write(&request, "h:1", "me").unwrap()).unwrap(),
            "POST /api?x=1 HTTP/1.1\r\nhost: h:1\r\nuser-agent: me\r\naccept: a/b\r\n\
             authorization: Bearer t\r\ncontent-length: 2\r\n\r\n"
        );
        (request.body, request.authorization) = (None, None);
        assert!(write(&request, "h", "me").unwrap().ends_with(b"content-length: 0\r\n\r\n"));
        request.method = Method::Delete;
        assert!(write(&request, "h", "me").unwrap().ends_with(b"accept: a/b\r\n\r\n"));
        let slipped = [("a".to_owned(), "b\r\nc: d".to_owned())];
        request.extra_headers = &slipped;
        let error = write(&request, "h:1", "me").unwrap_err().to_string();
        assert!(error.contains("header") && !error.contains("c: d"), "{error}");
        request.extra_headers = &[];
        for target in ["", "api", "/a b", "/a\r\nx: y", "/\u{e9}"] {
            request.target = target;
            assert!(write(&request, "h:1", "me").is_err(), "{target:?}");
        }
    }
}
