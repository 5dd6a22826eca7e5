//! The changes of the objects of one resource, per name and in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// One change of one object, and the resource version after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    Applied(u64),
    Deleted(u64),
}

use Change::{Applied, Deleted};

/// What a writer did, or what a watcher told.
#[derive(Debug, Default)]
pub struct Journal {
    changes: BTreeMap<String, Vec<Change>>,
    /// The names of a list that is being told, if one is.
    listing: Option<BTreeSet<String>>,
    pub ready: bool,
    pub lists: usize,
}

impl Journal {
    pub fn add(&mut self, name: &str, change: Change) {
        self.changes.entry(name.to_owned()).or_default().push(change);
    }

    pub fn begin_list(&mut self) {
        self.listing = Some(BTreeSet::new());
        self.lists += 1;
    }

    /// A list tells unchanged objects again: those are no changes.
    pub fn listed(&mut self, name: &str, version: u64) {
        if let Some(names) = &mut self.listing {
            names.insert(name.to_owned());
        }
        if self.changes.get(name).and_then(|changes| changes.last()) != Some(&Applied(version)) {
            self.add(name, Applied(version));
        }
    }

    /// Whatever a complete list does not tell is gone.
    pub fn end_list(&mut self) {
        let names = self.listing.take().unwrap_or_default();
        for (name, version) in self.state() {
            if !names.contains(&name) {
                self.add(&name, Deleted(version));
            }
        }
        self.ready = true;
    }

    /// What is left after all changes.
    pub fn state(&self) -> BTreeMap<String, u64> {
        let last = |(name, changes): (&String, &Vec<Change>)| match changes.last() {
            Some(Applied(version)) => Some((name.clone(), *version)),
            _ => None,
        };
        self.changes.iter().filter_map(last).collect()
    }

    /// Where `seen` differs from what was written. The version of a delete is not known to the writer: it only
    /// has to be newer than the object.
    pub fn missing(&self, seen: &Self) -> Vec<String> {
        let same = |want: &Change, got: &Change| match (want, got) {
            (Deleted(last), Deleted(version)) => version >= last,
            _ => want == got,
        };
        let names: BTreeSet<_> = self.changes.keys().chain(seen.changes.keys()).collect();
        names
            .into_iter()
            .filter_map(|name| {
                let (wrote, saw) = (self.of(name), seen.of(name));
                let equal = wrote.len() == saw.len()
                    && wrote.iter().zip(saw).all(|(want, got)| same(want, got));
                (!equal).then(|| format!("{name}: wrote {wrote:?}, saw {saw:?}"))
            })
            .collect()
    }

    /// What no server can have sent: a version that steps back or was never written, a delete of nothing.
    /// Changes may be missing, since a relist skips some.
    pub fn impossible(&self, seen: &Self) -> Vec<String> {
        let possible = |name: &String, changes: &[Change]| {
            let (mut alive, mut newest) = (false, 0);
            changes.iter().all(|change| {
                let (fits, version) = match *change {
                    Applied(version) => {
                        (version > newest && self.of(name).contains(change), version)
                    }
                    Deleted(version) => (alive && version >= newest, version),
                };
                alive = matches!(change, Applied(_));
                newest = version;
                fits
            })
        };
        seen.changes
            .iter()
            .filter(|(name, changes)| !possible(name, changes))
            .map(|(name, saw)| format!("{name}: wrote {:?}, saw {saw:?}", self.of(name)))
            .collect()
    }

    fn of(&self, name: &str) -> &[Change] {
        self.changes.get(name).map_or(&[], Vec::as_slice)
    }
}

impl fmt::Display for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || self.changes.values().flatten();
        let deletes = all().filter(|change| matches!(change, Deleted(_))).count();
        write!(f, "{} applies, {deletes} deletes", all().count() - deletes)
    }
}

pub fn same_state(want: &BTreeMap<String, u64>, got: &BTreeMap<String, u64>) -> Vec<String> {
    let names: BTreeSet<_> = want.keys().chain(got.keys()).collect();
    names
        .into_iter()
        .filter(|name| want.get(*name) != got.get(*name))
        .map(|name| format!("{name}: at {:?}, should be at {:?}", got.get(name), want.get(name)))
        .collect()
}
