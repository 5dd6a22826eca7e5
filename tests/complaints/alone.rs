//! Tests that need a process of their own, because they look at all of it.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

/// Runs an ignored test of this binary alone in a process, and gives what it says to `say`, line by
/// line, as it says it.
pub(crate) fn run(test: &str, address: &str, mut say: impl FnMut(&str)) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(SERVER, address)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        say(&line);
        text += &line;
        text.push('\n');
    }
    assert!(child.wait().unwrap().success(), "{test}:\n{text}");
    assert!(text.contains("1 passed"), "{test} was not run:\n{text}");
}

/// The address of the server, for the process that runs alone.
pub(crate) fn server() -> String {
    std::env::var(SERVER).expect("this test is run by another one")
}

const SERVER: &str = "KINFORMER_COMPLAINTS_SERVER";
