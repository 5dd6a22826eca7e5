//! The C interface: what `include/kinformer.h` declares, and the only unsafe code of this crate.
//!
//! Comments on `kinf_` items become the header, so they speak to C programmers. The rules of the border:
//!
//! - A handle is a `Box`, given by [`Box::into_raw`] and taken back once, by its `_free` function.
//!   What is borrowed from C comes as `Option<&T>`, where C's NULL is `None`: all handles are `Sync`.
//! - A function that can fail returns a [`kinf_status`](status::kinf_status), and everything in it runs
//!   inside of [`attempt`](border::attempt); the others run inside of [`guarded`](border::guarded).
//!   No panic leaves either.
//! - Outputs are cleared before anything can fail, and set on success only.
//! - Text in is a pointer and a length, checked by [`text`](border::text); text out has a NUL after it.
//!
//! Each unsafe block relies on one promise of the header: a pointer is NULL or points at what its type
//! says, for as long as the call takes, and was not freed.

#![allow(unsafe_code, reason = "C hands over pointers")]
#![allow(non_camel_case_types, reason = "C names")]
#![allow(unreachable_pub, reason = "reached by the linker, and seen by cbindgen")]
#![allow(missing_debug_implementations, reason = "C prints no handles")]

// In the order of the header.
mod status;

mod error;

mod version;

mod text;

mod config;

mod resource;

mod selection;

mod client;

mod discovery;

mod writes;

mod object;

mod list;

mod event;

mod factory;

mod informer;

mod lister;

mod index;

mod informer_status;

mod handler;

mod events;

mod item;

mod indexer;

mod delta_fifo;

mod user_data;

mod logging;

#[cfg(feature = "testing")]
mod testing;

mod border;
