//! `log` of a pod that never ran.

use std::{
    io,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::testing::{
    failure::{self, Outcome},
    http::{Body, Reply, Wire},
    routes::ResourceRequest,
    shared::Shared,
    store::{Stored, storage},
    time,
};

/// The annotation whose value is what a pod has logged.
const LOG_ANNOTATION: &str = "testing.kinformer/log";

/// A pod's log: the text of its annotation, or three lines. Followed, it goes on with a line every
/// 100 ms until the pod goes.
pub(super) fn log(asked: &ResourceRequest<'_>) -> Outcome<Reply> {
    let ResourceRequest { shared, request, def, .. } = *asked;
    let name = asked.name();
    let pod = shared.read(|state| asked.find(state))?;
    let value = pod.value(def);
    let containers = value["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<&str> = containers.filter_map(|one| one["name"].as_str()).collect();
    let container = match request.parameter("container").filter(|given| !given.is_empty()) {
        Some(given) if containers.contains(&given) => given,
        Some(given) => {
            return Err(failure::bad_request(format!(
                "container {given} is not valid for pod {name}"
            )));
        }
        None if containers.len() > 1 => {
            return Err(failure::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: {containers:?}"
            )));
        }
        None => containers.first().copied().unwrap_or("main"),
    };
    let text = match value["metadata"]["annotations"][LOG_ANNOTATION].as_str() {
        Some(text) => text.to_owned(),
        None => (1..=3).map(|line| format!("{name} {container} line {line}\n")).collect(),
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if let Some(tail) = request.parameter("tailLines") {
        let tail: usize =
            tail.parse().map_err(|_| failure::bad_request("tailLines: not a number"))?;
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let stamp = if request.parameter("timestamps") == Some("true") {
        format!("{} ", time::rfc3339(creation_time(&value)))
    } else {
        String::new()
    };
    let mut text: String = lines.iter().map(|line| format!("{stamp}{line}")).collect();
    if let Some(limit) = request.parameter("limitBytes").and_then(|limit| limit.parse().ok()) {
        let end = (0..=text.len().min(limit)).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
    }
    if request.parameter("follow") != Some("true") {
        return Ok(Reply::new(200, "text/plain", Body::Bytes(text.into_bytes())));
    }
    let (shared, storage) = (shared.clone(), storage(def));
    let speaker = format!("{name} {container}");
    let stream = move |wire: &mut Wire| follow(&shared, &storage, &pod, &text, &speaker, wire);
    Ok(Reply::new(200, "text/plain", Body::Stream(Box::new(stream))))
}

fn follow(
    shared: &Shared,
    storage: &str,
    pod: &Stored,
    text: &str,
    speaker: &str,
    wire: &mut Wire,
) -> io::Result<()> {
    wire.body(text.as_bytes())?;
    let first = text.lines().count() + 1;
    for line in first.. {
        wire.flush_all()?;
        if shared.stop.wait_timeout(Duration::from_millis(100)) {
            return Ok(());
        }
        let is_there = shared
            .read(|state| state.object(storage, &pod.key).is_some_and(|now| now.uid == pod.uid));
        if !is_there {
            return Ok(());
        }
        if wire.hung_up() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        wire.body(format!("{speaker} line {line}\n").as_bytes())?;
    }
    Ok(())
}

fn creation_time(object: &Value) -> SystemTime {
    let created = object["metadata"]["creationTimestamp"].as_str();
    created.and_then(crate::rfc3339::parse).unwrap_or(SystemTime::UNIX_EPOCH)
}
