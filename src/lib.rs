//! Kubernetes client and informers on plain threads: no async runtime.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
pub mod config;
mod error;
#[cfg(feature = "_fuzz")]
#[doc(hidden)]
pub mod fuzzing;
mod json;
mod object;
pub mod selector;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;
mod thread;
#[cfg(feature = "kubeconfig")]
mod yaml;

#[cfg(feature = "k8s-openapi")]
#[cfg_attr(docsrs, doc(cfg(feature = "k8s-openapi")))]
pub use k8s_openapi;

pub use crate::{
    client::{
        Api, ApiGroup, Bookmark, Client, DeleteOptions, Deletion, DiscoveredResource, Discovery,
        DiscoveryFailure, FieldValidation, List, ListAll, ListMeta, ListOptions, LogOptions,
        LogStream, Patch, Preconditions, PropagationPolicy, ResourceVersionMatch, Scale, ScaleSpec,
        ScaleStatus, ServerVersion, Watch, WatchEvent,
    },
    config::Config,
    error::{
        ConfigError, DecodeError, Error, InvalidInput, Phase, Reason, Result, Status, StatusCause,
        StatusDetails, StatusMeta, TransportError,
    },
    object::{
        ApiResource, Body, Decoded, DynamicObject, GroupVersionKind, GroupVersionResource, Labels,
        Metadata, Object, ObjectKey, OwnerReference, PartialObjectMetadata, Resource,
    },
    selector::{fields, labels},
    stop::StopToken,
};
