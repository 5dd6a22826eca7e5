//! Keys beside what they lead to.

use crate::object::ObjectKey;

/// A copy of a key, for whoever compares keys with many slots: beside the object, and not somewhere else
/// in memory.
#[derive(Clone, Copy)]
pub(super) struct NearKey {
    length: u8,
    bytes: [u8; Self::LONGEST],
}

impl NearKey {
    const LONGEST: usize = 47;

    pub(super) fn new(key: &ObjectKey) -> Self {
        let key = key.as_str().as_bytes();
        // No key that it can be compared with is as long.
        let mut near = Self { length: u8::MAX, bytes: [0; Self::LONGEST] };
        if let Some(bytes) = near.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
            near.length = key.len() as u8;
        }
        near
    }

    /// Whether it is a copy of `key`; `None` if that is too long to tell.
    #[inline]
    pub(super) fn is(&self, key: &[u8]) -> Option<bool> {
        let near = self.bytes.get(..key.len())?;
        Some(usize::from(self.length) == key.len() && are_equal(near, key))
    }
}

/// Compares two texts of the same length; faster than the usual way, which is made for longer ones.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let (Some(one_end), Some(other_end)) = (one.last_chunk::<16>(), other.last_chunk::<16>())
    else {
        return one == other;
    };
    let (one, _) = one.as_chunks::<16>();
    let (other, _) = other.as_chunks::<16>();
    one_end == other_end && one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_key_is_its_key_and_no_other() {
        for length in 0..=NearKey::LONGEST + 20 {
            let text = "k".repeat(length);
            let near = NearKey::new(&ObjectKey::from(text.as_str()));
            let can_tell = length <= NearKey::LONGEST;
            assert_eq!(near.is(text.as_bytes()), can_tell.then_some(true));
            for at in 0..length {
                let mut other = text.clone().into_bytes();
                other[at] = b'x';
                assert_eq!(near.is(&other), can_tell.then_some(false), "{length}, {at}");
            }
            let (shorter, longer) = (text.get(1..), "k".repeat(length + 1));
            for other in shorter.into_iter().chain([longer.as_str()]) {
                assert_ne!(near.is(other.as_bytes()), Some(true), "{length}");
            }
        }
    }
}
