//! Paths that are not about objects: health, version, discovery, schemas.

use serde_json::json;

use crate::testing::{
    failure::{self, Outcome},
    http::{Clause, Reply, Request},
    kinds::{discovery, openapi},
    shared::Shared,
};

/// Answers if the path is one of these.
pub(crate) fn answer(
    shared: &Shared,
    request: &Request,
    segments: &[String],
) -> Option<Outcome<Reply>> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let reply = match segments.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => Ok(Reply::text(200, "ok")),
        ["version"] => Ok(Reply::json(200, &version())),
        [] => Ok(root(shared)),
        ["metrics"] => Ok(Reply::text(200, "")),
        ["api"] => Ok(groups(shared, request, true)),
        ["apis"] => Ok(groups(shared, request, false)),
        ["api", version] => resources(shared, "", version),
        ["apis", group] => shared
            .read(|state| discovery::api_group(&state.registry, group))
            .map(|group| Reply::json(200, &group))
            .ok_or_else(failure::unknown_path),
        ["apis", group, version] => resources(shared, group, version),
        ["openapi", "v2"] => json_only(request)
            .map(|()| Reply::json(200, &shared.read(|state| openapi::v2(&state.registry)))),
        ["openapi", "v3"] => {
            Ok(Reply::json(200, &shared.read(|state| openapi::index_v3(&state.registry))))
        }
        ["openapi", "v3", "api", version] => schema(shared, request, "", version),
        ["openapi", "v3", "apis", group, version] => schema(shared, request, group, version),
        ["openapi", ..] => Err(failure::unknown_path()),
        _ => return None,
    };
    let reading = matches!(request.method.as_str(), "GET" | "HEAD");
    Some(if reading { reply } else { Err(failure::method_not_allowed()) })
}

/// Whether a path can be read without credentials, as probes do.
pub(crate) fn is_public(path: &str) -> bool {
    ["/healthz", "/livez", "/readyz", "/version"].iter().any(|public| path.starts_with(public))
}

/// The document of groups: in the aggregated form for clients that ask for it.
fn groups(shared: &Shared, request: &Request, core_group: bool) -> Reply {
    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for clause in request.accepts().iter().filter(|clause| clause.is_json()) {
        match (clause.parameter("g"), clause.parameter("v"), clause.parameter("as")) {
            (Some("apidiscovery.k8s.io"), Some("v2"), Some("APIGroupDiscoveryList")) => {
                let document =
                    shared.read(|state| discovery::aggregated(&state.registry, core_group));
                let mut reply = Reply::json(200, &document);
                reply.content_type = AGGREGATED.to_owned();
                return reply;
            }
            (None, None, None) => break,
            _ => {}
        }
    }
    let document = if core_group {
        discovery::api_versions(request.header("host").unwrap_or_default())
    } else {
        shared.read(|state| discovery::api_group_list(&state.registry))
    };
    Reply::json(200, &document)
}

fn resources(shared: &Shared, group: &str, version: &str) -> Outcome<Reply> {
    let document =
        shared.read(|state| discovery::api_resource_list(&state.registry, group, version));
    document.map(|list| Reply::json(200, &list)).ok_or_else(failure::unknown_path)
}

fn schema(shared: &Shared, request: &Request, group: &str, version: &str) -> Outcome<Reply> {
    json_only(request)?;
    let document = shared.read(|state| openapi::document_v3(&state.registry, group, version));
    document.map(|document| Reply::json(200, &document)).ok_or_else(failure::unknown_path)
}

/// Schemas come in JSON; clients that insist on protobuf are told so.
fn json_only(request: &Request) -> Outcome<()> {
    let json = request.accepts().iter().any(Clause::is_json);
    json.then_some(()).ok_or_else(failure::not_acceptable)
}

fn root(shared: &Shared) -> Reply {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    shared.read(|state| {
        for def in state.registry.all() {
            if def.group.is_empty() {
                paths.push(format!("/api/{}", def.version));
            } else {
                paths.push(format!("/apis/{}", def.group));
                paths.push(format!("/apis/{}/{}", def.group, def.version));
            }
        }
    });
    paths.sort();
    paths.dedup();
    Reply::json(200, &json!({"paths": paths}))
}

/// In Go's words.
fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}

fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": "37",
        "emulationMajor": "1",
        "emulationMinor": "37",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "36",
        "gitVersion": concat!("v1.37.0+kinformer.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": platform(),
    })
}
