//! Creating, replacing, patching and deleting objects.

mod context;
mod create;
mod delete;
mod delete_options;
pub(super) mod metadata;
mod part;
mod patch;
mod update;
mod validation;

pub(super) use self::{
    context::WriteContext,
    delete::{Removal, returns_deleted_object},
    delete_options::DeleteOptions,
    patch::{Patch, track},
    update::check_preconditions,
};
