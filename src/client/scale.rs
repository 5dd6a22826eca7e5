//! How many replicas something has.

use serde::{Deserialize, Serialize};

use crate::object::Metadata;

/// How many replicas there are and should be: the `scale` subresource.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Scale {
    /// Of the scaled object.
    pub metadata: Metadata,
    /// How many there should be.
    pub spec: ScaleSpec,
    /// How many there are.
    pub status: ScaleStatus,
}

/// The wish of a [`Scale`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ScaleSpec {
    /// How many replicas there should be.
    pub replicas: u32,
}

/// The state of a [`Scale`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ScaleStatus {
    /// How many replicas there are.
    pub replicas: u32,
    /// The label selector of the replicas.
    pub selector: String,
}
