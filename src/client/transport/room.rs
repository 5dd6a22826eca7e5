//! How much to read at a time.

/// After how many reads in a row that bring little some of the room is given back: fewer may be chance.
pub(super) const LITTLE: u32 = 8;

/// How many times as much room there is after a read that filled it, and how much less after some that would have fitted
/// into that. One large piece of memory comes from the system and goes back there; a row of pieces, each twice the one
/// before, leaves a row of holes.
const GROWTH: usize = 8;

/// More room while there is always more to read, and less when little comes.
#[derive(Debug)]
pub(super) struct Room {
    least: usize,
    most: usize,
    size: usize,
    /// How many reads in a row brought little.
    little: u32,
}

impl Room {
    pub(super) const fn new(least: usize, most: usize) -> Self {
        Self { least, most, size: least, little: 0 }
    }

    /// How much there is to be room for, as the last reads were.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A read brought so much, and was all that fitted or not.
    pub(super) fn saw(&mut self, amount: usize, was_full: bool) {
        if was_full {
            (self.size, self.little) = ((GROWTH * self.size).min(self.most), 0);
            return;
        }
        self.little = if amount < self.size / GROWTH { self.little + 1 } else { 0 };
        if self.little == LITTLE {
            self.size = (self.size / GROWTH).max(self.least);
            self.little = 0;
        }
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(super) fn give_back(&mut self) {
        (self.size, self.little) = (self.least, 0);
    }
}
