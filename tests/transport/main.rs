//! The transport, proved on servers that stall, lie, break off and are not who they say they are.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]

mod credentials;
mod gzip;
mod interrupt;
mod logs;
mod plugin;
mod pool;
mod proxies;
mod proxy;
#[allow(dead_code, reason = "shared with the benchmark")]
mod stall;
mod support;
mod tls;
