//! Creating, replacing, patching and deleting objects.

mod context;
mod delete;
pub(super) mod metadata;
mod part;
pub(super) mod patch;
mod save;

pub(super) use self::{
    context::{Call, check_dry_run},
    delete::{DeleteOptions, Removal, returns_deleted_object},
    patch::Patch,
    save::check_preconditions,
};
