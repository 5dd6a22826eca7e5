//! HTTP/1.1 requests: parsing, with limits.

use super::wire::Wire;
use crate::testing::limits::MOST_BYTES;

const MOST_HEAD: usize = 64 * 1024;

/// One request, read to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// As sent, without the query.
    pub(crate) path: String,
    /// As sent.
    pub(crate) query_text: String,
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// HTTP/1.0 has neither chunks nor, unless asked for, a second request.
    pub(crate) old: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The connection is over.
    Closed,
    /// The body is larger than the server takes.
    TooLarge,
    /// What came is not a request; the code and the words to answer with before closing.
    Malformed(u16, &'static str),
}

impl Request {
    /// Reads the next request of a connection.
    pub(super) fn read(wire: &mut Wire) -> Result<Self, Unreadable> {
        let head = read_head(wire)?;
        let mut request = Self::parse_head(&head)?;
        if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
        {
            wire.send_now(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| Unreadable::Closed)?;
        }
        request.body = read_body(wire, &request)?;
        Ok(request)
    }

    fn parse_head(head: &[u8]) -> Result<Self, Unreadable> {
        let bad = Unreadable::Malformed(400, "400 Bad Request");
        let Ok(head) = std::str::from_utf8(head) else { return Err(bad) };
        let mut lines = head.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        let mut parts = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad);
        };
        let old = match version {
            "HTTP/1.1" => false,
            "HTTP/1.0" => true,
            _ => return Err(Unreadable::Malformed(505, "505 HTTP Version Not Supported")),
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(bad);
        }
        let mut headers = Vec::new();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { return Err(bad) };
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(bad);
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        // A proxy's form of the target: scheme and host before the path.
        let target = match target.find("://") {
            Some(at) if !target.starts_with('/') => {
                let rest = &target[at + 3..];
                rest.find('/').map_or("/", |slash| &rest[slash..])
            }
            _ => target,
        };
        if !target.starts_with('/') {
            return Err(bad);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query_text: query.to_owned(),
            query: parse_query(query),
            headers,
            body: Vec::new(),
            old,
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// All values of a header that may be repeated, joined as one.
    pub(super) fn header_list(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self.values(name).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let headers = self.headers.iter().filter(move |(header, _)| header == name);
        headers.map(|(_, value)| value.as_str())
    }

    /// The first value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The media type of the body, without parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        self.header_list("accept-encoding").is_some_and(|list| {
            list.split(',').any(|coding| coding.split(';').next().unwrap_or("").trim() == "gzip")
        })
    }

    pub(super) fn keeps_alive(&self) -> bool {
        let connection = self.header("connection").unwrap_or_default().to_ascii_lowercase();
        if self.old { connection.contains("keep-alive") } else { !connection.contains("close") }
    }

    /// The path cut at its slashes, each part decoded. `None` if that is not possible.
    pub(crate) fn segments(&self) -> Option<Vec<String>> {
        let parts = self.path.split('/').filter(|part| !part.is_empty());
        parts.map(|part| decode(part, false)).collect()
    }
}

fn read_head(wire: &mut Wire) -> Result<Vec<u8>, Unreadable> {
    let mut searched = 0;
    loop {
        while wire.input().starts_with(b"\r\n") {
            wire.consume(2);
            searched = 0;
        }
        let input = wire.input();
        if let Some(at) = memchr::memmem::find(&input[searched..], b"\r\n\r\n") {
            let end = searched + at;
            let head = input[..end].to_vec();
            wire.consume(end + 4);
            return if head.len() > MOST_HEAD { Err(TOO_LONG) } else { Ok(head) };
        }
        if input.len() > MOST_HEAD {
            return Err(TOO_LONG);
        }
        searched = input.len().saturating_sub(3);
        if !wire.fill().map_err(|_| Unreadable::Closed)? {
            // Half a head is an error worth an answer; nothing at all is a client that is done.
            let started = !wire.input().is_empty();
            return Err(if started {
                Unreadable::Malformed(400, "400 Bad Request")
            } else {
                Unreadable::Closed
            });
        }
    }
}

const TOO_LONG: Unreadable = Unreadable::Malformed(431, "431 Request Header Fields Too Large");
const BAD: Unreadable = Unreadable::Malformed(400, "400 Bad Request");

fn read_body(wire: &mut Wire, request: &Request) -> Result<Vec<u8>, Unreadable> {
    let mut lengths = request.values("content-length");
    let length = lengths.next();
    // As Go: the same length said twice is one.
    if lengths.any(|other| Some(other) != length) {
        return Err(BAD);
    }
    match (request.header_list("transfer-encoding"), length) {
        (None, None) => Ok(Vec::new()),
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => read_chunks(wire),
        (None, Some(length)) => {
            if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(BAD);
            }
            match length.parse() {
                Ok(length) if length <= MOST_BYTES => take(wire, length),
                _ => Err(Unreadable::TooLarge),
            }
        }
        (Some(_), None) => Err(Unreadable::Malformed(501, "501 Unsupported transfer encoding")),
        // Two lengths are how requests are smuggled.
        (Some(_), Some(_)) => Err(BAD),
    }
}

fn read_chunks(wire: &mut Wire) -> Result<Vec<u8>, Unreadable> {
    let mut body = Vec::new();
    loop {
        let line = take_line(wire)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(BAD);
        }
        let size = usize::from_str_radix(size, 16).map_err(|_| Unreadable::TooLarge)?;
        if size > MOST_BYTES || body.len() + size > MOST_BYTES {
            return Err(Unreadable::TooLarge);
        }
        if size == 0 {
            while !take_line(wire)?.is_empty() {}
            return Ok(body);
        }
        body.extend(take(wire, size)?);
        if !take_line(wire)?.is_empty() {
            return Err(BAD);
        }
    }
}

fn take(wire: &mut Wire, length: usize) -> Result<Vec<u8>, Unreadable> {
    while wire.input().len() < length {
        if !wire.fill().map_err(|_| Unreadable::Closed)? {
            return Err(Unreadable::Closed);
        }
    }
    let taken = wire.input()[..length].to_vec();
    wire.consume(length);
    Ok(taken)
}

fn take_line(wire: &mut Wire) -> Result<String, Unreadable> {
    loop {
        if let Some(end) = memchr::memchr(b'\n', wire.input()) {
            let line = take(wire, end + 1)?;
            let line = String::from_utf8(line).map_err(|_| BAD)?;
            return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
        }
        if wire.input().len() > MOST_HEAD {
            return Err(BAD);
        }
        if !wire.fill().map_err(|_| Unreadable::Closed)? {
            return Err(Unreadable::Closed);
        }
    }
}

fn parse_query(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key, true)?, decode(value, true)?))
        })
        .collect()
}

/// Undoes percent-encoding. `None` if the result is not UTF-8 or an escape is cut short.
fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let (high, low) = (char::from(rest.next()?), char::from(rest.next()?));
                bytes.push((high.to_digit(16)? * 16 + low.to_digit(16)?) as u8);
            }
            b'+' if plus_is_space => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_apart() {
        let head = b"GET /api/v1/pods?labelSelector=a%3Db%2Cc+in+(d)&watch HTTP/1.1\r\nHost: x\r\nACCEPT:  */*";
        let request = Request::parse_head(head).unwrap();
        assert_eq!(request.path, "/api/v1/pods");
        assert_eq!(request.parameter("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(request.parameter("watch"), Some(""));
        assert_eq!(request.header("accept"), Some("*/*"));
        assert!(request.keeps_alive());
    }

    #[test]
    fn a_proxys_form_of_the_target_is_understood() {
        let request = Request::parse_head(b"GET http://h:1/version HTTP/1.0").unwrap();
        assert_eq!(request.path, "/version");
        assert!(!request.keeps_alive());
    }

    #[test]
    fn what_is_not_a_head_is_refused() {
        for head in [
            &b"GET /"[..],
            b"GET  / HTTP/1.1",
            b"G\xff / HTTP/1.1",
            b"GET / HTTP/1.1\r\nno colon",
            b"GET / HTTP/1.1\r\nbad name: x",
            b"GET x HTTP/1.1",
            b"1 / HTTP/1.1",
        ] {
            assert!(matches!(Request::parse_head(head), Err(Unreadable::Malformed(400, _))));
        }
        let other = Request::parse_head(b"GET / HTTP/2.0");
        assert!(matches!(other, Err(Unreadable::Malformed(505, _))));
    }

    #[test]
    fn escapes_that_are_cut_short_are_not_decoded() {
        assert_eq!(decode("a%2Fb", false).as_deref(), Some("a/b"));
        assert_eq!(decode("a%2", false), None);
        assert_eq!(decode("%ff", false), None);
        assert_eq!(decode("a+b", false).as_deref(), Some("a+b"));
    }
}
