//! The client against a scripted server: what it sends, and what it makes of answers.
#![allow(clippy::disallowed_methods, reason = "tests own their threads")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod answers;
mod discovering;
mod listing;
mod objects;
mod retries;
mod support;
mod threads;
mod urls;
mod watching;
