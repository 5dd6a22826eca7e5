//! An API server inside the process, for tests.
