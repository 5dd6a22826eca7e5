//! Finding one's way in JSON without decoding it.
//!
//! Objects are kept as the bytes the server sent ([`crate::Object`]), so most JSON is never decoded:
//! it is cut out of a stream ([`stream`]), which also finds its parts ([`outline`]), and looked into
//! ([`scan`], [`pointer`]). Decoding steps over what nobody wants ([`decode`], [`reader`]).

mod block;
pub(crate) mod decode;
mod map_key;
pub(crate) mod outline;
pub(crate) mod pointer;
mod reader;
pub(crate) mod scan;
pub(crate) mod skips;
pub(crate) mod stream;

use serde::{Deserialize, Deserializer};

/// Reads `null` as nothing, which is how Go writes a list or a map that was never made.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
