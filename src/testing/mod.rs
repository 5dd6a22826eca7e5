//! An API server inside the process, for tests.

mod convert;
mod crd;
mod discovery;
mod fields;
mod kinds;
mod openapi;
mod patch;
mod registry;
mod table;
mod time;
