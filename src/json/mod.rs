//! Finding one's way in JSON without decoding it.
//!
//! Objects are kept as the bytes the server sent ([`crate::Object`]), so most JSON is never decoded:
//! it is cut out of a stream ([`stream`]) and looked into ([`scan`]).

pub(crate) mod scan;
pub(crate) mod stream;
