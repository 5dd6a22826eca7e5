//! From a request to its answer: which code is behind which path.

mod control;
mod documents;
mod path;
mod resource;
mod resource_request;
mod review;

use std::sync::Arc;

pub use self::path::Verb;
pub(super) use self::{
    control::{answer as answer_control, is_control},
    documents::is_public,
    path::ResourcePath,
    resource::{patch, update},
    resource_request::ResourceRequest,
};
use super::{
    failure,
    faults::WatchScript,
    http::{Reply, Request},
    shared::Shared,
};

/// Answers a request. `script` is what is to go wrong with a watch.
pub(crate) fn answer(shared: &Arc<Shared>, request: &Request, script: WatchScript) -> Reply {
    let Some(segments) = request.segments() else {
        return Reply::failure(&failure::bad_request(
            "the path is not valid percent-encoded UTF-8",
        ));
    };
    let reply = match documents::answer(shared, request, &segments) {
        Some(reply) => reply,
        None => match ResourcePath::parse(&segments) {
            Some(path) => resource::answer(shared, request, &path, script),
            None => Err(failure::unknown_path()),
        },
    };
    reply.unwrap_or_else(|status| Reply::failure(&status))
}
