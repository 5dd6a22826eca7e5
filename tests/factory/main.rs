//! Factories, on the embedded server.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]
#![allow(clippy::disallowed_methods, reason = "threads that are users of factories")]

mod bad_input;
mod everything;
mod handles;
mod leases;
mod lifecycle;
mod namespaces;
mod options;
mod sharing;
mod status;
mod stress;
mod support;
mod untyped;
mod waiting;
mod wire;
