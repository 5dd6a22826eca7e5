//! GET, LIST and WATCH, and the forms in which objects are shown.

mod get;
mod list;
mod options;
mod table;
mod view;
mod watch;

pub(super) use self::{
    get::get,
    list::{list, whole_list},
    options::{ListOptions, parse_revision},
    view::show,
    watch::{error_frame, watch},
};
