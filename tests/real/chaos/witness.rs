//! Whether informers come back after a fault, and whether their status is true meanwhile.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use kinformer::{Client, Result, StopToken};
use parking_lot::Mutex;
use serde_json::json;

use super::{
    body::prefix,
    stillness::Stillness,
    subjects::{MARKER, Subject, Subjects, resources},
    writers::{NAMESPACES, object},
};

/// A status that says that all is well is wrong if the store lacks something for longer than this: a watch may be
/// silent for 3 s, and what comes after that takes a moment on a machine with more to do.
pub(crate) const HONEST: Duration = Duration::from_secs(8);

/// How often markers are written and looked for.
const PERIOD: Duration = Duration::from_millis(500);

/// Writes objects of each kind into each namespace again and again, and looks for them in the caches.
pub(crate) struct Witness<'a> {
    direct: &'a Client,
    subjects: &'a Subjects,
    stillness: &'a Stillness,
    /// How often all markers were written.
    rounds: Mutex<u64>,
    wrong: Mutex<Vec<String>>,
}

/// What one informer has not shown yet.
#[derive(Default)]
struct Doubt {
    /// Rounds, and when they were written.
    unseen: VecDeque<(u64, Duration)>,
    /// When the status last admitted that not all is well.
    admitted: Duration,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(
        direct: &'a Client,
        subjects: &'a Subjects,
        stillness: &'a Stillness,
    ) -> Self {
        Self { direct, subjects, stillness, rounds: Mutex::new(0), wrong: Mutex::default() }
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.wrong.lock().clone()
    }

    /// Looks until it is stopped.
    pub(crate) fn run(&self, stop: &StopToken) {
        let mut doubts: Vec<_> = self.subjects.all.iter().map(|_| Doubt::default()).collect();
        // Time that was not looked at says nothing: this thread may have been kept waiting.
        let (mut watched, mut last) = (Duration::ZERO, Instant::now());
        while !stop.wait_timeout(PERIOD) {
            // While the server is away nobody can be behind.
            let written = self.write().ok();
            watched += last.elapsed().min(2 * PERIOD);
            last = Instant::now();
            for (subject, doubt) in self.subjects.all.iter().zip(&mut doubts) {
                doubt.unseen.extend(written.map(|round| (round, watched)));
                self.look(subject, doubt, watched);
            }
        }
    }

    fn look(&self, subject: &Subject, doubt: &mut Doubt, now: Duration) {
        // The status first: what it says then has to be true of the store.
        if !subject.claims_to_be_well() {
            doubt.admitted = now;
        }
        let seen = subject.round();
        while doubt.unseen.front().is_some_and(|(round, _)| *round <= seen) {
            doubt.unseen.pop_front();
        }
        if let Some((round, written)) = doubt.unseen.front() {
            let behind = now.saturating_sub(doubt.admitted.max(*written));
            if behind > HONEST {
                let (name, status) = (subject.name, subject.informer.status());
                self.is_wrong(format!("{name}: {round} is missing for {behind:?}: {status:?}"));
                doubt.unseen.clear();
            }
        }
        if !subject.index_is_right() {
            self.is_wrong(format!("{}: an index finds what it is not about", subject.name));
        }
    }

    /// Nothing has come from the server for longer than a status may not know.
    pub(crate) fn all_admit(&self, outage: &str) {
        for subject in &self.subjects.all {
            if subject.claims_to_be_well() {
                let (name, status) = (subject.name, subject.informer.status());
                self.is_wrong(format!("{name}: all is well while {outage}: {status:?}"));
            }
        }
    }

    fn is_wrong(&self, what: String) {
        self.wrong.lock().push(what);
    }

    /// Waits until all informers have what is written now; gives the time that took.
    pub(crate) fn recovery(&self, limit: Duration, after: &str) -> Duration {
        let start = Instant::now();
        let wait = |what: &dyn std::fmt::Display| {
            assert!(start.elapsed() < limit, "after {after}: {what}");
            let _ = StopToken::new().wait_timeout(Duration::from_millis(5));
        };
        let round = loop {
            match self.write() {
                Ok(round) => break round,
                Err(error) => wait(&error),
            }
        };
        for subject in &self.subjects.all {
            while subject.round() < round {
                wait(&format_args!("{}: {:?}", subject.name, subject.informer.status()));
            }
        }
        start.elapsed()
    }

    /// Writes a marker of each kind into each namespace; gives the number of the round.
    pub(crate) fn write(&self) -> Result<u64> {
        let mut rounds = self.rounds.lock();
        *rounds += 1;
        for resource in resources() {
            for namespace in NAMESPACES {
                let stamp = format!("{}{rounds}", prefix(namespace, MARKER));
                let mut marker = object(&resource, MARKER, &stamp, 0);
                marker["metadata"]["labels"] = json!({"pick": "yes"});
                let api = self.direct.dynamic(&resource).namespace(namespace);
                let _changing = self.stillness.broken();
                match api.replace(MARKER, &marker) {
                    Err(error) if error.is_not_found() => api.create(&marker)?,
                    result => result?,
                };
            }
        }
        Ok(*rounds)
    }
}
