//! What a connection has read and nobody has taken, and what it is about to write.

use super::{Buffers, room::Room};

/// How much is read at a time at first; an idle watch holds it for as long as it lives.
const LEAST: usize = 16 * 1024;
/// How much if there is always more: what arrives together is told together. Not more than whoever reads the body
/// takes at a time, or what is left of it would look as if nothing else had come.
const MOST: usize = 128 * 1024;
/// What the body of a request is read into, a piece at a time.
const PIECE: usize = 16 * 1024;

/// Buffers that take more room while a lot comes, and give it back when little does.
#[derive(Debug)]
pub(super) struct ElasticBuffers {
    input: Vec<u8>,
    /// What has been read and not been taken.
    start: usize,
    end: usize,
    /// How much there may be of it.
    room: Room,
    output: Vec<u8>,
    /// Whether anything was taken when that was last tried: if not, there is too little to make something of it.
    is_of_use: bool,
}

impl ElasticBuffers {
    pub(super) fn new(output: usize) -> Self {
        Self {
            input: Vec::new(),
            start: 0,
            end: 0,
            room: Room::new(LEAST, MOST),
            output: vec![0; output],
            is_of_use: false,
        }
    }

    /// Makes room for output, of which there is none yet.
    pub(super) fn reserve_output(&mut self, size: usize) {
        if size > self.output.len() {
            self.output.resize(size, 0);
        }
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
        if self.input.len() > self.room.size() {
            self.input.truncate(self.room.size());
            self.input.shrink_to_fit();
        }
    }

    /// Makes room for at least so much more input.
    fn make_room(&mut self, wanted: usize) {
        if self.start == self.end {
            self.start_again();
        } else if self.input.len() - self.end < self.room.size() / 2 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let size = self.room.size().max(self.end + wanted);
        if self.input.len() < size {
            self.input.resize(size, 0);
        }
    }
}

impl Buffers for ElasticBuffers {
    fn output(&mut self) -> &mut [u8] {
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        self.make_room(self.room.size() / 2);
        &mut self.input[self.end..]
    }

    fn input_appended(&mut self, amount: usize) {
        self.room.saw(amount, amount == self.input.len() - self.end);
        self.end += amount;
    }

    fn input_consume(&mut self, amount: usize) {
        self.is_of_use = amount > 0;
        self.start += amount;
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        self.make_room(PIECE);
        (&mut self.input[self.end..], &mut self.output)
    }

    fn can_use_input(&self) -> bool {
        self.start < self.end && self.is_of_use
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::transport::room::LITTLE;

    /// Reads so much, or as much as there is room for, which it gives.
    fn read(buffers: &mut ElasticBuffers, amount: usize) -> usize {
        let room = buffers.input_append_buf().len();
        buffers.input_appended(amount.min(room));
        room
    }

    #[test]
    fn room_grows_while_more_comes_than_fits_and_is_given_back_when_little_does() {
        let mut buffers = ElasticBuffers::new(1);
        let mut rooms = |amount: usize| {
            let room = read(&mut buffers, amount);
            buffers.input_consume(buffers.input().len());
            room / 1024
        };
        assert_eq!([(); 5].map(|()| rooms(usize::MAX)), [16, 32, 64, 128, 128]);
        assert_eq!([(); 3].map(|()| rooms(20_000)), [128; 3], "not much less");
        let mut after_little = || (0..LITTLE).map(|_| rooms(100)).min();
        assert_eq!([(); 5].map(|()| after_little()), [128, 64, 32, 16, 16].map(Some));
    }

    #[test]
    fn room_that_is_given_back_is_gone_with_the_next_read() {
        let mut buffers = ElasticBuffers::new(1);
        while read(&mut buffers, usize::MAX) < MOST {
            buffers.input_consume(buffers.input().len());
        }
        buffers.give_back_room();
        buffers.input_consume(buffers.input().len());
        assert_eq!(read(&mut buffers, 1), LEAST);
        assert_eq!(buffers.input.capacity(), LEAST);
    }

    #[test]
    fn what_was_not_taken_stays_and_comes_first() {
        let mut buffers = ElasticBuffers::new(1);
        let (mut written, mut taken) = (0_u8, 0_u8);
        for round in 0..10_000 {
            let amount = [1, 700, 40_000, 0, 3][round % 5];
            let buf = buffers.input_append_buf();
            let amount = amount.min(buf.len());
            for byte in &mut buf[..amount] {
                *byte = written;
                written = written.wrapping_add(1);
            }
            buffers.input_appended(amount);
            let take = buffers.input().len() * (round % 7) / 6;
            for byte in &buffers.input()[..take] {
                assert_eq!(*byte, taken, "{round}");
                taken = taken.wrapping_add(1);
            }
            buffers.input_consume(take);
            assert_eq!(buffers.can_use_input(), take > 0 && !buffers.input().is_empty());
        }
        assert!(buffers.input.len() <= 4 * MOST, "{}", buffers.input.len());
    }

    #[test]
    fn a_head_that_is_not_whole_yet_finds_room_for_more() {
        let mut buffers = ElasticBuffers::new(1);
        while buffers.input().len() < MOST {
            assert!(read(&mut buffers, usize::MAX) > 0);
            buffers.input_consume(0);
            assert!(!buffers.can_use_input());
        }
    }
}
