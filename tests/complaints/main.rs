//! What users of other Kubernetes clients complain about, and what happens here. The whole list, with
//! the tests that belong to each complaint, is `docs/complaints.md`: here are those that no other area
//! has, and the check that the table is true.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

mod alone;
mod connections;
mod factories;
mod health;
mod memory;
mod objects;
mod support;
mod table;
