//! Everything goes wrong for a while: no change is lost, none is told twice, nothing is left behind.
//!
//! `KINF_CHAOS_MINUTES` says for how long, `KINF_CHAOS_SEED` repeats a run.

mod dice;
mod journal;
mod proxy;
mod subjects;
mod writers;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use k8s_openapi::api::core::v1::Namespace;
use kinformer::{Client, Config, StopToken, config::Timeouts};
use serde_json::json;

use self::{
    dice::Dice,
    proxy::{Proxy, Spoil},
    subjects::{Subject, resources},
    writers::{NAMESPACES, Writers},
};
use crate::cluster::{Cluster, LIMIT, wait_until};

/// Within this time after a fault has ended the caches are up to date again.
const RECOVERY: Duration = Duration::from_secs(60);

#[test]
#[ignore = "needs a kube-apiserver: tests/real/run"]
fn nothing_is_lost_and_nothing_is_left_behind() {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("KINF_CHAOS_SEED").unwrap_or(time.as_nanos() as u64 as f64 % 1e9) as u64;
    let lasts = Duration::from_secs_f64(60.0 * number("KINF_CHAOS_MINUTES").unwrap_or(5.0));
    println!("KINF_CHAOS_SEED={seed}");
    let cluster = Cluster::start();
    let before = left();
    run(&cluster, seed, lasts);
    wait_until("no thread and no descriptor is left behind", || {
        let now = left();
        now.0 == 0 && now.1 <= before.1
    });
}

fn number(variable: &str) -> Option<f64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn run(cluster: &Cluster, seed: u64, lasts: Duration) {
    let direct = cluster.client();
    for name in NAMESPACES {
        direct.api::<Namespace>().create(&json!({"metadata": {"name": name}})).unwrap();
    }
    let server = direct.config().server();
    let proxy = Proxy::start(server.trim_start_matches("https://").trim_end_matches('/'));
    let spoiled = spoiled_client(cluster, &proxy);
    let subjects = Subject::all(&spoiled);
    for subject in &subjects {
        subject.informer.start().unwrap();
        subject.informer.wait_for_sync(LIMIT).unwrap();
    }
    let (stop, writers, churned) = (StopToken::new(), Writers::new(), AtomicU64::new(0));
    let mut recoveries = Vec::new();
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for number in 0..6 {
            let resource = resources()[number % 3].clone();
            let dice = Dice::new(seed, 100 + number as u64);
            writers.spawn(scope, &direct, (number, resource), &stop, dice);
        }
        for number in 0..2 {
            let (subjects, spoiled, stop, churned) = (&subjects, &spoiled, &stop, &churned);
            scope.spawn(move || {
                let mut dice = Dice::new(seed, 200 + number);
                while !stop.is_stopped() {
                    subjects::churn(subjects, spoiled, &mut dice, stop);
                    churned.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let start = Instant::now();
        let mut dice = Dice::new(seed, 1);
        while start.elapsed() < lasts {
            let what = fault(cluster, &proxy, &mut dice);
            let ended = Instant::now();
            subjects[0].catch_up(&direct, RECOVERY, &what);
            recoveries.push((ended.elapsed(), what));
        }
    });
    for subject in &subjects {
        subject.settle(&direct, RECOVERY);
    }
    recoveries.sort();
    let (changes, faults) = (writers.changes.load(Ordering::Relaxed), recoveries.len());
    let told: u64 = subjects.iter().map(Subject::told).sum();
    println!(
        "{changes} changes, {} refused, {faults} faults, {told} events told, {} churns",
        writers.failures.load(Ordering::Relaxed),
        churned.load(Ordering::Relaxed)
    );
    if let (Some(median), Some(worst)) = (recoveries.get(faults / 2), recoveries.last()) {
        println!("recovery: median {:?}, worst {:?} after {}", median.0, worst.0, worst.1);
    }
    let wrong: Vec<_> = subjects.iter().flat_map(Subject::wrong).collect();
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    assert!(changes > 0 && faults > 0 && told > 0);
}

/// A client that talks through the proxy, and notices soon when it talks to nobody.
fn spoiled_client(cluster: &Cluster, proxy: &Proxy) -> Client {
    let config = Config::loader().path(cluster.path("kubeconfig"));
    let config = config.server(format!("https://{}", proxy.address)).load().unwrap();
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_secs(2);
    timeouts.request = Duration::from_secs(5);
    timeouts.list_page = Duration::from_secs(10);
    timeouts.watch_idle = Duration::from_secs(5);
    Client::new(config.to_builder().timeouts(timeouts).build().unwrap()).unwrap()
}

/// Makes something go wrong, and lets it be well again.
fn fault(cluster: &Cluster, proxy: &Proxy, dice: &mut Dice) -> String {
    let pause = |limit: u64, dice: &mut Dice| {
        let _ = StopToken::new().wait_timeout(Duration::from_millis(dice.roll(limit)));
    };
    pause(1_500, dice);
    let spoil = match dice.roll(20) {
        0 => {
            cluster.kill();
            pause(2_000, dice);
            cluster.start_again();
            return "the server was killed".to_owned();
        }
        1 => {
            cluster.pause();
            pause(8_000, dice);
            cluster.resume();
            return "the server hung".to_owned();
        }
        2 | 3 => {
            cluster.compact();
            proxy.spoil(Spoil::Reset);
            return "etcd was compacted".to_owned();
        }
        4..=6 => {
            proxy.refuse(true);
            proxy.spoil(Spoil::Reset);
            pause(3_000, dice);
            proxy.refuse(false);
            return "connections were refused".to_owned();
        }
        7..=10 => Spoil::Reset,
        11..=13 => Spoil::Silence,
        14 | 15 => Spoil::Delay(Duration::from_millis(50 + dice.roll(1_000))),
        16 | 17 => Spoil::Drip,
        _ => Spoil::Truncate,
    };
    proxy.spoil(spoil);
    pause(2_000, dice);
    if matches!(spoil, Spoil::Delay(_) | Spoil::Drip) {
        proxy.spoil(Spoil::None);
    }
    format!("{spoil:?}")
}

/// Ends the threads of a run, also if it fails.
struct StopOnDrop<'a>(&'a StopToken);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// How many threads of the library there are, and how many open descriptors.
fn left() -> (usize, usize) {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let ours = names.filter(|name| name.starts_with("kinf-")).count();
    (ours, std::fs::read_dir("/proc/self/fd").unwrap().count())
}
