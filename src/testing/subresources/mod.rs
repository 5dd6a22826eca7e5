//! Subresources that are not simply a part of their object's JSON.

mod answer;

pub(super) use self::answer::{answer, bind};
