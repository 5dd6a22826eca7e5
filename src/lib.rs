//! Kubernetes client and informers on plain threads: no async runtime, blocking calls that can be
//! interrupted.
//!
//! For programs that have no tokio and want none: agents, proxies, command-line tools, databases,
//! policy engines.
//!
//! ```no_run
//! use kinformer::{Client, SharedInformerFactory, labels};
//! use std::time::Duration;
//!
//! fn main() -> kinformer::Result<()> {
//!     let factory = SharedInformerFactory::new(Client::try_default()?); // KUBECONFIG, in-cluster, ~/.kube/config
//!     let sets = factory.apps().v1().stateful_sets(); // = factory.informer::<StatefulSet>()
//!     sets.on_event(|event| println!("{event}"))?;
//!     factory.start()?;
//!     factory.wait_for_cache_sync(Duration::from_secs(30))?; // the error says who is missing and why
//!     for set in sets.lister().namespace("default").list(&labels::everything()) {
//!         println!("{} {}", set.api_version(), set.name());
//!     }
//!     factory.shutdown() // dropping it does the same
//! }
//! ```
//!
//! # The pipeline
//!
//! ```text
//!  API server
//!    | HTTP/1.1 + TLS, one connection for each watch
//!  [kinf-r:pods]  Reflector: list or streamed list, then watch; resume, list again, back off
//!    | added, updated, deleted, replaced, bookmark
//!  DeltaFifo      for each key, the list of what happened
//!    | pop
//!  [kinf-p:pods]  Controller: applies it to the Indexer, hands each change to every handler's queue
//!    |                 |
//!  Indexer           a queue for each handler, without limit
//!  (store, indices)    |
//!    ^               [kinf-h:pods/0]  your handler, one event at a time
//!    |
//!  Lister, Store: from any thread, at any time
//! ```
//!
//! # The types and how they connect
//!
//! - [`Config`] says which server to talk to and as whom; [`Client`] is a connection to it, cheap to
//!   clone, usable from any thread.
//! - [`Api`] has the verbs for one resource: of a type known at compile time ([`Client::api`]), of a
//!   resource known at run time ([`Client::dynamic`]), or only its metadata ([`Client::metadata`]).
//! - [`Object`] is what they return: a handle on the text the server sent, with its metadata found and
//!   its body decoded when you ask. Any type that serde can read will do as its type; one of three
//!   fields decodes ten times faster than a whole k8s-openapi `Pod`.
//! - [`Watch`] is a blocking iterator over events. [`Discovery`] knows what the server serves.
//! - [`SharedInformerFactory`] has informers for every built-in kind, for kinds of your own and for
//!   resources known at run time, each watched once however many ask for it.
//! - [`SharedInformer`] keeps a [cache] of objects up to date and tells handlers of every change;
//!   [`cache::Lister`] reads it. It is made of a [`Reflector`], a [`cache::DeltaFifo`] and a
//!   [`Controller`], which can be had one by one.
//! - [`StopToken`] ends blocking calls from another thread, in about a millisecond, whatever they are
//!   blocked in.
//! - [`labels`] and [`fields`] select objects.
//!
//! The [guide] has more: coming from client-go and from kube-rs, threads and what may be called from a
//! handler, memory, errors and retries, resync, metrics, testing.
//!
//! # Known limits
//!
//! - A cache is behind the server, by milliseconds or, when that cannot be reached, by more: see
//!   [`SharedInformer::status`]. Events wait for a slow handler without limit.
//! - HTTP/1.1: every watch has its own TCP connection. JSON only.
//! - The platform's name resolver cannot be interrupted. A stopped call returns at once all the same; the
//!   thread that waits for the resolver ends when that gives up.
//! - Interrupting a connect relies on Linux ending it at `shutdown(2)`; elsewhere it ends at
//!   [`Timeouts::connect`](config::Timeouts::connect).
//! - OIDC and the other `auth-provider`s, gone from Kubernetes too: use a credential plugin.
//!
//! # Features
//!
//! - `kubeconfig` (default): kubeconfig files and YAML manifests.
//! - `k8s-openapi` (default): [`Resource`] for the kinds of that crate, which is re-exported as
//!   `kinformer::k8s_openapi` so that versions cannot drift apart.
//! - `capi`: the C interface, `include/kinformer.h`. Adds nothing to the Rust interface.
//! - `testing`: `kinformer::testing`, a Kubernetes API server inside the process.
//!
//! # Kubernetes versions
//!
//! This crate enables no version feature of k8s-openapi: the program does, with a line such as
//! `k8s-openapi = { version = "0.29", features = ["v1_34"] }`. Choose the oldest version among the
//! clusters it talks to: fields that a type does not know are ignored when it is decoded, and
//! [`Object::json`] has them all. API servers accept clients that are a minor version older or newer
//! than themselves, and everything used here (lists, watches, bookmarks) has been stable since 1.16. A
//! new major line of k8s-openapi is a minor release of this crate, because its types are in the
//! interface.
//!
//! # Rust version
//!
//! 1.88. A later one is a minor release, never a patch.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod cache;
mod client;
pub mod config;
mod error;
mod factory;
#[cfg(feature = "capi")]
mod ffi;
#[cfg(feature = "_fuzz")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(doc, doctest))]
pub mod guide;
mod informer;
mod json;
mod object;
mod reflector;
#[cfg_attr(not(feature = "kubeconfig"), allow(dead_code))]
mod rfc3339;
pub mod selector;
mod stop;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
mod thread;
#[cfg(feature = "kubeconfig")]
mod yaml;

#[cfg(feature = "k8s-openapi")]
#[cfg_attr(docsrs, doc(cfg(feature = "k8s-openapi")))]
pub use k8s_openapi;

#[doc(hidden)]
pub use crate::client::Crowd;
#[doc(hidden)]
pub use crate::object::Shape;
pub use crate::{
    client::{
        Api, ApiGroup, Bookmark, Client, DeleteOptions, Deletion, DiscoveredResource, Discovery,
        DiscoveryFailure, FieldValidation, List, ListAll, ListMeta, ListOptions, LogOptions,
        LogStream, Patch, Preconditions, PropagationPolicy, ResourceVersionMatch, Scale, ScaleSpec,
        ScaleStatus, ServerVersion, Watch, WatchEvent,
    },
    config::Config,
    error::{
        ConfigError, DecodeError, Error, InvalidInput, Missing, NotReady, OtherError, Phase,
        Reason, Result, Status, StatusCause, StatusDetails, StatusMeta, TransportError, WaitError,
    },
    factory::{
        DynamicSharedInformerFactory, Everything, EverythingBuilder, FactoryHandle, FactoryStatus,
        Lease, MetadataSharedInformerFactory, Selection, SharedInformerFactory,
        SharedInformerFactoryBuilder, UntypedFactory, UpgradedFactory, kinds,
    },
    informer::{
        Controller, ControllerBuilder, Event, EventHandler, FilteringHandler, HandlerFuncs,
        HandlerOutput, HandlerStatus, Informer, InformerState, InformerStatus, Metric, MetricKind,
        NamedHandler, NamespaceSet, Registration, RegistrationGuard, Running, SharedInformer,
        SharedInformerBuilder, WeakInformer,
    },
    object::{
        ApiResource, Body, Decoded, DynamicObject, GroupVersionKind, GroupVersionResource, Labels,
        Metadata, Object, ObjectKey, OwnerReference, PartialObjectMetadata, Resource,
    },
    reflector::{
        Backoff, ConsistencyError, Doing, Inconsistency, ListTarget, ListWatch, ListerWatcher,
        Reflector, ReflectorBuilder, ReflectorStore, check_consistency,
    },
    selector::{fields, labels},
    stop::StopToken,
};

/// So that the examples of the README are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
