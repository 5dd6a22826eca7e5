//! Which library this is.

use std::ffi::c_char;

/// The version of the library that is running, as "0.1.0". Compare it with KINF_VERSION, that of the
/// header. Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn kinf_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
