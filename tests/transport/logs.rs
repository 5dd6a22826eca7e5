//! What the library logs, kept for tests that ask for it.

use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps warnings from now on. Others in this process log too: look for what only this test says.
pub(crate) fn capture() {
    // Another test may have been first.
    let _ = log::set_logger(&Capture);
    log::set_max_level(LevelFilter::Warn);
}

pub(crate) fn warnings() -> Vec<String> {
    LINES.lock().clone()
}

struct Capture;

impl Log for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.lock().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}
