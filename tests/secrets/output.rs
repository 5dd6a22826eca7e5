//! Everything that the library let out, and the search for what should not be in there.

use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE};
use log::{LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes in all log lines of the process, at all levels.
pub(crate) fn capture_logs() {
    log::set_logger(&Capture).unwrap();
    log::set_max_level(LevelFilter::Trace);
}

/// Adds something that a program could print.
pub(crate) fn add(text: String) {
    LINES.lock().push(text);
}

pub(crate) fn all() -> String {
    LINES.lock().join("\n")
}

struct Capture;

impl Log for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let (level, target) = (record.level(), record.target());
        LINES.lock().push(format!("{level} {target} {}", record.args()));
    }

    fn flush(&self) {}
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
