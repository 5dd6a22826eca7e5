//! Selecting objects by label and by field.
//!
//! Both kinds are parsed once, checked when parsed, and matched without allocating. Their text is
//! the API server's own syntax, so a selector means the same here and there.

pub mod fields;
pub mod labels;

#[cfg(test)]
mod random {
    /// Numbers that are the same in every run (xorshift).
    pub(super) struct Random(pub(super) u64);

    impl Random {
        pub(super) fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % limit as u64) as usize
        }

        pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
            from[self.below(from.len())]
        }
    }
}
