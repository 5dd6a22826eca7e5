//! What kinds of objects there are, built-in and custom: names, schemas, defaults, documents.

mod builtin;
pub(super) mod builtin_schema;
pub(super) mod crd;
pub(super) mod defaults;
pub(super) mod discovery;
pub(super) mod fields;
pub(super) mod openapi;
mod registry;
pub(super) mod schema;
pub(super) mod versions;

pub(super) use self::registry::{PrinterColumn, Registry, ResourceDef};
