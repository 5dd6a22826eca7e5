//! Informers and controllers, on the embedded server or on a source that a test controls.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]
#![allow(clippy::disallowed_methods, reason = "threads that are users of informers")]

mod controller;
mod decoding;
mod filtering;
mod following;
mod handlers;
mod indices;
mod late_join;
mod lifecycle;
mod plain;
mod removal;
mod resync;
mod status;
mod support;
mod transform;
