//! What a connection has read and nobody has taken.

use std::{fmt, io};

use super::room::Room;

/// How much is read at a time at first; an idle watch holds it for as long as it lives.
const LEAST: usize = 16 * 1024;
/// How much if there is always more: what arrives together is told together.
const MOST: usize = 128 * 1024;

/// A buffer that takes more room while a lot comes, and gives it back when little does.
pub(super) struct Input {
    bytes: Vec<u8>,
    /// What has been read and not been taken.
    start: usize,
    end: usize,
    /// How much there may be of it.
    room: Room,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, room: Room::new(LEAST, MOST) }
    }

    /// What nobody has taken.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn take(&mut self, amount: usize) {
        self.start += amount;
    }

    /// Reads more, behind what is there; says how much, and whether that was all that fitted.
    pub(super) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<(usize, bool)> {
        self.make_room();
        let room = &mut self.bytes[self.end..];
        let size = room.len();
        let read = read(room)?;
        self.end += read;
        self.room.saw(read, read == size);
        Ok((read, read == size))
    }

    /// Little will come for some time: what a lot has made room for is not needed.
    pub(super) fn give_back_room(&mut self) {
        self.room.give_back();
        if self.start == self.end {
            self.start_again();
        }
    }

    /// Nothing is there that must stay.
    fn start_again(&mut self) {
        (self.start, self.end) = (0, 0);
        if self.bytes.len() > self.room.size() {
            self.bytes.truncate(self.room.size());
            self.bytes.shrink_to_fit();
        }
    }

    fn make_room(&mut self) {
        let half = self.room.size() / 2;
        if self.start == self.end {
            self.start_again();
        } else if self.bytes.len() - self.end < half {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let size = self.room.size().max(self.end + half);
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
    }
}

impl fmt::Debug for Input {
    /// Without what has been read, which may be anybody's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("unread", &self.unread().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::transport::room::LITTLE;

    /// Reads so much, or as much as there is room for, which it gives.
    fn read(input: &mut Input, amount: usize) -> usize {
        let mut size = 0;
        let filled = input.fill(|room| {
            size = room.len();
            Ok(amount.min(size))
        });
        assert_eq!(filled.unwrap(), (amount.min(size), amount >= size));
        size
    }

    #[test]
    fn room_grows_while_more_comes_than_fits_and_is_given_back_when_little_does() {
        let mut input = Input::new();
        let mut rooms = |amount: usize| {
            let room = read(&mut input, amount);
            input.take(input.unread().len());
            room / 1024
        };
        assert_eq!([(); 3].map(|()| rooms(usize::MAX)), [16, 128, 128]);
        assert_eq!([(); 3].map(|()| rooms(20_000)), [128; 3], "not much less");
        let mut after_little = || (0..LITTLE).map(|_| rooms(100)).min();
        assert_eq!([(); 3].map(|()| after_little()), [128, 16, 16].map(Some));
    }

    #[test]
    fn room_that_is_given_back_is_gone_with_the_next_read() {
        let mut input = Input::new();
        while read(&mut input, usize::MAX) < MOST {
            input.take(input.unread().len());
        }
        input.give_back_room();
        input.take(input.unread().len());
        assert_eq!(read(&mut input, 1), LEAST);
        assert_eq!(input.bytes.capacity(), LEAST);
    }

    #[test]
    fn what_was_not_taken_stays_and_comes_first() {
        let mut input = Input::new();
        let (mut written, mut taken) = (0_u8, 0_u8);
        for round in 0..10_000 {
            let amount = [1, 700, 40_000, 0, 3][round % 5];
            let write = |room: &mut [u8]| {
                let amount = amount.min(room.len());
                for byte in &mut room[..amount] {
                    *byte = written;
                    written = written.wrapping_add(1);
                }
                Ok(amount)
            };
            input.fill(write).unwrap();
            let take = input.unread().len() * (round % 7) / 6;
            for byte in &input.unread()[..take] {
                assert_eq!(*byte, taken, "{round}");
                taken = taken.wrapping_add(1);
            }
            input.take(take);
        }
        assert!(input.bytes.len() <= 4 * MOST, "{}", input.bytes.len());
    }

    #[test]
    fn a_head_that_is_not_whole_yet_finds_room_for_more() {
        let mut input = Input::new();
        while input.unread().len() < MOST {
            assert!(read(&mut input, usize::MAX) > 0);
        }
    }
}
