//! From a request to its answer.

pub(super) mod control;
pub(super) mod documents;
mod path;
pub(super) mod resource;
mod review;

pub(super) use self::path::ResourcePath;
pub use self::path::Verb;
