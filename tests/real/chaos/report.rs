//! The figures of a run. Each line begins with `chaos`, which is what CI shows.

use std::{collections::BTreeMap, fmt, sync::atomic::Ordering, time::Duration};

use super::{
    churn::{Came, Counts},
    memory::Memory,
};

/// How often a long run says how far it is.
const WORD_EVERY: Duration = Duration::from_secs(300);

pub(crate) struct Report {
    seed: u64,
    pub(crate) lasted: Duration,
    pub(crate) changes: u64,
    pub(crate) refused: u64,
    pub(crate) came: Came,
    pub(crate) told: u64,
    pub(crate) resynced: u64,
    pub(crate) tombstones: u64,
    pub(crate) decoded: u64,
    /// How often everything stood still and was compared with the server.
    pub(crate) compared: u64,
    /// After how many faults the next was not kept waiting.
    pub(crate) hurried: u64,
    pub(crate) wrong: Vec<String>,
    pub(crate) memory: Memory,
    /// How long the informers took to come back, and from what.
    recoveries: Vec<(Duration, &'static str)>,
    next_word: Duration,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            lasted: Duration::ZERO,
            changes: 0,
            refused: 0,
            came: Came::default(),
            told: 0,
            resynced: 0,
            tombstones: 0,
            decoded: 0,
            compared: 0,
            hurried: 0,
            wrong: Vec::new(),
            memory: Memory::before(),
            recoveries: Vec::new(),
            next_word: WORD_EVERY,
        }
    }

    pub(crate) fn recovered(&mut self, from: &'static str, took: Duration) {
        self.recoveries.push((took, from));
    }

    /// Everything has gone but this.
    pub(crate) fn all_is_gone(&mut self) {
        self.memory.after(self.recoveries.capacity() * size_of::<(Duration, &str)>());
    }

    /// How many things went wrong.
    pub(crate) fn faults(&self) -> u64 {
        self.recoveries.len() as u64 + self.hurried
    }

    pub(crate) fn progress(&mut self, elapsed: Duration, changes: u64) {
        if elapsed < self.next_word {
            return;
        }
        self.next_word = elapsed + WORD_EVERY;
        let (minutes, faults, memory) = (elapsed.as_secs() / 60, self.faults(), &self.memory);
        println!("chaos: {minutes} minutes, {changes} changes, {faults} faults; {memory}");
    }

    pub(crate) fn check(&self) {
        let seed = self.seed;
        assert!(self.wrong.is_empty(), "--seed {seed}: {:#?}", self.wrong);
        assert!(self.changes > 0 && self.told > 0 && self.decoded > 0, "--seed {seed}");
        assert!(!self.recoveries.is_empty() && self.compared > 0, "--seed {seed}");
        for (what, counts) in self.came.all() {
            assert!(counts.synced() > 0 && counts.told() > 0, "--seed {seed}: {what} hear nothing");
        }
        assert_eq!(self.memory.problem(), None, "--seed {seed}");
    }
}

impl Came {
    fn all(&self) -> [(&'static str, &Counts); 4] {
        [
            ("handlers", &self.handlers),
            ("informers", &self.informers),
            ("leases", &self.leases),
            ("informers of factories", &self.factories),
        ]
    }
}

impl Counts {
    fn synced(&self) -> u64 {
        self.synced.load(Ordering::Relaxed)
    }

    fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, changes, refused, told, resynced, tombstones, decoded, .. } = self;
        let Self { compared, hurried, memory, .. } = self;
        let (seconds, faults) = (self.lasted.as_secs_f64(), self.faults());
        writeln!(
            f,
            "chaos: --seed {seed}: {changes} changes in {seconds:.0} s ({:.0}/s, {refused} refused)",
            *changes as f64 / seconds
        )?;
        writeln!(
            f,
            "chaos: {faults} faults, {hurried} of them not waited for; {compared} times still, and like the server"
        )?;
        writeln!(
            f,
            "chaos: {told} events told and checked, {tombstones} of them tombstones, {resynced} more by resyncs; \
             {decoded} decoded"
        )?;
        for (what, counts) in self.came.all() {
            let (all, synced) = (counts.all.load(Ordering::Relaxed), counts.synced());
            let told = counts.told();
            writeln!(f, "chaos: {all} {what} came and went, {synced} synced, {told} events told")?;
        }
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
                "chaos: all informers back after {from}: {count} times, median {median:.3?}, worst {worst:.3?}"
            )?;
        }
        writeln!(f, "chaos: {memory}")?;
        write!(f, "chaos: {} wrong", self.wrong.len())
    }
}
