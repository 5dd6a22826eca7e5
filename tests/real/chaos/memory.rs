//! What a process keeps: the heap while nothing moves, and after everything has gone.

use std::fmt;

use super::heap;
use crate::process;

/// How many KB more may be in use when nothing moves, late in a run than when it was warm. What is cached varies by
/// a few hundred; 1 KB for each of the 7,000 that come and go in an hour is more.
const ROOM: usize = 2_048;

/// How many KB more may be in use after everything has gone than before it came: 1 KB for each of those that come
/// and go in five minutes is more.
const LEFT: usize = 128;

/// Of so many samples the one in the middle counts.
const SAMPLES: usize = 3;

pub(crate) struct Memory {
    before: usize,
    /// In KB, while nothing moved.
    samples: Vec<usize>,
    after: usize,
    resident: u64,
}

impl Memory {
    /// Nothing has begun.
    pub(crate) fn before() -> Self {
        Self { before: in_use(), samples: Vec::new(), after: 0, resident: 0 }
    }

    /// Nothing moves.
    pub(crate) fn still(&mut self) {
        self.samples.push(in_use());
        self.resident = process::resident();
    }

    /// Everything has gone but `kept` bytes.
    pub(crate) fn after(&mut self, kept: usize) {
        self.after = in_use() - kept / 1024;
    }

    fn first_and_last(&self) -> Option<(usize, usize)> {
        let first = self.samples.first_chunk::<SAMPLES>()?;
        Some((middle(*first), middle(*self.samples.last_chunk::<SAMPLES>()?)))
    }

    /// What is wrong.
    pub(crate) fn problem(&self) -> Option<String> {
        let grows = self.first_and_last().is_some_and(|(first, last)| last > first + ROOM);
        if grows {
            return Some(format!("memory grows without end: {self}"));
        }
        let left = self.after > self.before + LEFT;
        left.then(|| format!("memory is left behind: {self}"))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((first, last)) = self.first_and_last() {
            write!(f, "{first} KB in use when warm, {last} KB late, ")?;
        }
        let Self { before, after, resident, .. } = self;
        write!(f, "{before} KB before, {after} KB after everything; {resident} MB resident")
    }
}

fn in_use() -> usize {
    heap::in_use() / 1024
}

fn middle(mut samples: [usize; SAMPLES]) -> usize {
    samples.sort_unstable();
    samples[SAMPLES / 2]
}
