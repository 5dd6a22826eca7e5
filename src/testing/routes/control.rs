//! Commands over HTTP, for tests that are not in the server's own process.

use serde_json::json;

use crate::testing::{
    failure::{self, Outcome},
    faults::Pending,
    http::{Reply, Request},
    shared::Shared,
    store::State,
};

const ROOT: &str = "/_testing/";

pub(crate) fn is_control(request: &Request) -> bool {
    request.path.starts_with(ROOT)
}

/// Carries out a command that came over the connection `id`.
pub(crate) fn answer(shared: &Shared, id: u64, request: &Request) -> Reply {
    run(shared, id, request).unwrap_or_else(|status| Reply::failure(&status))
}

fn run(shared: &Shared, id: u64, request: &Request) -> Outcome<Reply> {
    let command = request.path.strip_prefix(ROOT).unwrap_or_default();
    match (request.method.as_str(), command) {
        ("POST", "faults") => {
            let Pending { when, fault } = serde_json::from_slice(&request.body)
                .map_err(|error| failure::bad_request(format!("fault: {error}")))?;
            shared.faults.lock().add(when, fault);
            Ok(Reply::success(200, None))
        }
        ("GET", "faults") => {
            Ok(Reply::json(200, &json!({"pending": shared.faults.lock().pending()})))
        }
        ("DELETE", "faults") => {
            shared.faults.lock().clear();
            Ok(Reply::success(200, None))
        }
        ("POST", "compact") => {
            shared.write(State::compact);
            Ok(Reply::success(200, None))
        }
        ("POST", "drop-connections") => {
            shared.drop_connections(Some(id));
            Ok(Reply::success(200, None))
        }
        (_, "faults" | "compact" | "drop-connections") => Err(failure::method_not_allowed()),
        _ => Err(failure::unknown_path()),
    }
}
