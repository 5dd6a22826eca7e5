//! Commands over HTTP, for tests that are not in the server's own process.

use serde_json::json;

use crate::testing::{
    failure::{self, Outcome},
    faults::Pending,
    http::{Reply, Request},
    shared::Core,
    store::State,
};

const ROOT: &str = "/_testing/";

pub(crate) fn is_control(request: &Request) -> bool {
    request.path.starts_with(ROOT)
}

/// Carries out a command that came over the connection `id`.
pub(crate) fn answer(core: &Core, id: u64, request: &Request) -> Reply {
    run(core, id, request).unwrap_or_else(|status| Reply::failure(&status))
}

fn run(core: &Core, id: u64, request: &Request) -> Outcome<Reply> {
    let command = request.path.strip_prefix(ROOT).unwrap_or_default();
    match (request.method.as_str(), command) {
        ("POST", "faults") => {
            let Pending { when, fault } = serde_json::from_slice(&request.body)
                .map_err(|error| failure::bad_request(format!("fault: {error}")))?;
            core.faults.lock().add(when, fault);
            Ok(done())
        }
        ("GET", "faults") => {
            Ok(Reply::json(200, &json!({"pending": core.faults.lock().pending()})))
        }
        ("DELETE", "faults") => {
            core.faults.lock().clear();
            Ok(done())
        }
        ("POST", "compact") => {
            core.write(State::compact);
            Ok(done())
        }
        ("POST", "drop-connections") => {
            core.drop_connections(Some(id));
            Ok(done())
        }
        (_, "faults" | "compact" | "drop-connections") => Err(failure::method_not_allowed()),
        _ => Err(failure::unknown_path()),
    }
}

fn done() -> Reply {
    Reply::json(
        200,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
    )
}
