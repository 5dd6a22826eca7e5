//! Everything goes wrong for a while: no change is lost, none is told twice, nothing is left behind.
//!
//! `tests/real/run --chaos-minutes N --seed N` sets `KINF_CHAOS_MINUTES` and `KINF_CHAOS_SEED`.

mod churn;
mod dice;
mod faults;
mod journal;
pub(crate) mod proxy;
mod report;
mod subjects;
mod witness;
mod writers;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use k8s_openapi::api::core::v1::Namespace;
use kinformer::{Client, Config, StopToken, config::Timeouts};
use serde_json::json;

use self::{
    churn::Churn,
    dice::Dice,
    faults::Faults,
    proxy::{Proxy, server_of},
    report::Report,
    subjects::{Subjects, resources},
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

/// How many MB more a process may have after any number of changes than when it was warm.
const ROOM: u64 = 48;

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn nothing_is_lost_and_nothing_is_left_behind() {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("KINF_CHAOS_SEED").unwrap_or(time.as_nanos() as u64 % 1_000_000_000);
    let minutes = number("KINF_CHAOS_MINUTES").unwrap_or(5);
    let changes = number("KINF_CHAOS_CHANGES").unwrap_or(0);
    let faults = number("KINF_CHAOS_FAULTS").unwrap_or(0);
    println!("chaos for {minutes} minutes, --seed {seed}");
    let cluster = Cluster::start();
    let before = process::threads_and_descriptors();
    let lasts = Duration::from_secs(60 * minutes);
    let report = Chaos { cluster: &cluster, seed, lasts, changes, faults }.run();
    wait_until("no thread and no descriptor is left behind", || {
        let now = process::threads_and_descriptors();
        now.0 == 0 && now.1 <= before.1
    });
    println!("{report}");
    report.check();
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

struct Chaos<'a> {
    cluster: &'a Cluster,
    seed: u64,
    lasts: Duration,
    /// It goes on until so many changes were made, and so many things went wrong.
    changes: u64,
    faults: u64,
}

impl Chaos<'_> {
    fn run(&self) -> Report {
        let direct = direct_client(self.cluster);
        for name in NAMESPACES {
            direct.api::<Namespace>().create(&json!({"metadata": {"name": name}})).unwrap();
        }
        let proxy = Proxy::start(&server_of(&direct));
        let spoiled = spoiled_client(self.cluster, &proxy);
        let subjects = Subjects::new(&spoiled);
        subjects.start(LIMIT);
        let (stop, writers, churned) = (StopToken::new(), Writers::default(), AtomicU64::new(0));
        let witness = Witness::new(&direct, &subjects);
        let mut report = Report::new(self.seed);
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&stop);
            for number in 0..6 {
                // Deployments are larger, and slower to write.
                let resource = resources()[[0, 1, 2, 0, 1, 0][number]].clone();
                let dice = Dice::new(self.seed, 100 + number as u64);
                writers.spawn(scope, &direct, (number, resource), &stop, dice);
            }
            for number in 0..2 {
                let dice = Dice::new(self.seed, 200 + number);
                let (subjects, client, stop) = (&subjects, &spoiled, &stop);
                let mut churn = Churn { subjects, client, stop, dice };
                let churned = &churned;
                scope.spawn(move || {
                    while !stop.is_stopped() {
                        churn.once();
                        churned.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| witness.run(&stop));
            let dice = Dice::new(self.seed, 1);
            let first = 0..faults::KINDS;
            let mut faults = Faults { cluster: self.cluster, proxy: &proxy, dice, first };
            let start = Instant::now();
            let made = || writers.changes.load(Ordering::Relaxed);
            let mut seen = 0;
            while start.elapsed() < self.lasts || made() < self.changes || seen < self.faults {
                let what = faults.next();
                seen += 1;
                report.recovered(what, witness.recovery(RECOVERY, what));
                report.uses(start.elapsed() > WARM, process::resident());
                report.progress(start.elapsed(), made());
            }
            report.lasted = start.elapsed();
        });
        for subject in &subjects.all {
            subject.settle(&direct, RECOVERY);
            report.told += subject.journal.told();
            report.resynced += subject.journal.resynced();
            report.wrong.extend(subject.journal.wrong());
        }
        report.wrong.extend(witness.wrong());
        report.changes = writers.changes.load(Ordering::Relaxed);
        report.refused = writers.failures.load(Ordering::Relaxed);
        report.churned = churned.load(Ordering::Relaxed);
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
