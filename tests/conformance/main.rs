//! What holds on every API server: `cargo test` runs this on the embedded one, `tests/real/run` on a
//! kube-apiserver.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

#[path = "../real/audit.rs"]
mod audit;
mod definitions;
mod deletions;
mod factories;
mod history;
mod informers;
mod lists;
mod options;
mod resources;
mod samples;
mod server;
mod subresources;
mod watches;
mod writes;
