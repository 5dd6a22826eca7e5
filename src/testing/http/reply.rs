//! Responses, and how they are put on the wire.

use std::{
    io::{self, Write},
    sync::Arc,
    time::SystemTime,
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::{
    request::Request,
    wire::{Script, Wire},
};
use crate::{
    error::Status,
    testing::{failure, random, store::Stored, time, write::WriteContext},
};

/// Bodies above this size are compressed for clients that ask for it.
const GZIP_FROM: usize = 128 * 1024;

pub(crate) struct Reply {
    pub(super) code: u16,
    pub(crate) content_type: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    /// Compresses the body whatever its size, and spoils it.
    pub(crate) corrupt_gzip: bool,
    /// Compresses a stream, each flush on its own.
    pub(crate) compress_flushes: bool,
}

pub(crate) enum Body {
    Bytes(Vec<u8>),
    List(ListBody),
    /// Written as it comes into being, in chunks.
    Stream(Box<Stream>),
}

type Stream = dyn FnOnce(&mut Wire) -> io::Result<()> + Send;

/// A list whose items are already encoded.
pub(crate) struct ListBody {
    /// Up to the bracket that opens the items.
    pub(crate) open: String,
    /// What each item starts with: a brace, and kind and version where items have them.
    pub(crate) item: String,
    pub(crate) items: Vec<Arc<Stored>>,
    pub(crate) metadata_only: bool,
}

impl Reply {
    pub(crate) fn new(code: u16, content_type: &str, body: Body) -> Self {
        Self {
            code,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
            body,
            corrupt_gzip: false,
            compress_flushes: false,
        }
    }

    pub(crate) fn json(code: u16, value: &Value) -> Self {
        let mut body = value.to_string().into_bytes();
        body.push(b'\n');
        Self::new(code, "application/json", Body::Bytes(body))
    }

    pub(crate) fn text(code: u16, text: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::new(code, "text/plain; charset=utf-8", Body::Bytes(text.into()));
        reply.headers.push(("X-Content-Type-Options", "nosniff".into()));
        reply
    }

    /// One stored object.
    pub(crate) fn object(code: u16, type_meta: &str, object: &Stored) -> Self {
        let mut body = Vec::with_capacity(type_meta.len() + object.tail().len() + 1);
        body.extend_from_slice(type_meta.as_bytes());
        body.extend_from_slice(object.tail().as_bytes());
        body.push(b'\n');
        Self::new(code, "application/json", Body::Bytes(body))
    }

    /// A `Status` that says that all went well, and perhaps one thing more.
    pub(crate) fn success(code: u16, more: Option<(&str, Value)>) -> Self {
        let mut status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        if let Some((name, value)) = more {
            status[name] = value;
        }
        Self::json(code, &status)
    }

    pub(crate) fn failure(status: &Status) -> Self {
        let code = if status.code == 0 { 500 } else { status.code };
        let mut reply = Self::json(code, &failure::encode(status));
        if let Some(details) = &status.details
            && details.retry_after_seconds > 0
        {
            reply.headers.push(("Retry-After", details.retry_after_seconds.to_string()));
        }
        reply
    }

    /// Adds what a write has to say beside its answer.
    pub(crate) fn warn(mut self, context: &WriteContext) -> Self {
        for warning in context.warnings.lock().iter() {
            self.add_warning(warning);
        }
        self
    }

    pub(crate) fn add_warning(&mut self, text: &str) {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        self.headers.push(("Warning", format!("299 - \"{quoted}\"")));
    }

    /// Indents the body, whoever asks.
    pub(crate) fn indent(&mut self) {
        if let Body::Bytes(bytes) = &mut self.body {
            *bytes = indented(bytes);
        }
    }

    /// Writes the response to a request.
    pub(super) fn send(
        self,
        wire: &mut Wire,
        request: &Request,
        script: Script,
        close: bool,
    ) -> io::Result<()> {
        let indent = wants_indentation(request) && self.content_type == "application/json";
        let body = match self.body {
            Body::List(list) if indent => Body::Bytes(indented(&list.to_bytes())),
            Body::Bytes(bytes) if indent => Body::Bytes(indented(&bytes)),
            other => other,
        };
        let length = match &body {
            Body::Bytes(bytes) => Some(bytes.len()),
            Body::List(list) => Some(list.len()),
            Body::Stream(_) => None,
        };
        let gzip = self.corrupt_gzip
            || (length.is_some_and(|length| length > GZIP_FROM)
                && request.accepts_gzip()
                && self.code == 200
                && matches!(request.method.as_str(), "GET" | "HEAD"));
        let length = length.filter(|_| !gzip);
        let chunked = length.is_none() && !request.old;

        // JSON is YAML, and saves a writer.
        let yaml = self.content_type == "application/json"
            && matches!(request.method.as_str(), "GET" | "HEAD")
            && length.is_some()
            && request.prefers_yaml();
        let content_type = if yaml { "application/yaml" } else { &self.content_type };
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nAudit-Id: {}\r\nCache-Control: no-cache, private\r\n\
             Content-Type: {}\r\nDate: {}\r\n",
            self.code,
            phrase(self.code),
            random::uuid(),
            content_type,
            http_date(SystemTime::now()),
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if gzip || self.compress_flushes {
            head.push_str("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
        }
        match length {
            Some(length) => head.push_str(&format!("Content-Length: {length}\r\n")),
            None if chunked => head.push_str("Transfer-Encoding: chunked\r\n"),
            None => {}
        }
        if close {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");

        if request.method == "HEAD" {
            wire.begin(head.as_bytes(), false, script)?;
            return wire.finish();
        }
        wire.begin(head.as_bytes(), chunked, script)?;
        match body {
            Body::Stream(stream) => {
                wire.flush_all()?;
                if self.compress_flushes {
                    wire.compress_flushes();
                }
                stream(wire)?;
            }
            Body::Bytes(bytes) if gzip => {
                compress(wire, self.corrupt_gzip, |out| out.write_all(&bytes))?;
            }
            Body::List(list) if gzip => {
                compress(wire, self.corrupt_gzip, |out| {
                    list.write_to(|bytes| out.write_all(bytes))
                })?;
            }
            Body::Bytes(bytes) => wire.body(&bytes)?,
            Body::List(list) => list.write_to(|bytes| wire.body(bytes))?,
        }
        wire.finish()
    }
}

impl ListBody {
    const CLOSE: &[u8] = b"]}\n";

    fn len(&self) -> usize {
        let mut length = 0;
        let counted: Result<(), ()> = self.write_to(|bytes| {
            length += bytes.len();
            Ok(())
        });
        counted.map_or(0, |()| length)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let written: Result<(), ()> = self.write_to(|bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        written.map_or_else(|()| Vec::new(), |()| all)
    }

    fn write_to<E>(&self, mut out: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        out(self.open.as_bytes())?;
        for (at, item) in self.items.iter().enumerate() {
            if at > 0 {
                out(b",")?;
            }
            out(self.item.as_bytes())?;
            if self.metadata_only {
                out(item.metadata().as_bytes())?;
                out(b"}")?;
            } else {
                out(item.tail().as_bytes())?;
            }
        }
        out(Self::CLOSE)
    }
}

fn compress(
    wire: &mut Wire,
    corrupt: bool,
    write: impl FnOnce(&mut GzEncoder<Chunks<'_>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut encoder =
        GzEncoder::new(Chunks { wire, pending: Vec::new(), corrupt }, Compression::fast());
    write(&mut encoder)?;
    let mut chunks = encoder.finish()?;
    chunks.send()
}

/// Turns a compressor's many small writes into chunks of a decent size.
struct Chunks<'a> {
    wire: &'a mut Wire,
    pending: Vec<u8>,
    corrupt: bool,
}

impl Chunks<'_> {
    fn send(&mut self) -> io::Result<()> {
        if self.corrupt {
            // Not in the header, so that the client believes it at first.
            for byte in self.pending.iter_mut().skip(24).step_by(7) {
                *byte ^= 0x5a;
            }
        }
        self.wire.body(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= 32 * 1024 {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Real servers indent for people: on request, and for programs that people use by hand.
fn wants_indentation(request: &Request) -> bool {
    match request.parameter("pretty") {
        Some(value) => !matches!(value, "false" | "0"),
        None => request.header("user-agent").is_some_and(|agent| {
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|person| agent.starts_with(person))
        }),
    }
}

/// The same JSON with two spaces per level, members in the order they had.
fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (at, &byte) in json.iter().enumerate() {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        let empty = || matches!((byte, json.get(at + 1)), (b'{', Some(b'}')) | (b'[', Some(b']')));
        match byte {
            b'"' => {
                in_string = true;
                out.push(byte);
            }
            b'{' | b'[' => {
                out.push(byte);
                if !empty() {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(out.last(), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'\n' => {}
            _ => out.push(byte),
        }
    }
    out
}

fn phrase(code: u16) -> &'static str {
    match code {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

fn http_date(now: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = time::rfc3339(now);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let weekday = DAYS[(seconds / 86_400 % 7) as usize];
    let month = part(5, 7).parse::<usize>().unwrap_or(1).clamp(1, 12);
    format!("{weekday}, {} {} {} {} GMT", part(8, 10), MONTHS[month - 1], part(0, 4), part(11, 19))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_in_the_form_of_http() {
        let date = http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_825_907));
        assert_eq!(date, "Mon, 16 Nov 2026 10:45:07 GMT");
    }

    #[test]
    fn indentation_keeps_order_strings_and_empty_things() {
        let json = br#"{"b":[1,{"a":"x, {\"y\": 1}"}],"e":{},"l":[]}"#;
        let expected = "{\n  \"b\": [\n    1,\n    {\n      \"a\": \"x, {\\\"y\\\": 1}\"\n    }\n  ],\n  \"e\": {},\n  \"l\": []\n}";
        assert_eq!(String::from_utf8(indented(json)).unwrap(), expected);
    }
}
