//! An API server inside the process, for tests.

mod access;
mod body;
mod call;
mod connection;
mod control;
mod convert;
mod core;
mod crd;
mod defaults;
mod delete;
mod demo;
mod discovery;
mod failure;
mod fault;
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
mod part;
mod patch;
mod path;
mod random;
mod read;
mod registry;
mod reply;
mod requests;
mod review;
mod sample;
mod schema;
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
    fault::{Fault, Moment, StatusFault, StatusForm, When},
    path::Verb,
    requests::SeenRequest,
    server::{ApiServer, ApiServerBuilder},
};
