//! An API server inside the process, for tests.

mod crd;
mod discovery;
mod kinds;
mod registry;
mod time;
