//! The wire: connections, TLS, requests and replies of HTTP/1.1.

mod body;
mod connection;
mod listener;
mod negotiation;
mod reply;
mod request;
mod request_log;
mod tls;
mod wire;

pub use self::request_log::SeenRequest;
pub(super) use self::{
    listener::accept,
    negotiation::{Clause, Shape, View},
    reply::{Body, ListBody, Reply},
    request::Request,
    request_log::RequestLog,
    tls::Certificates,
    wire::{Ending, Script, Wire},
};
