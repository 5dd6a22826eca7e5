//! GET, LIST and WATCH.

pub(super) mod list;
mod options;
mod table;
pub(super) mod watch;

pub(super) use self::options::{ListOptions, parse_revision};
