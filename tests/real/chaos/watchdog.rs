//! Ends a run in which somebody hangs, and says who.

use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::{JoinHandle, spawn},
    time::{Duration, Instant},
};

use kinformer::StopToken;
use parking_lot::Mutex;

const PERIOD: Duration = Duration::from_secs(1);

/// Looks after what is under way. It ends the process: nobody can wait for a thread that hangs.
pub(crate) struct Watchdog {
    underway: Arc<Mutex<Underway>>,
    stop: StopToken,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Underway {
    started: u64,
    all: BTreeMap<u64, Task>,
}

struct Task {
    what: String,
    since: Instant,
    limit: Duration,
}

/// Something that is under way until this is dropped.
pub(crate) struct Watched {
    underway: Arc<Mutex<Underway>>,
    number: u64,
}

impl Watchdog {
    pub(crate) fn start() -> Self {
        let (underway, stop) = (Arc::<Mutex<Underway>>::default(), StopToken::new());
        let (looked_at, stopped) = (underway.clone(), stop.clone());
        let look = move || {
            while !stopped.wait_timeout(PERIOD) {
                if let Some(late) = looked_at.lock().late(Instant::now()) {
                    eprintln!("error: {late}; threads:\n{}", threads());
                    std::process::exit(1);
                }
            }
        };
        Self { underway, stop, thread: Some(spawn(look)) }
    }

    /// Something that takes no longer than `limit` begins.
    pub(crate) fn watch(&self, what: impl Into<String>, limit: Duration) -> Watched {
        let mut underway = self.underway.lock();
        underway.started += 1;
        let number = underway.started;
        let task = Task { what: what.into(), since: Instant::now(), limit };
        underway.all.insert(number, task);
        Watched { underway: self.underway.clone(), number }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.underway.lock().all.remove(&self.number);
    }
}

impl Underway {
    /// Who takes too long.
    fn late(&self, now: Instant) -> Option<String> {
        let late = |task: &&Task| now.saturating_duration_since(task.since) > task.limit;
        let says = |task: &Task| format!("{} hangs, for {:?}", task.what, now - task.since);
        let all: Vec<_> = self.all.values().filter(late).map(says).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// The name of each thread, and what it waits for.
fn threads() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    tasks
        .map(|task| {
            let (name, waits) = (read(task.path().join("comm")), read(task.path().join("wchan")));
            format!("  {} {waits}\n", name.trim_end())
        })
        .collect()
}
