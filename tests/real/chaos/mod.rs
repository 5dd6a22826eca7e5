//! Everything goes wrong for a while: no change is lost, none is told twice, nothing is left behind.
//!
//! `tests/real/run --chaos-minutes N --seed N` sets `KINF_CHAOS_MINUTES` and `KINF_CHAOS_SEED`.

mod body;
mod churn;
mod decoder;
mod dice;
mod faults;
mod heap;
mod journal;
mod memory;
pub(crate) mod proxy;
mod report;
mod stillness;
mod subjects;
mod watchdog;
mod witness;
mod writers;

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant, SystemTime},
};

use k8s_openapi::api::core::v1::Namespace;
use kinformer::{Client, Config, StopToken, config::Timeouts};
use serde_json::json;

use self::{
    churn::{Came, Churn},
    dice::Dice,
    faults::Faults,
    proxy::{Proxy, server_of},
    report::Report,
    stillness::Stillness,
    subjects::{Subjects, resources},
    watchdog::Watchdog,
    witness::Witness,
    writers::{NAMESPACES, Writers},
};
use crate::{
    cluster::{Cluster, LIMIT, wait_until},
    process,
};

/// Within this time after a fault has ended the caches are up to date again.
const RECOVERY: Duration = Duration::from_secs(60);

/// When everything that is made once has been made: arenas, pools, the largest queues.
const WARM: Duration = Duration::from_secs(60);

/// After so many faults everything stands still and is compared with the server.
const STILL_EVERY: u64 = 8;

/// A fault with all that follows takes no longer than this.
const HANGS: Duration = Duration::from_secs(600);

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn nothing_is_lost_and_nothing_is_left_behind() {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("KINF_CHAOS_SEED").unwrap_or(time.as_nanos() as u64 % 1_000_000_000);
    let minutes = number("KINF_CHAOS_MINUTES").unwrap_or(5);
    let changes = number("KINF_CHAOS_CHANGES").unwrap_or(0);
    let faults = number("KINF_CHAOS_FAULTS").unwrap_or(0);
    // Not on the line that says which test this is.
    println!("\nchaos: for {minutes} minutes, --seed {seed}");
    let cluster = Cluster::start();
    let watchdog = Watchdog::start();
    let before = process::threads_and_descriptors();
    let lasts = Duration::from_secs(60 * minutes);
    let chaos = Chaos { cluster: &cluster, watchdog: &watchdog, seed, lasts, changes, faults };
    let mut report = chaos.run();
    wait_until("no thread and no descriptor is left behind", || {
        let now = process::threads_and_descriptors();
        now.0 == 0 && now.1 <= before.1
    });
    report.all_is_gone();
    println!("{report}");
    report.check();
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

struct Chaos<'a> {
    cluster: &'a Cluster,
    watchdog: &'a Watchdog,
    seed: u64,
    lasts: Duration,
    /// It goes on until so many changes were made, and so many things went wrong.
    changes: u64,
    faults: u64,
}

impl Chaos<'_> {
    fn run(&self) -> Report {
        let mut report = Report::new(self.seed);
        let direct = direct_client(self.cluster);
        for name in NAMESPACES {
            direct.api::<Namespace>().create(&json!({"metadata": {"name": name}})).unwrap();
        }
        let proxy = Proxy::start(&server_of(&direct));
        let spoiled = spoiled_client(self.cluster, &proxy);
        let subjects = Subjects::new(&spoiled);
        subjects.start(LIMIT);
        let (stop, stillness) = (StopToken::new(), Stillness::default());
        let (writers, came) = (Writers::default(), Came::default());
        let witness = Witness::new(&direct, &subjects, &stillness);
        // Whatever comes finds the markers there.
        witness.recovery(RECOVERY, "the start");
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&stop);
            for number in 0..6 {
                // Deployments are larger, and slower to write.
                let resource = resources()[[0, 1, 2, 0, 1, 0][number]].clone();
                let dice = Dice::new(self.seed, 100 + number as u64);
                writers.spawn(scope, &direct, (number, resource), (&stop, &stillness), dice);
            }
            for number in 0..2 {
                let mut churn = Churn {
                    subjects: &subjects,
                    client: &spoiled,
                    stop: &stop,
                    stillness: &stillness,
                    watchdog: self.watchdog,
                    came: &came,
                    dice: Dice::new(self.seed, 200 + number),
                };
                scope.spawn(move || {
                    let _ends = StopOnPanic(churn.stop);
                    while !churn.stop.is_stopped() {
                        churn.once();
                    }
                });
            }
            scope.spawn(|| {
                let _ends = StopOnPanic(&stop);
                witness.run(&stop);
            });
            let mut faults = Faults {
                cluster: self.cluster,
                proxy: &proxy,
                subjects: &subjects,
                witness: &witness,
                dice: Dice::new(self.seed, 1),
                first: 0..faults::KINDS,
            };
            let start = Instant::now();
            let made = || writers.changes.load(Ordering::Relaxed);
            let goes_on =
                |seen| start.elapsed() < self.lasts || made() < self.changes || seen < self.faults;
            let mut hurried = false;
            // One of the threads may have died.
            while goes_on(report.faults()) && !stop.is_stopped() {
                let _watched = self.watchdog.watch("a fault, and what follows", HANGS);
                let fault = faults.next();
                let what = if hurried { faults::SEVERAL } else { fault };
                hurried = faults.hurry();
                if hurried {
                    report.hurried += 1;
                    continue;
                }
                report.recovered(what, witness.recovery(RECOVERY, what));
                if report.faults() / STILL_EVERY > report.compared {
                    let _still = stillness.hold();
                    subjects.settle(&direct, RECOVERY);
                    report.compared += 1;
                    if start.elapsed() > WARM {
                        report.memory.still();
                    }
                }
                report.progress(start.elapsed(), made());
            }
            report.lasted = start.elapsed();
        });
        let _watched = self.watchdog.watch("the end", HANGS);
        subjects.settle(&direct, RECOVERY);
        for subject in &subjects.all {
            report.told += subject.journal.told();
            report.resynced += subject.journal.resynced();
            report.tombstones += subject.journal.tombstones();
            report.wrong.extend(subject.journal.wrong());
        }
        report.wrong.extend(witness.wrong());
        report.wrong.extend(subjects.decoder.wrong());
        report.decoded = subjects.decoder.decoded();
        report.changes = writers.changes.load(Ordering::Relaxed);
        report.refused = writers.failures.load(Ordering::Relaxed);
        report.came = came;
        report
    }
}

/// A client that talks to the server itself, and gives up soon when that is away.
fn direct_client(cluster: &Cluster) -> Client {
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_secs(2);
    timeouts.request = Duration::from_secs(10);
    let config = cluster.config("kubeconfig").to_builder().timeouts(timeouts);
    Client::new(config.build().unwrap()).unwrap()
}

/// A client that talks through the proxy, and notices soon when it talks to nobody.
fn spoiled_client(cluster: &Cluster, proxy: &Proxy) -> Client {
    let config = Config::loader().path(cluster.path("kubeconfig"));
    let config = config.server(format!("https://{}", proxy.address)).load().unwrap();
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_secs(2);
    timeouts.request = Duration::from_secs(5);
    timeouts.list_idle = Duration::from_secs(3);
    timeouts.list_page = Duration::from_secs(10);
    timeouts.watch_idle = Duration::from_secs(3);
    Client::new(config.to_builder().timeouts(timeouts).build().unwrap()).unwrap()
}

/// Ends the threads of a run, also if it fails.
struct StopOnDrop<'a>(&'a StopToken);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Ends a run of which one of the threads has died.
struct StopOnPanic<'a>(&'a StopToken);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
