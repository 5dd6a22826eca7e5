//! One client's connection, from its first request to its last.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    reply::Reply,
    request::{Request, Unreadable},
    wire::{Script, Wire},
};
use crate::{
    error::Reason,
    testing::{
        failure,
        faults::{Facts, Plan, WatchScript},
        limits,
        read::ListOptions,
        routes::{self, ResourcePath, Verb},
        shared::Shared,
    },
};

/// Serves requests until one side has had enough.
pub(super) fn serve(shared: &Arc<Shared>, id: u64, wire: &mut Wire) {
    loop {
        let request = match Request::read(wire) {
            Ok(request) => request,
            Err(Unreadable::Closed) => return,
            Err(Unreadable::TooLarge) => return refuse(wire, Reply::failure(&limits::too_large())),
            Err(Unreadable::Malformed(code, words)) => {
                return refuse(wire, Reply::text(code, words));
            }
        };
        if respond(shared, id, wire, &request).is_err() || !request.keeps_alive() {
            return;
        }
    }
}

/// Answers what could not be read.
fn refuse(wire: &mut Wire, reply: Reply) {
    // Whether it arrives makes no difference: the connection ends.
    let _ = reply.send(wire, &Request::default(), Script::Nothing, true);
}

fn respond(shared: &Arc<Shared>, id: u64, wire: &mut Wire, request: &Request) -> io::Result<()> {
    let close = !request.keeps_alive();
    if shared.settings.control && routes::is_control(request) {
        let reply = authorized(shared, request, || routes::answer_control(shared, id, request));
        return reply.send(wire, request, Script::Nothing, close);
    }
    let facts = facts(request);
    let fault = shared.faults.lock().strike(&facts);
    // A request that is seen has met its fault: one that is injected from then on is for others.
    shared.requests.lock().push(request);
    let mut plan = Plan::new(fault, facts.verb == Some(Verb::Watch));
    if let Some(ending) = plan.before_head {
        return wire.end(ending);
    }
    let script = std::mem::take(&mut plan.watch);
    let reply = if let Some(status) = &plan.instead {
        status.reply()
    } else if plan.expire_continue {
        expired_page(request)
    } else {
        authorized(shared, request, || answer(shared, request, script))
    };
    plan.spoil(reply).send(wire, request, plan.bytes, close)
}

/// Answers a request, come what may.
fn answer(shared: &Arc<Shared>, request: &Request, script: WatchScript) -> Reply {
    let answered = catch_unwind(AssertUnwindSafe(|| routes::answer(shared, request, script)));
    answered.unwrap_or_else(|_| {
        Reply::failure(&failure::failure(
            Reason::InternalError,
            "Internal error occurred: the embedded API server panicked; this is a bug in it",
        ))
    })
}

fn authorized(shared: &Shared, request: &Request, answer: impl FnOnce() -> Reply) -> Reply {
    if is_authorized(shared, request) {
        answer()
    } else {
        Reply::failure(&failure::failure(Reason::Unauthorized, "Unauthorized"))
    }
}

fn is_authorized(shared: &Shared, request: &Request) -> bool {
    let Some(token) = &shared.settings.token else { return true };
    routes::is_public(&request.path)
        || request
            .header("authorization")
            .and_then(|value| value.split_once(' '))
            .is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("bearer") && given == token)
}

/// What faults are selected by.
fn facts(request: &Request) -> Facts {
    let continues = request.parameter("continue").is_some_and(|token| !token.is_empty());
    let path = request.segments().and_then(|segments| ResourcePath::parse(&segments));
    let Some(path) = path else { return Facts { continues, ..Facts::default() } };
    Facts {
        verb: path.verb(request),
        resource: Some(match &path.subresource {
            Some(part) => format!("{}/{part}", path.resource),
            None => path.resource,
        }),
        namespace: path.namespace,
        name: path.name,
        continues,
    }
}

fn expired_page(request: &Request) -> Reply {
    let page = ListOptions::parse(request, false).map(|options| options.page);
    let status = match page {
        Ok(Some(page)) => page.expired(),
        Ok(None) => failure::expired("The provided continue parameter is too old."),
        Err(status) => status,
    };
    Reply::failure(&status)
}
