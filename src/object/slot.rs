//! Room for the decode of an object.

use std::{
    any::Any,
    mem,
    sync::{Arc, Weak},
};

use super::Decoded;

pub(super) type Decode = Arc<dyn Any + Send + Sync>;

/// Room for the decode of one type; another type decodes for its caller alone.
#[derive(Default)]
pub(super) enum Slot {
    #[default]
    Empty,
    /// For as long as the object.
    Kept(Decode),
    /// While somebody holds it.
    Held(Weak<dyn Any + Send + Sync>),
    /// So many want what will be decoded next to last until they are done with the object.
    Expected(u32),
    /// So many want this to last until they are done with the object.
    Shared(u32, Decode),
}

impl Slot {
    pub(super) fn body(&self) -> Option<Decode> {
        match self {
            Self::Empty | Self::Expected(_) => None,
            Self::Kept(body) | Self::Shared(_, body) => Some(body.clone()),
            Self::Held(body) => body.upgrade(),
        }
    }

    /// Whether a decode lasts because it is shared.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(..))
    }

    pub(super) fn fill(&mut self, body: Decode, decoded: Decoded) {
        *self = match (decoded, &self) {
            (Decoded::Keep, _) => Self::Kept(body),
            (Decoded::WhileHeld, Self::Expected(by)) => Self::Shared(*by, body),
            (Decoded::WhileHeld, _) => Self::Held(Arc::downgrade(&body)),
        }
    }

    /// From now on a decode lasts, until it is [released](Self::release) as often as it was shared. Says whether
    /// it did not before.
    pub(super) fn share(&mut self) -> bool {
        match self {
            Self::Kept(_) => return false,
            Self::Expected(by) | Self::Shared(by, _) => {
                *by += 1;
                return false;
            }
            Self::Empty => *self = Self::Expected(1),
            Self::Held(body) => {
                let held = body.upgrade();
                *self = held.map_or(Self::Expected(1), |body| Self::Shared(1, body));
            }
        }
        true
    }

    /// Leaves a decode to those who hold it, if nobody else shares it. Gives it back, to be dropped where no lock is held.
    #[must_use]
    pub(super) fn release(&mut self) -> Option<Decode> {
        match self {
            Self::Expected(by @ 2..) | Self::Shared(by @ 2.., _) => *by -= 1,
            Self::Expected(_) => *self = Self::Empty,
            Self::Shared(..) => {
                let Self::Shared(_, body) = mem::take(self) else { return None };
                // Nobody comes by it but through here. Even of a dead one a `Weak` would keep the room.
                if Arc::strong_count(&body) > 1 {
                    *self = Self::Held(Arc::downgrade(&body));
                }
                return Some(body);
            }
            Self::Empty | Self::Kept(_) | Self::Held(_) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(slot: &Slot) -> Option<u32> {
        slot.body()?.downcast_ref().copied()
    }

    fn decode(number: u32) -> Decode {
        Arc::new(number)
    }

    #[test]
    fn a_decode_goes_with_the_last_who_holds_it() {
        let mut slot = Slot::default();
        let held = decode(1);
        slot.fill(held.clone(), Decoded::WhileHeld);
        assert_eq!(body(&slot), Some(1));
        drop(held);
        assert_eq!(body(&slot), None);
    }

    #[test]
    fn a_decode_that_is_shared_lasts_until_it_is_released_and_leaves_nothing() {
        let mut slot = Slot::default();
        slot.share();
        assert_eq!(body(&slot), None);
        slot.fill(decode(1), Decoded::WhileHeld);
        assert_eq!(body(&slot), Some(1), "nobody but the slot holds it");
        drop(slot.release());
        assert!(matches!(slot, Slot::Empty));
    }

    #[test]
    fn what_somebody_holds_is_shared_and_outlasts_the_release() {
        let mut slot = Slot::default();
        let held = decode(1);
        slot.fill(held.clone(), Decoded::WhileHeld);
        slot.share();
        drop(slot.release());
        assert_eq!(body(&slot), Some(1));
        slot.share();
        drop(held);
        assert_eq!(body(&slot), Some(1));
        drop(slot.release());
        assert!(matches!(slot, Slot::Empty));
    }

    #[test]
    fn what_nobody_decodes_leaves_nothing() {
        let mut slot = Slot::default();
        slot.share();
        assert!(slot.release().is_none());
        assert!(matches!(slot, Slot::Empty));
        drop(slot.release());
        let mut dead = Slot::Held(Arc::downgrade(&decode(1)));
        dead.share();
        drop(dead.release());
        assert!(matches!(dead, Slot::Empty), "not even what was left before");
    }

    #[test]
    fn a_decode_that_two_share_lasts_until_both_are_done_with_it() {
        for (before, after) in [(0, 2), (1, 1), (2, 0)] {
            let mut slot = Slot::default();
            for _ in 0..before {
                slot.share();
            }
            let held = decode(1);
            slot.fill(held.clone(), Decoded::WhileHeld);
            for _ in 0..after {
                slot.share();
            }
            drop((slot.release(), held));
            assert_eq!(body(&slot), Some(1));
            drop(slot.release());
            assert!(matches!(slot, Slot::Empty));
        }
    }

    #[test]
    fn what_is_kept_is_kept() {
        let mut slot = Slot::default();
        slot.share();
        slot.fill(decode(1), Decoded::Keep);
        slot.share();
        assert!(slot.release().is_none());
        assert_eq!(body(&slot), Some(1));
    }
}
