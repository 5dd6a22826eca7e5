//! The figures of a run.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::ROOM;

/// How often a long run says how far it is.
const WORD_EVERY: Duration = Duration::from_secs(300);

pub(crate) struct Report {
    seed: u64,
    pub(crate) lasted: Duration,
    pub(crate) changes: u64,
    pub(crate) refused: u64,
    pub(crate) churned: u64,
    pub(crate) told: u64,
    pub(crate) resynced: u64,
    pub(crate) wrong: Vec<String>,
    /// How long the informers took to come back, and from what.
    recoveries: Vec<(Duration, &'static str)>,
    /// Resident memory when all was warm, and the most since, in MB.
    warm: Option<u64>,
    last: u64,
    next_word: Duration,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            lasted: Duration::ZERO,
            changes: 0,
            refused: 0,
            churned: 0,
            told: 0,
            resynced: 0,
            wrong: Vec::new(),
            recoveries: Vec::new(),
            warm: None,
            last: 0,
            next_word: WORD_EVERY,
        }
    }

    pub(crate) fn recovered(&mut self, from: &'static str, took: Duration) {
        self.recoveries.push((took, from));
    }

    /// So many MB are resident.
    pub(crate) fn uses(&mut self, is_warm: bool, resident: u64) {
        if is_warm {
            self.warm.get_or_insert(resident);
        }
        self.last = resident;
    }

    pub(crate) fn progress(&mut self, elapsed: Duration, changes: u64) {
        if elapsed < self.next_word {
            return;
        }
        self.next_word = elapsed + WORD_EVERY;
        let (minutes, faults) = (elapsed.as_secs() / 60, self.recoveries.len());
        println!("{minutes} minutes: {changes} changes, {faults} faults, {} MB", self.last);
    }

    pub(crate) fn check(&self) {
        assert!(self.wrong.is_empty(), "--seed {}: {:#?}", self.seed, self.wrong);
        assert!(self.changes > 0 && self.told > 0 && !self.recoveries.is_empty());
        let warm = self.warm.unwrap_or(self.last);
        assert!(self.last <= warm + ROOM, "--seed {}: memory grows without end", self.seed);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, changes, refused, churned, told, resynced, .. } = self;
        let seconds = self.lasted.as_secs_f64();
        let faults = self.recoveries.len();
        writeln!(
            f,
            "--seed {seed}: {changes} changes in {seconds:.0} s ({:.0}/s, {refused} refused), \
             {faults} faults, {churned} informers and handlers came and went",
            *changes as f64 / seconds
        )?;
        writeln!(f, "{told} events told and checked, {resynced} more by resyncs")?;
        let mut by_kind: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
        for (took, from) in &self.recoveries {
            by_kind.entry(*from).or_default().push(*took);
            by_kind.entry("any fault").or_default().push(*took);
        }
        for (from, mut times) in by_kind {
            times.sort();
            let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
            let count = times.len();
            writeln!(
                f,
                "all informers back after {from}: {count} times, median {median:.3?}, worst {worst:.3?}"
            )?;
        }
        let warm = self.warm.unwrap_or(self.last);
        writeln!(f, "resident: {warm} MB when warm, {} MB at the end", self.last)?;
        write!(f, "{} wrong", self.wrong.len())
    }
}
