//! The least that speaks HTTP/1.1.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use kinformer::testing::ApiServer;
use serde_json::Value;

/// Longer than anything here takes: a wait that runs out is a failure.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Http {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Http {
    pub(crate) fn connect(server: &ApiServer) -> Self {
        let stream = TcpStream::connect(server.url().strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: test\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    }

    /// Reads more; false at the end or on a reset.
    fn fill(&mut self) -> bool {
        let mut bytes = [0; 64 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) | Err(_) => false,
            Ok(length) => {
                self.buffer.extend_from_slice(&bytes[..length]);
                true
            }
        }
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            if !self.fill() {
                return None;
            }
        }
        Some(self.buffer.drain(..length).collect())
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.take(end + 2)?;
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// The status code and headers of the next response, or `None` if the connection ends first.
    pub(crate) fn head(&mut self) -> Option<(u16, String)> {
        let code = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = String::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some((code, headers));
            }
            headers.push_str(&line);
            headers.push('\n');
        }
    }

    /// The next chunk; empty at the end of the body, `None` if the connection ends first.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(self.line()?.as_str(), 16).ok()?;
        let chunk = self.take(size)?;
        self.line()?.is_empty().then_some(chunk)
    }

    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let (code, headers) = self.head()?;
        let mut answer = Answer { code, headers, body: Vec::new() };
        if let Some(length) = answer.header("content-length").map(|text| text.parse().unwrap()) {
            answer.body = self.take(length)?;
        } else if answer.header("transfer-encoding").is_some() {
            loop {
                let chunk = self.chunk()?;
                if chunk.is_empty() {
                    break;
                }
                answer.body.extend(chunk);
            }
        } else {
            while self.fill() {}
            answer.body = std::mem::take(&mut self.buffer);
        }
        Some(answer)
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
        self.send(method, target, headers, body);
        self.answer().expect("an answer")
    }
}

pub(crate) fn ask(server: &ApiServer, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let headers = "Content-Type: application/json\r\n";
    let answer = Http::connect(server).ask(method, target, headers, &bytes);
    (answer.code, answer.json())
}

pub(crate) fn get(server: &ApiServer, target: &str) -> (u16, Value) {
    ask(server, "GET", target, &Value::Null)
}

/// GET with an `Accept` header.
pub(crate) fn get_as(server: &ApiServer, target: &str, accept: &str) -> (u16, Value) {
    let answer = Http::connect(server).ask("GET", target, &format!("Accept: {accept}\r\n"), b"");
    (answer.code, answer.json())
}

pub(crate) fn patch(server: &ApiServer, target: &str, kind: &str, body: &Value) -> (u16, Value) {
    let headers = format!("Content-Type: application/{kind}\r\n");
    let body = body.to_string();
    let answer = Http::connect(server).ask("PATCH", target, &headers, body.as_bytes());
    (answer.code, answer.json())
}

pub(crate) fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("a list");
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

/// A running watch.
pub(crate) struct Watch {
    pub(crate) http: Http,
    text: Vec<u8>,
}

impl Watch {
    pub(crate) fn start(server: &ApiServer, target: &str) -> Self {
        Self::with(server, target, "")
    }

    pub(crate) fn with(server: &ApiServer, target: &str, headers: &str) -> Self {
        let mut http = Http::connect(server);
        http.send("GET", target, headers, b"");
        let (code, _) = http.head().expect("an answer");
        assert_eq!(code, 200);
        Self { http, text: Vec::new() }
    }

    /// The next event, or `None` at the end of the stream, whatever kind of end it is.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("a frame"));
            }
            match self.http.chunk() {
                Some(chunk) if !chunk.is_empty() => self.text.extend(chunk),
                _ => return None,
            }
        }
    }

    /// The next event as `TYPE name`.
    pub(crate) fn brief(&mut self) -> String {
        let event = self.next().expect("an event");
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
        format!("{} {name}", event["type"].as_str().unwrap())
    }
}

/// Waits for something to become true.
pub(crate) fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !check() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}
