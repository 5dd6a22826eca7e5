//! What the server holds: objects, revisions, history, and how a part of it is selected.

mod object;
mod selection;
mod state;

pub(super) use self::{
    object::{Stored, type_meta},
    selection::Selection,
    state::{Change, Scope, State, storage},
};
