//! What holds on every API server: `cargo test` runs this on the embedded one, `tests/real/run` on a
//! kube-apiserver.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

mod definitions;
mod deletions;
mod informers;
mod lists;
mod resources;
mod server;
mod watches;
mod writes;
