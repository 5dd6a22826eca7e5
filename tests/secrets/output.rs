//! Everything that the library let out, and the search for what should not be in there.

use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE};
use log::{LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The bytes that ureq saw, put together from the dumps it logs in rows of 16.
static DUMPED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Takes in all log lines of the process, at all levels.
pub(crate) fn capture_logs() {
    log::set_logger(&Capture).unwrap();
    log::set_max_level(LevelFilter::Trace);
}

/// Adds something that a program could print.
pub(crate) fn add(text: String) {
    LINES.lock().push(text);
}

/// All text, and all dumped bytes as far as they are text.
pub(crate) fn all() -> String {
    let dumped = String::from_utf8_lossy(&DUMPED.lock()).into_owned();
    LINES.lock().join("\n") + "\n" + &dumped
}

pub(crate) fn dumped() -> String {
    String::from_utf8_lossy(&DUMPED.lock()).into_owned()
}

struct Capture;

impl Log for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = record.args().to_string();
        if record.target().starts_with("ureq_proto") {
            DUMPED.lock().extend(row(&line));
        }
        LINES.lock().push(format!("{} {} {line}", record.level(), record.target()));
    }

    fn flush(&self) {}
}

/// The bytes of one row of a dump: groups of hexadecimal digits, then the same as text.
fn row(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for group in line.split(' ').take(8) {
        let digits: Option<Vec<u8>> = group
            .as_bytes()
            .chunks(2)
            .take_while(|pair| *pair != b"--")
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        match digits {
            Some(digits) => bytes.extend(digits),
            None => return Vec::new(),
        }
    }
    bytes
}

/// The ways in which `secret` could show in a text.
pub(crate) fn disguises(secret: &str) -> Vec<(&'static str, String)> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let bytes: Vec<_> = secret.bytes().map(|byte| byte.to_string()).collect();
    let spaced: Vec<_> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let escaped: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut all = vec![
        ("plain", secret.to_owned()),
        ("reversed", secret.chars().rev().collect()),
        ("upper-case hex", hex.to_uppercase()),
        ("hex", hex),
        ("spaced hex", spaced.join(" ")),
        ("a list of numbers", bytes.join(", ")),
        ("percent-encoded", escaped),
        ("debug", format!("{secret:?}").trim_matches('"').to_owned()),
    ];
    // Inside a longer text, base64 depends on where the secret starts.
    for shift in 0..3 {
        let whole = [&b"xxx"[..shift], secret.as_bytes()].concat();
        let skip = [0, 2, 3][shift];
        let end = whole.len() / 3 * 4;
        all.push(("base64", BASE64_STANDARD.encode(&whole)[skip..end].to_owned()));
        all.push(("url base64", BASE64_URL_SAFE.encode(&whole)[skip..end].to_owned()));
    }
    all
}
