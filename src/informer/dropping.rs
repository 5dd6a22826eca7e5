//! Dropping what is the user's.

use std::{
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::cache::panic_text;

/// Drops what may be the user's, on a thread that must go on if that panics.
pub(super) fn dropping(what: impl Display, drop: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
        let text = panic_text(panic);
        log::error!("{what} panicked when dropped: {text}");
    }
}
