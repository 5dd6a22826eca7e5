//! The embedded API server, spoken to in raw HTTP so that nothing of the crate's own client is in
//! play.

#![allow(clippy::unwrap_used, reason = "tests")]

mod client;
mod deletes;
mod faults;
mod http;
mod lists;
mod load;
mod parts;
mod patches;
mod watches;
mod writes;
