//! One client's connection, from its first request to its last.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    core::Core,
    failure,
    faults::WatchScript,
    handler,
    http::{Request, Unreadable},
    info,
    reply::Reply,
    wire::{Script, Wire},
};
use crate::error::Reason;

/// Serves requests until one side has had enough.
pub(crate) fn serve(core: &Arc<Core>, wire: &mut Wire) {
    loop {
        let request = match Request::read(wire) {
            Ok(request) => request,
            Err(Unreadable::Closed) => return,
            Err(Unreadable::Malformed(code, words)) => {
                let reply = Reply::text(code, words);
                // Whether it arrives makes no difference: the connection ends.
                let _ = reply.send(wire, &Request::default(), Script::Nothing, true);
                return;
            }
        };
        core.requests.lock().push(&request);
        let close = !request.keeps_alive();
        let reply = answer(core, &request);
        if reply.send(wire, &request, Script::Nothing, close).is_err() || close {
            return;
        }
    }
}

fn answer(core: &Arc<Core>, request: &Request) -> Reply {
    if !is_authorized(core, request) {
        return Reply::failure(&failure::failure(Reason::Unauthorized, "Unauthorized"));
    }
    let answered = catch_unwind(AssertUnwindSafe(|| handler::answer(core, request, WatchScript)));
    answered.unwrap_or_else(|_| {
        Reply::failure(&failure::failure(
            Reason::InternalError,
            "Internal error occurred: the embedded API server panicked; this is a bug in it",
        ))
    })
}

fn is_authorized(core: &Core, request: &Request) -> bool {
    let Some(token) = &core.settings.token else { return true };
    info::is_public(&request.path)
        || request
            .header("authorization")
            .and_then(|value| value.split_once(' '))
            .is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("bearer") && given == token)
}
