//! What goes wrong, chosen by dice.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use kinformer::StopToken;

use super::{
    RECOVERY,
    dice::Dice,
    proxy::{Proxy, Spoil},
    subjects::Subjects,
    witness::{HONEST, Witness},
};
use crate::cluster::Cluster;

pub(crate) struct Faults<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) proxy: &'a Proxy,
    pub(crate) subjects: &'a Subjects,
    pub(crate) witness: &'a Witness<'a>,
    pub(crate) dice: Dice,
    /// What a run begins with: each kind once.
    pub(crate) first: Range<u64>,
}

/// How many kinds there are, and how many sides the dice have: some are more likely than others.
pub(crate) const KINDS: u64 = 11;
const SIDES: u64 = 44;

/// What is called so when the proxy spoils connections meanwhile.
pub(crate) const SEVERAL: &str = "several at once";

impl Faults<'_> {
    /// Makes something go wrong after a moment, and lets it be well again; says what it was.
    pub(crate) fn next(&mut self) -> &'static str {
        self.pause(0..1_500);
        let kind = self.first.next().unwrap_or_else(|| self.dice.roll(SIDES));
        match kind {
            0 | 11 => self.of_the_server("killed", |faults| {
                faults.cluster.kill();
                faults.pause(300..1_300);
                faults.cluster.start_again();
            }),
            1 | 12 => self.of_the_server("paused", |faults| {
                faults.cluster.pause();
                faults.pause(500..5_000);
                faults.cluster.resume();
            }),
            2 | 13 => self.of_the_server("compacted", |faults| {
                faults.cluster.compact();
                faults.proxy.spoil(Spoil::Reset);
            }),
            3 | 14..=16 => {
                self.proxy.refuse();
                self.proxy.spoil(Spoil::Reset);
                self.pause(300..2_300);
                self.proxy.listen();
                "refused"
            }
            4 | 17..=21 => self.spoil(Spoil::Reset, "reset"),
            5 | 22..=26 => self.spoil(Spoil::Silence, "half-open"),
            6 | 27..=30 => {
                let late = Duration::from_millis(50 + self.dice.roll(1_000));
                self.spoil(Spoil::Delay(late), "delayed")
            }
            7 | 31..=34 => self.spoil(Spoil::Drip, "dripped"),
            8 | 35..=40 => self.spoil(Spoil::Truncate, "truncated"),
            9 | 41 | 42 => self.forget(),
            _ => self.outage(),
        }
    }

    /// Whether the next thing goes wrong before all have come back from this one.
    pub(crate) fn hurry(&mut self) -> bool {
        self.first.is_empty() && self.dice.roll(4) == 0
    }

    /// In half the cases the proxy spoils connections all the while.
    fn of_the_server(&mut self, name: &'static str, fault: impl FnOnce(&mut Self)) -> &'static str {
        if !self.first.is_empty() || self.dice.roll(2) == 0 {
            fault(self);
            return name;
        }
        let late = Duration::from_millis(50 + self.dice.roll(500));
        let all = [Spoil::Silence, Spoil::Delay(late), Spoil::Drip, Spoil::Truncate];
        let spoil = all[self.dice.roll(4) as usize];
        self.begin(spoil, true);
        fault(self);
        self.pause(300..1_500);
        self.end(spoil);
        SEVERAL
    }

    /// What is open is spoiled, and in half the cases what is opened meanwhile.
    fn spoil(&mut self, spoil: Spoil, name: &'static str) -> &'static str {
        let new_too = self.dice.roll(2) == 0;
        self.begin(spoil, new_too);
        self.pause(300..1_800);
        self.end(spoil);
        name
    }

    fn begin(&self, spoil: Spoil, new_too: bool) {
        if new_too {
            self.proxy.spoil_new(spoil);
        }
        self.proxy.spoil(spoil);
    }

    fn end(&self, spoil: Spoil) {
        self.proxy.spoil_new(Spoil::None);
        // What was silent stays so: nobody tells a client that the other side is gone.
        if matches!(spoil, Spoil::Delay(_) | Spoil::Drip) {
            self.proxy.spoil(Spoil::None);
        }
    }

    /// The server remembers nothing of what was changed while nobody could look: all have to list.
    fn forget(&self) -> &'static str {
        self.proxy.refuse();
        self.proxy.spoil(Spoil::Reset);
        let lists = || self.subjects.all.iter().map(|subject| subject.informer.status().lists);
        let before: Vec<_> = lists().collect();
        // Each kind changes in each namespace.
        wait_for("what nobody sees is written", || self.witness.write().is_ok());
        self.cluster.compact();
        self.cluster.kill();
        self.cluster.start_again();
        self.proxy.listen();
        wait_for("all have listed", || lists().zip(&before).all(|(now, before)| now > *before));
        "forgotten"
    }

    /// Nobody hears of the server for so long that every status has to say so.
    fn outage(&mut self) -> &'static str {
        let how = self.dice.roll(3);
        let outage = match how {
            0 => {
                self.begin(Spoil::Silence, true);
                "nothing passes"
            }
            1 => {
                self.cluster.pause();
                "the server is paused"
            }
            _ => {
                self.proxy.refuse();
                self.proxy.spoil(Spoil::Reset);
                "nobody listens"
            }
        };
        let _ = StopToken::new().wait_timeout(HONEST + Duration::from_secs(1));
        self.witness.all_admit(outage);
        match how {
            0 => self.end(Spoil::Silence),
            1 => self.cluster.resume(),
            _ => self.proxy.listen(),
        }
        "a long outage"
    }

    /// For a time in milliseconds.
    fn pause(&mut self, range: Range<u64>) {
        let time = range.start + self.dice.roll(range.end - range.start);
        let _ = StopToken::new().wait_timeout(Duration::from_millis(time));
    }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < RECOVERY, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(20));
    }
}
