//! What has been seen of the objects.

use std::{collections::HashMap, fs, time::Instant};

use kinformer::{Event, ObjectKey};

/// What has been seen of the objects that are there.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) objects: HashMap<ObjectKey, Changes>,
    /// Of all objects together, as JSON.
    pub(crate) text_bytes: u64,
    events: u64,
    /// When the rate was last asked for, and how many events there were.
    rated: Option<(Instant, u64)>,
}

/// How often an object has changed, and when it last did.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) count: u64,
    pub(crate) last: Option<Instant>,
    text_bytes: u64,
}

impl Seen {
    pub(crate) fn event(&mut self, event: &Event, now: Instant) {
        self.events += 1;
        let before = self.objects.get(event.key()).map_or(0, |changes| changes.text_bytes);
        self.text_bytes -= before;
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                let changes = self.objects.entry(event.key().clone()).or_default();
                changes.text_bytes = object.json().len() as u64;
                self.text_bytes += changes.text_bytes;
                if !matches!(event, Event::Added { initial: true, .. }) {
                    changes.count += 1;
                    changes.last = Some(now);
                }
            }
            _ => _ = self.objects.remove(event.key()),
        }
    }

    /// Events a second since it was last asked for.
    pub(crate) fn rate(&mut self, now: Instant) -> f64 {
        let (then, before) = self.rated.replace((now, self.events)).unwrap_or((now, self.events));
        let seconds = (now - then).as_secs_f64();
        if seconds > 0.0 { (self.events - before) as f64 / seconds } else { 0.0 }
    }
}

/// How much memory the process has; zero where the system does not tell.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = kilobytes.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0_u64) * 1024
}

/// `12,000`
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
