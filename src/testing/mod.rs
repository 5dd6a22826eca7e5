//! A Kubernetes API server inside the process, for testing what talks to one.
//!
//! [`ApiServer`] is a small real server: it listens on a loopback port, over HTTP or HTTPS, and
//! client-go, kube-rs, this crate and kubectl talk to it as they are, in JSON (see below for what
//! that leaves out). There is no cluster behind it, so nothing is scheduled and nothing runs; what
//! a test puts in is what is there.
//!
//! ```
//! use kinformer::testing::{ApiServer, Fault, Verb, When};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start()?;
//! server.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))?;
//!
//! // The next watch of config maps is told, after two events, that its version is too old.
//! let watches = When::any().verb(Verb::Watch).resource("configmaps").once();
//! server.inject(watches, Fault::expired_after(2));
//!
//! println!("kubectl --server {} get configmaps --watch", server.url());
//! server.stop();
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! - Every built-in kind of Kubernetes 1.37, and custom resources as soon as their definition is
//!   created: get, list, watch, create, update, the four kinds of patch (server-side apply with
//!   field managers and conflicts included), delete, delete collection; discovery (aggregated and
//!   old), OpenAPI, tables, metadata-only objects, dry run, warnings, gzip.
//! - One revision counter and one bounded history for everything, so that lists, pages and watches
//!   of the past are exact, and 410 comes when the history no longer reaches back.
//! - Streamed lists (`sendInitialEvents`), bookmarks, selectors with their ADDED and DELETED
//!   transitions, `resourceVersion` with `Exact` and `NotOlderThan` and without.
//! - `metadata` as a server keeps it; status and scale as resources of their own; finalizers,
//!   owners, namespaces and their content (all of it settled within the request, see below); pods
//!   are bound and evicted, and have logs.
//! - Faults on demand: [`ApiServer::inject`].
//!
//! # What it does differently from a cluster
//!
//! - **Deletions settle at once.** What garbage collector, namespace controller and kubelet would
//!   do a moment later has happened when the answer arrives. The answer and the events are the
//!   same.
//! - **Little is validated.** Names, namespaces and metadata are; custom resources are held to the
//!   types, limits and defaults of their schema (not to patterns and CEL rules); of built-in kinds
//!   only the members of the object itself and a few types are checked, and the defaults of the most
//!   common ones filled in. `fieldValidation` acts on what is checked.
//! - **Everybody may do everything**, with the one token there may be: see
//!   [`ApiServerBuilder::token`].
//! - **JSON and YAML only.** Protobuf bodies are answered with 415; clients that prefer protobuf in
//!   their `Accept` header and take JSON, too, get JSON. kubectl's commands with Go types of their
//!   own send protobuf and fail: `kubectl create namespace`, `create configmap` and the like, for
//!   which there is `--dry-run=client -o yaml | kubectl create -f -`, and `kubectl auth can-i`.
//!   `kubectl explain` finds no fields of built-in kinds.
//! - **Objects are at most 100 levels deep** (422) and 3 MiB large (413), whatever they grew by.
//! - Dependents of an owner that never existed are not collected. There is no `exec`, `attach`,
//!   `port-forward` or proxy: 501.
//! - A pod's log is the text of its annotation `testing.kinformer/log`, or three lines; followed,
//!   it goes on with a line every 100 ms.
//!
//! # Control over HTTP
//!
//! For programs in other languages. With [`ApiServerBuilder::control`] (the `apiserver` example:
//! `--control`) the server takes, with the token if there is one:
//!
//! ```text
//! # A fault: when (all members are optional) and what. The members are named after the methods
//! # of `When` and the variants of `Fault`.
//! curl -X POST $URL/_testing/faults -d '{
//!   "when": {"verb": "list", "resource": "pods", "namespace": "web", "after": 1, "times": 2},
//!   "fault": {"status": {"code": 429, "retryAfter": 1}}}'
//! curl -X POST $URL/_testing/faults -d '{
//!   "when": {"verb": "watch"}, "fault": {"reset": {"at": {"afterEvents": 3}}}}'
//! curl -X POST $URL/_testing/faults -d '{
//!   "when": {"times": 1}, "fault": {"hang": {"at": "beforeHead"}}}'
//! curl -X POST $URL/_testing/faults -d '{"fault": "duplicateEvents"}'
//!
//! curl $URL/_testing/faults                     # those that are still to come
//! curl -X DELETE $URL/_testing/faults               # forget them
//! curl -X POST $URL/_testing/compact                # forget the history: older watches get 410
//! curl -X POST $URL/_testing/drop-connections       # all but the one this came over
//! ```

mod builder;
mod demo;
mod failure;
mod faults;
mod fixtures;
mod http;
mod kinds;
mod limits;
mod patch;
mod random;
mod read;
mod routes;
mod sample;
mod server;
mod shared;
mod store;
mod subresources;
mod time;
mod write;

pub use self::{
    builder::ApiServerBuilder,
    faults::{Fault, Moment, StatusFault, StatusForm, When},
    http::SeenRequest,
    routes::Verb,
    server::ApiServer,
};
