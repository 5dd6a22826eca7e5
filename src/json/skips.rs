//! Where the large parts of a JSON text are, for whoever is looking for something else.

use std::ops::Range;

use smallvec::SmallVec;

/// The large objects and arrays near the top of a text, in order.
///
/// Others are found by looking for their ends.
#[derive(Debug, Default)]
pub(crate) struct Skips(Box<[Skip]>);

#[derive(Clone, Copy, Debug)]
struct Skip {
    start: u16,
    end: u16,
}

impl Skips {
    /// What is shorter is passed over as fast without this.
    pub(crate) const LEAST: usize = 64;

    /// Remembers parts of a text, which must be in order. What is beyond 64 KB is not worth it: such texts
    /// are rare, and their parts too.
    pub(crate) fn new(parts: impl Iterator<Item = Range<usize>>) -> Self {
        let skip = |part: Range<usize>| {
            Some(Skip { start: part.start.try_into().ok()?, end: part.end.try_into().ok()? })
        };
        // Most texts have fewer: one allocation, of the right size.
        let skips: SmallVec<[Skip; 32]> = parts.filter_map(skip).collect();
        Self(skips.as_slice().into())
    }

    /// Where the object or array that begins there ends, if that is known.
    pub(crate) fn end(&self, start: usize) -> Option<usize> {
        let found = self.0.binary_search_by_key(&start, |skip| skip.start.into()).ok()?;
        Some(self.0[found].end.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_skipped() {
        let skips = Skips::new([1..90, 10..80, 100..200, 300..70_000].into_iter());
        assert_eq!(
            [1, 10, 100, 300, 11].map(|at| skips.end(at)),
            [Some(90), Some(80), Some(200), None, None]
        );
    }
}
