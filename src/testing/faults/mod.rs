//! What can be made to go wrong, and how it goes wrong.

mod fault;
pub(super) mod plan;

pub use self::fault::{Fault, Moment, StatusFault, StatusForm, When};
pub(super) use self::{
    fault::Facts,
    plan::{Faults, Pending, Plan, WatchScript},
};
