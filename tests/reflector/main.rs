//! Reflectors on scripted sources, on the embedded server with its faults, and behind a proxy that
//! goes silent.
#![allow(clippy::disallowed_methods, reason = "tests own their threads")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod backing_off;
mod chaos;
mod consistency;
mod crowd;
mod half_open;
mod long_lists;
mod mirror;
mod pace;
mod pages;
mod process;
mod progress;
mod proxy;
#[allow(dead_code, reason = "shared with the tests of requests")]
#[path = "../requests/support.rs"]
mod raw;
mod script;
mod server;
mod stopping;
mod streamed;
mod support;
mod together;
mod turns;
mod versions;
mod watching;
