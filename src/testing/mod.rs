//! An API server inside the process, for tests.

mod call;
mod connection;
mod core;
mod crd;
mod defaults;
mod delete;
mod discovery;
mod failure;
mod faults;
mod fields;
mod handler;
mod http;
mod info;
mod kinds;
mod media;
mod meta;
mod modify;
mod object;
mod openapi;
mod options;
#[allow(dead_code, unused)]
mod patch;
mod path;
mod random;
mod read;
mod registry;
mod reply;
mod requests;
mod select;
mod server;
mod store;
mod subresource;
mod table;
mod time;
mod tls;
mod watch;
mod wire;
mod write;

pub use self::{
    path::Verb,
    requests::SeenRequest,
    server::{ApiServer, ApiServerBuilder},
};
