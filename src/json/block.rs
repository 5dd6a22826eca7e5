//! 64 bytes of JSON looked at together.
//!
//! Plain loops over arrays, which compilers turn into instructions for whole registers. One bit of a mask
//! stands for one byte, the lowest for the first.

/// Where the strings and brackets of some bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Opening quotes are in strings, closing ones are not.
    strings: u64,
    opening: u64,
    closing: u64,
}

/// What came before a block.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Before {
    pub(super) in_string: bool,
    /// Whether the next byte comes after a backslash that counts.
    pub(super) escaped: bool,
}

impl Block {
    pub(super) const SIZE: usize = 64;

    /// Looks at some bytes, and says what they are before the next ones.
    #[inline]
    pub(super) fn of(bytes: &[u8; Self::SIZE], before: &mut Before) -> Self {
        let (mut quotes, backslashes) = quotes_and_backslashes(bytes);
        let (opening, closing) = opening_and_closing(bytes);
        if before.escaped || backslashes != 0 {
            quotes &= !escaped(backslashes, &mut before.escaped);
        }
        // Each bit becomes the sum of all below it and its own.
        let mut strings = quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << shift;
        }
        if before.in_string {
            strings = !strings;
        }
        before.in_string = strings >> (Self::SIZE - 1) != 0;
        Self { strings, opening, closing }
    }

    /// Which bytes are opening brackets that are not in strings.
    #[inline]
    pub(super) fn opening(self) -> u64 {
        self.opening & !self.strings
    }

    /// The same for closing brackets.
    #[inline]
    pub(super) fn closing(self) -> u64 {
        self.closing & !self.strings
    }
}

/// Which bytes are quotes, and which are backslashes.
///
/// Not inlined, and no more than two at a time: between other things, compilers do a part of it one word or one byte
/// at a time.
#[inline(never)]
fn quotes_and_backslashes(bytes: &[u8; Block::SIZE]) -> (u64, u64) {
    (mask(bytes, 0, b'"'), mask(bytes, 0, b'\\'))
}

/// Which bytes are opening brackets, and which are closing ones.
#[inline(never)]
fn opening_and_closing(bytes: &[u8; Block::SIZE]) -> (u64, u64) {
    // The bit that is all the difference between brackets and braces.
    const BRACE: u8 = b'[' ^ b'{';
    (mask(bytes, BRACE, b'{'), mask(bytes, BRACE, b'}'))
}

/// Which bytes come after a backslash that counts, as every other of those in a row does.
fn escaped(backslashes: u64, before: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let carried = u64::from(*before);
    let backslashes = backslashes & !carried;
    let follows = backslashes << 1 | carried;
    // To a row that begins at an odd place its beginning is added: the carry comes out behind it.
    let odd_starts = backslashes & !EVEN & !follows;
    let (even_ends, carry) = odd_starts.overflowing_add(backslashes);
    *before = carry;
    (EVEN ^ even_ends << 1) & follows
}

/// Which bytes are `wanted` once they have the bits of `with`.
#[inline]
fn mask(bytes: &[u8; Block::SIZE], with: u8, wanted: u8) -> u64 {
    let mut found = [0; Block::SIZE];
    for ((found, byte), row) in found.iter_mut().zip(bytes).zip(&ROWS) {
        *found = if byte | with == wanted { *row } else { 0 };
    }
    let (words, _) = found.as_chunks();
    transposed(words.iter().fold(0, |rows, word| rows | u64::from_le_bytes(*word)))
}

/// The bit of the word that a byte is in: what is found in eight words fits into one that way, a row of the
/// mask in each bit and a column in each byte.
const ROWS: [u8; Block::SIZE] = {
    let (mut rows, mut at) = ([0; Block::SIZE], 0);
    while at < Block::SIZE {
        rows[at] = 1 << (at / 8);
        at += 1;
    }
    rows
};

/// Makes rows of eight bits into columns: of every two bits, then pairs, then fours that are across the
/// diagonal from each other, each takes the other's place.
#[inline]
fn transposed(mut bits: u64) -> u64 {
    for (distance, first) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let differ = (bits ^ bits >> distance) & first;
        bits ^= differ ^ differ << distance;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which bytes are in strings or brackets outside them, one byte after the other.
    fn by_bytes(bytes: &[u8], before: &mut Before) -> [u64; 3] {
        let (mut strings, mut opening, mut closing) = (0, 0, 0);
        for (at, byte) in bytes.iter().enumerate() {
            let escaped = std::mem::take(&mut before.escaped);
            match byte {
                b'"' if !escaped => before.in_string = !before.in_string,
                b'\\' => before.escaped = !escaped,
                b'{' | b'[' => opening |= u64::from(!before.in_string) << at,
                b'}' | b']' => closing |= u64::from(!before.in_string) << at,
                _ => {}
            }
            strings |= u64::from(before.in_string) << at;
        }
        [strings, opening, closing]
    }

    #[test]
    fn blocks_are_what_their_bytes_are_one_after_the_other() {
        // A simple generator: every seed is another text, most of it what matters.
        for seed in 1..5_000_u64 {
            let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut text = [0; 3 * Block::SIZE];
            for byte in &mut text {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                *byte = b"\"\\\\{}[]x: "[(random >> 32) as usize % 10];
            }
            let (mut one, mut other) = (Before::default(), Before::default());
            for bytes in text.as_chunks().0 {
                let block = Block::of(bytes, &mut one);
                let expected = by_bytes(bytes, &mut other);
                let found = [block.strings, block.opening(), block.closing()];
                assert_eq!(found, expected, "{seed}");
                assert_eq!(one, other, "{seed}");
            }
        }
    }

    #[test]
    fn nothing_else_looks_like_a_bracket() {
        for byte in 0..=u8::MAX {
            let block = Block::of(&[byte; Block::SIZE], &mut Before::default());
            assert_eq!(block.opening() != 0, b"{[".contains(&byte), "{byte}");
            assert_eq!(block.closing() != 0, b"}]".contains(&byte), "{byte}");
        }
    }
}
