//! Numbers that look random and come from a seed.

pub(crate) struct Dice(u64);

impl Dice {
    /// Another sequence for each `stream` of one seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mixed =
            (seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(mixed | 1)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}
