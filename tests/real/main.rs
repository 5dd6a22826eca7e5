//! What only a kube-apiserver can show: `tests/real/run` builds one and runs this.

#![allow(clippy::unwrap_used, reason = "these are tests, helpers included")]
#![allow(clippy::disallowed_methods, reason = "threads of a proxy and of writers")]

mod access;
mod audit;
mod chaos;
mod cluster;
mod history;
mod limits;
mod outages;
mod overload;
mod process;
