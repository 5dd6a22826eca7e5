//! Long lists that grow without a copy.

use std::ops::{Index, IndexMut};

/// A list in pieces, for what is large and of which there may be many: it grows by a piece, where a `Vec` moves to one of
/// twice its size and leaves a hole in memory.
pub(super) struct Chunks<T>(Vec<Vec<T>>);

/// How many are in a piece. Of the first one as many as there are: most lists are short.
const LENGTH: usize = 128;

impl<T> Chunks<T> {
    pub(super) fn push(&mut self, value: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < LENGTH => last.push(value),
            last => {
                let mut chunk = Vec::with_capacity(if last.is_some() { LENGTH } else { 1 });
                chunk.push(value);
                self.0.push(chunk);
            }
        }
    }

    pub(super) fn get(&self, at: u32) -> Option<&T> {
        let at = at as usize;
        self.0.get(at / LENGTH)?.get(at % LENGTH)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Index<u32> for Chunks<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        let at = at as usize;
        &self.0[at / LENGTH][at % LENGTH]
    }
}

impl<T> IndexMut<u32> for Chunks<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        let at = at as usize;
        &mut self.0[at / LENGTH][at % LENGTH]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_at_its_place_and_nothing_is_moved_from_there() {
        let mut chunks = Chunks::default();
        for n in 0..1000_u32 {
            chunks.push(n);
            assert_eq!((chunks[n], chunks.get(n), chunks.get(n + 1)), (n, Some(&n), None));
        }
        let before: *const u32 = &raw const chunks[500];
        for n in 1000..10_000 {
            chunks.push(n);
        }
        assert_eq!(&raw const chunks[500], before);
        chunks[500] = 7;
        assert!(chunks.iter().copied().eq((0..10_000).map(|n| if n == 500 { 7 } else { n })));
        assert!(chunks.0.iter().skip(1).all(|chunk| chunk.capacity() == LENGTH));
    }
}
