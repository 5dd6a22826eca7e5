//! Handlers that are told of the same objects.

use std::{collections::VecDeque, mem};

use super::{dropping::dropping, handler::Event};
use crate::{object::Object, sync::Mutex};

/// Until it is dropped, what one handler decodes of an event's objects is there for the others.
#[derive(Debug)]
pub(super) struct Attention {
    objects: [Option<Object>; 2],
    /// Nobody else paid attention to one of them when this began.
    is_first: bool,
}

/// What handlers that are late have decoded last. They go through the same events, some a little behind the others, and
/// what the first decodes is there for those.
#[derive(Debug, Default)]
pub(super) struct Recent {
    state: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// How many handlers are late.
    late: usize,
    /// How far the first of them has come.
    front: u64,
    decoded: VecDeque<Attention>,
}

impl Attention {
    pub(super) fn new(event: &Event) -> Self {
        let old = match event {
            Event::Updated { old, .. } => Some(old),
            _ => None,
        };
        let objects = [event.object(), old].map(Option::<&Object>::cloned);
        let mut is_first = false;
        for object in objects.iter().flatten() {
            is_first |= object.share_decode();
        }
        Self { objects, is_first }
    }

    /// Whether there is a body that goes with this.
    fn has_a_decode(&self) -> bool {
        self.objects.iter().flatten().any(Object::shares_a_decode)
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        for object in self.objects.iter_mut().filter_map(Option::take) {
            // It may be on anybody's thread.
            dropping("what was decoded", move || object.release_decode());
        }
    }
}

impl Recent {
    /// How many events are kept, each with a body or two: more than handlers are told of while others wait for a
    /// processor.
    const MOST: usize = 256;

    /// Who is further behind is on its own until it has come up: a body would go before others come to it.
    const NEAR: u64 = 4;

    /// How many events the first is told before it lets the others run: they come to an object while what the first has
    /// decoded is still there.
    const TURN: u64 = 4;

    /// A handler is late.
    pub(super) fn join(&self) {
        self.state.lock().late += 1;
    }

    /// It is late no more, or is not called any more.
    pub(super) fn leave(&self) {
        let mut kept = self.state.lock();
        kept.late -= 1;
        let mut forgotten = VecDeque::new();
        if kept.late < 2 {
            kept.front = 0;
            forgotten = mem::take(&mut kept.decoded);
        }
        drop(kept);
        drop(forgotten);
    }

    /// Keeps what a handler, which has come so far, was the first to decode, if it is late and others are. Says whether
    /// those should have the processor for a while.
    pub(super) fn keep(&self, attention: Attention, place: u64) -> bool {
        if !attention.is_first {
            return false;
        }
        let mut kept = self.state.lock();
        let is_behind = place + Self::NEAR < kept.front;
        if kept.late < 2 || is_behind || !attention.has_a_decode() {
            drop(kept);
            return false;
        }
        kept.front = kept.front.max(place);
        kept.decoded.push_back(attention);
        let is_full = kept.decoded.len() > Self::MOST;
        let oldest = is_full.then(|| kept.decoded.pop_front());
        drop(kept);
        drop(oldest);
        place.is_multiple_of(Self::TURN)
    }
}
