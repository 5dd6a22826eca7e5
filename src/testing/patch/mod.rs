//! The four kinds of patch, and who owns which field.

pub(super) mod apply;
mod compare;
mod fieldset;
pub(super) mod json;
mod managers;
pub(super) mod merge;
pub(super) mod strategic;
pub(super) mod types;

use std::fmt;

use crate::{Status, testing::limits};

/// Why a patch could not be applied.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Error {
    /// It is not a patch of its kind: 400.
    Malformed(String),
    /// It is one, but does not fit the object: 422. The real server keeps the reason to itself.
    Rejected(String),
    /// It has more operations than the server does in one go: 413.
    TooLong(usize),
    /// Its copies add up to more than the server copies in one go: 413.
    CopiesTooMuch(usize),
    /// It puts a value where it would be too deep: 422.
    TooDeep,
}

impl Error {
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Malformed(message) => Status::failure(400, "BadRequest", message.as_str()),
            Self::Rejected(_) => Status::failure(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            ),
            Self::TooDeep => Status::failure(422, "Invalid", self.to_string()),
            Self::TooLong(_) | Self::CopiesTooMuch(_) => {
                Status::failure(413, "RequestEntityTooLarge", self.to_string())
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(message) | Self::Rejected(message) => f.write_str(message),
            Self::TooLong(operations) => write!(
                f,
                "The allowed maximum operations in a JSON patch is {}, got {operations}",
                json::MAX_OPERATIONS
            ),
            Self::CopiesTooMuch(bytes) => write!(
                f,
                "Request entity too large: Unable to complete the copy, the accumulated size \
                 increase of JSON patch copy is {bytes}, exceeding the limit {}",
                limits::MOST_BYTES
            ),
            Self::TooDeep => write!(
                f,
                "the patched object would be nested more than {} levels deep",
                limits::MOST_LEVELS
            ),
        }
    }
}
