//! Which texts are like each other, without comparing them.

use memchr::memchr_iter;

/// A sample of what comes after the commas of a text: names of members, for the most part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sketch(u64);

/// How much of each is looked at: the name, without a value.
const LOOKED_AT: usize = 8;

impl Sketch {
    pub(super) fn of(text: &str) -> Self {
        let text = text.as_bytes();
        let mut sample = 0;
        for comma in memchr_iter(b',', text) {
            let Some(begin) = text[comma + 1..].first_chunk::<LOOKED_AT>() else { break };
            let hash = u64::from_le_bytes(*begin).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            // One of eight: all of them would fill it.
            if hash >> 61 == 0 {
                sample |= 1 << ((hash >> 55) & 63);
            }
        }
        Self(sample)
    }

    /// How much of both together is in both, of a thousand.
    pub(super) fn likeness(self, other: Self) -> u32 {
        let (both, either) = (self.0 & other.0, self.0 | other.0);
        both.count_ones() * 1_000 / either.count_ones().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(names: impl Iterator<Item = usize>, value: usize) -> String {
        let members = names.map(|n| format!(r#""{}":"{}""#, 1_000_000 + n.pow(3), n + value));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn what_has_more_in_common_is_more_alike() {
        let text = Sketch::of(&members(0..100, 0));
        let likeness = [0, 20, 50, 100].map(|more| {
            let other = members(0..100 - more, 7) + "," + &members(200..200 + more, 0);
            text.likeness(Sketch::of(&other))
        });
        assert!(likeness.is_sorted_by(|one, other| one > other), "{likeness:?}");
        assert_eq!(likeness[0], 1_000, "values are not looked at");
    }

    #[test]
    fn texts_of_any_length_have_one() {
        for text in ["", ",", ",\"", "{\"a\":\"b\"},", "ö,ö"] {
            let sketch = Sketch::of(text);
            assert_eq!(sketch.likeness(Sketch::default()), 0, "{text}: nothing in common");
        }
    }
}
