//! Handlers that are told of the same objects.

use super::{dropping::dropping, handler::Event};
use crate::object::Object;

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
            // It may be on anybody's thread.
            dropping("what was decoded", move || object.release_decode());
        }
    }
}
