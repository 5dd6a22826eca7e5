//! Whether informers come back after a fault, and whether their status is true meanwhile.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use kinformer::{Client, Result, StopToken};
use parking_lot::Mutex;
use serde_json::json;

use super::{
    subjects::{MARKER, Subject, Subjects, resources},
    writers::{NAMESPACES, object},
};

/// A status that says that all is well is wrong if the store lacks something for longer than this.
pub(crate) const HONEST: Duration = Duration::from_secs(20);

/// How often markers are written and looked for.
const PERIOD: Duration = Duration::from_millis(500);

/// Writes an object of each kind again and again, and looks for it in the caches.
pub(crate) struct Witness<'a> {
    direct: &'a Client,
    subjects: &'a Subjects,
    written: Mutex<u64>,
    wrong: Mutex<Vec<String>>,
}

/// What one informer has not shown yet: resource versions of its marker, and when they were written.
type Unseen = VecDeque<(u64, Instant)>;

impl<'a> Witness<'a> {
    pub(crate) fn new(direct: &'a Client, subjects: &'a Subjects) -> Self {
        Self { direct, subjects, written: Mutex::new(0), wrong: Mutex::default() }
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.wrong.lock().clone()
    }

    /// Looks until it is stopped.
    pub(crate) fn run(&self, stop: &StopToken) {
        let mut unseen: Vec<Unseen> = self.subjects.all.iter().map(|_| Unseen::new()).collect();
        while !stop.wait_timeout(PERIOD) {
            // While the server is away nobody can be behind.
            if let Ok(versions) = self.write() {
                let now = Instant::now();
                for (subject, unseen) in self.subjects.all.iter().zip(&mut unseen) {
                    unseen.push_back((versions.of(subject), now));
                }
            }
            for (subject, unseen) in self.subjects.all.iter().zip(&mut unseen) {
                self.look(subject, unseen, Instant::now());
            }
        }
    }

    fn look(&self, subject: &Subject, unseen: &mut Unseen, now: Instant) {
        // The status first: what it says then has to be true of the store.
        let well_since = subject.claims_to_be_well(now);
        let seen = subject.marker();
        while unseen.front().is_some_and(|(version, _)| *version <= seen) {
            unseen.pop_front();
        }
        if let (Some(well_since), Some((version, written))) = (well_since, unseen.front()) {
            let behind = now.saturating_duration_since(well_since.max(*written));
            if behind > HONEST {
                let status = subject.informer.status();
                self.is_wrong(format!("{version} is missing for {behind:?}: {status:?}"));
                unseen.clear();
            }
        }
        if !subject.index_is_right() {
            self.is_wrong(format!("{}: an index finds what it is not about", subject.name));
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
        let versions = loop {
            match self.write() {
                Ok(versions) => break versions,
                Err(error) => wait(&error),
            }
        };
        for subject in &self.subjects.all {
            while subject.marker() < versions.of(subject) {
                wait(&format_args!("{}: {:?}", subject.name, subject.informer.status()));
            }
        }
        start.elapsed()
    }

    /// Writes a marker of each kind.
    fn write(&self) -> Result<Versions> {
        let mut written = self.written.lock();
        *written += 1;
        let stamp = format!("marker-{written}");
        let mut versions = [0; 3];
        for (resource, version) in resources().iter().zip(&mut versions) {
            let mut marker = object(resource, MARKER, &stamp);
            marker["metadata"]["labels"] = json!({"pick": "yes"});
            let api = self.direct.dynamic(resource).namespace(NAMESPACES[0]);
            let made = match api.replace(MARKER, &marker) {
                Err(error) if error.is_not_found() => api.create(&marker),
                result => result,
            };
            *version = super::journal::version(&made?);
        }
        Ok(Versions(versions))
    }
}

/// The resource version of each kind's marker.
struct Versions([u64; 3]);

impl Versions {
    fn of(&self, subject: &Subject) -> u64 {
        let at = resources().iter().position(|resource| *resource == subject.which.resource);
        self.0[at.unwrap()]
    }
}
