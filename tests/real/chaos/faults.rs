//! What goes wrong, chosen by dice.

use std::time::Duration;

use kinformer::StopToken;

use super::{
    dice::Dice,
    proxy::{Proxy, Spoil},
};
use crate::cluster::Cluster;

pub(crate) struct Faults<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) proxy: &'a Proxy,
    pub(crate) dice: Dice,
    /// What a run begins with: each kind once.
    pub(crate) first: std::ops::Range<u64>,
}

/// How many kinds there are, and how many sides the dice have: some are more likely than others.
pub(crate) const KINDS: u64 = 9;
const SIDES: u64 = 40;

impl Faults<'_> {
    /// Makes something go wrong after a moment, and lets it be well again; says what it was.
    pub(crate) fn next(&mut self) -> &'static str {
        self.pause(1_500);
        let kind = self.first.next().unwrap_or_else(|| self.dice.roll(SIDES));
        match kind {
            0 | 9 => {
                self.cluster.kill();
                self.pause(1_000);
                self.cluster.start_again();
                "killed"
            }
            1 | 10 => {
                self.cluster.pause();
                self.pause(5_000);
                self.cluster.resume();
                "paused"
            }
            2 | 11 => {
                self.cluster.compact();
                self.proxy.spoil(Spoil::Reset);
                "compacted"
            }
            3 | 12..=14 => {
                self.proxy.refuse();
                self.proxy.spoil(Spoil::Reset);
                self.pause(2_000);
                self.proxy.listen();
                "refused"
            }
            4 | 15..=19 => self.spoil(Spoil::Reset, "reset"),
            5 | 20..=24 => self.spoil(Spoil::Silence, "half-open"),
            6 | 25..=28 => {
                let late = Duration::from_millis(50 + self.dice.roll(1_000));
                self.spoil(Spoil::Delay(late), "delayed")
            }
            7 | 29..=32 => self.spoil(Spoil::Drip, "dripped"),
            _ => self.spoil(Spoil::Truncate, "truncated"),
        }
    }

    /// What is open is spoiled, and in half the cases what is opened meanwhile.
    fn spoil(&mut self, spoil: Spoil, name: &'static str) -> &'static str {
        if self.dice.roll(2) == 0 {
            self.proxy.spoil_new(spoil);
        }
        self.proxy.spoil(spoil);
        self.pause(1_500);
        self.proxy.spoil_new(Spoil::None);
        // What was silent stays so: nobody tells a client that the other side is gone.
        if matches!(spoil, Spoil::Delay(_) | Spoil::Drip) {
            self.proxy.spoil(Spoil::None);
        }
        name
    }

    fn pause(&mut self, limit: u64) {
        let time = Duration::from_millis(self.dice.roll(limit));
        let _ = StopToken::new().wait_timeout(time);
    }
}
