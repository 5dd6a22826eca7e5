//! How long a call takes to return once its token is stopped, by the phase it is stuck in.
//!
//! `cargo bench --bench interrupt`; ends by itself in less than a minute.

#![allow(clippy::unwrap_used, reason = "helpers of the tests")]

#[path = "../tests/transport/stall.rs"]
#[allow(dead_code, reason = "shared with the tests of the transport")]
mod stall;
#[path = "../tests/transport/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the transport")]
mod support;

use std::time::Duration;

use kinformer::Error;

use self::stall::Stall;

const ROUNDS: usize = 50;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    println!("time from stop() to the return of the call, in microseconds; {rounds} rounds each");
    println!("{:<12} {:<6} {:>8} {:>8}", "stuck in", "over", "median", "worst");
    for stall in Stall::ALL {
        for &tls in stall.wires() {
            let mut times: Vec<_> = (0..rounds).map(|_| time(stall, tls)).collect();
            times.sort();
            let (median, worst) = (times[rounds / 2].as_micros(), times[rounds - 1].as_micros());
            let (name, wire) = (format!("{stall:?}"), if tls { "tls" } else { "tcp" });
            println!("{name:<12} {wire:<6} {median:>8} {worst:>8}");
        }
    }
}

fn time(stall: Stall, tls: bool) -> Duration {
    let (result, time) = stall.start(tls).interrupt(|| {});
    assert!(matches!(result, Err(Error::Stopped)), "{stall:?}: {result:?}");
    time
}
