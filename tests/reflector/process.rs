//! A server in another process, which can be stopped in the middle of everything: its kernel goes on
//! answering probes, and nobody else does.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use kinformer::{Client, Config, DynamicObject, config::Timeouts, testing::ApiServer};
use serde_json::json;

use crate::{
    mirror::Mirror,
    support::{config_maps, eventually, short_pauses},
};

/// In the environment of the process that is to serve.
const SERVE: &str = "KINFORMER_TEST_SERVE";

const LIMIT: Duration = Duration::from_secs(1);

struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::serves_if_asked_to", "--nocapture"])
            .env(SERVE, "yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| line.split_once("serving at ").map(|(_, url)| url.trim().to_owned()));
        Self { child, url: url.expect("the address of the server") }
    }

    fn config(&self) -> Config {
        let mut timeouts = Timeouts::default();
        timeouts.list_idle = LIMIT;
        Config::builder(&self.url).no_proxy().timeouts(timeouts).build().unwrap()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Stops all its threads, and waits until they are: some go on until the one that got the signal has its turn.
    fn stop(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|state| state.starts_with('T'))
        };
        // Only Linux has them.
        eventually("every thread is stopped", || {
            std::fs::read_dir(&tasks).map_or(true, |tasks| tasks.flatten().all(is_stopped))
        });
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Also ends one that is stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// No test: what the other process runs.
#[test]
fn serves_if_asked_to() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let server = ApiServer::start().unwrap();
    println!("serving at {}", server.url());
    // Until whoever started it is gone.
    let _ = std::io::stdin().read(&mut [0]);
}

fn create(client: &Client, name: &str) {
    let maps = client.api_for::<DynamicObject>(&config_maps()).namespace("default");
    maps.create(&json!({"metadata": {"name": name}})).unwrap();
}

#[test]
fn a_server_that_is_stopped_is_noticed_by_watches_and_lists_and_found_again_when_it_goes_on() {
    let server = ServerProcess::start();
    let client = Client::new(server.config()).unwrap();
    create(&client, "a");
    let start = |streamed| {
        Mirror::start(server.config(), short_pauses(), move |builder| {
            builder.streamed_lists(streamed).watch_silence(LIMIT).stream_silence(LIMIT)
        })
    };
    let watching = start(true);
    eventually("the first object", || watching.store.len() == 1);

    server.stop();
    let stopped = Instant::now();
    let listing = start(false);
    let streaming = start(true);
    for (what, mirror) in [("watch", &watching), ("list", &listing), ("stream", &streaming)] {
        eventually(what, || mirror.errors().iter().any(|error| error.contains("timed out")));
        // With a limit of one second, and whatever else the machine has to do.
        assert!(stopped.elapsed() < Duration::from_secs(30), "{what}: {:?}", stopped.elapsed());
    }
    assert!(listing.store.is_empty() && streaming.store.is_empty());

    server.signal("-CONT");
    create(&client, "b");
    for mirror in [&watching, &listing, &streaming] {
        eventually("both objects", || mirror.store.len() == 2);
    }
}
