//! What can be made to go wrong, when, and how it goes wrong.

mod fault;
mod pending;
mod plan;
mod when;

pub use self::{
    fault::{Fault, Moment, StatusFault, StatusForm},
    when::When,
};
pub(super) use self::{
    pending::{Faults, Pending},
    plan::{Plan, WatchScript},
    when::Facts,
};
