//! Handlers that are told of the same objects.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::handler::Event;
use crate::{cache::panic_text, object::Object};

/// Until it is dropped, what one handler decodes of an event's objects is there for the others.
#[derive(Debug)]
pub(super) struct Attention {
    objects: [Option<Object>; 2],
}

impl Attention {
    pub(super) fn new(event: &Event) -> Self {
        let old = match event {
            Event::Updated { old, .. } => Some(old),
            _ => None,
        };
        let objects = [event.object(), old].map(Option::<&Object>::cloned);
        for object in objects.iter().flatten() {
            object.share_decode();
        }
        Self { objects }
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        for object in self.objects.iter_mut().filter_map(Option::take) {
            let_go(Released(object));
        }
    }
}

struct Released(Object);

impl Drop for Released {
    fn drop(&mut self) {
        self.0.release_decode();
    }
}

/// Drops what may be the user's, on a thread that must go on whatever happens.
pub(super) fn let_go<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        let text = panic_text(panic);
        log::error!("a panic when something was dropped: {text}");
    }
}
