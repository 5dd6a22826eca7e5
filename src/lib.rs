//! Kubernetes client and informers on plain threads: no async runtime.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod config;
mod error;
pub mod selector;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;
mod thread;
#[cfg(feature = "kubeconfig")]
mod yaml;

pub use crate::{
    error::{
        ConfigError, DecodeError, Error, InvalidInput, Phase, Reason, Result, Status, StatusCause,
        StatusDetails, StatusMeta, TransportError,
    },
    stop::StopToken,
};
