//! Handlers that are told of the same objects.

use std::{collections::VecDeque, mem, sync::Arc};

use super::{dropping::dropping, handler::Event};
use crate::{object::Object, sync::Mutex};

/// Until it is dropped, what one handler decodes of an event's objects is there for the others.
#[derive(Debug)]
pub(super) struct Attention {
    objects: [Option<Object>; 2],
    /// Nobody else paid attention to one of them when this began.
    is_first: bool,
}

/// What handlers that are late were told of last. They go through the same events, some a little behind the others,
/// and what the first decodes is there for those.
#[derive(Debug, Default)]
pub(super) struct Recent {
    state: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    attention: VecDeque<Attention>,
    /// How far the first has come.
    front: u64,
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

    /// Keeps what a handler paid attention to, unless others came to it before or are far ahead. Says whether it does,
    /// and so whether the handler is the first of several.
    pub(super) fn keep(self: &Arc<Self>, attention: Attention, place: u64) -> bool {
        if !attention.is_first || !self.has_others() {
            return false;
        }
        let mut kept = self.state.lock();
        if place + Self::NEAR < kept.front {
            drop(kept);
            return false;
        }
        kept.front = kept.front.max(place);
        kept.attention.push_back(attention);
        let is_full = kept.attention.len() > Self::MOST;
        let oldest = is_full.then(|| kept.attention.pop_front());
        drop(kept);
        drop(oldest);
        true
    }

    /// Nobody is late any more, or one who was is not.
    pub(super) fn forget(&self) {
        let kept = mem::take(&mut *self.state.lock());
        drop(kept);
    }

    /// The informer has it, and each handler.
    fn has_others(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 2
    }
}
