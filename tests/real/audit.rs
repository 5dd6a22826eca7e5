//! What a kube-apiserver was asked for, by the log that it was told to keep with `controlplane/audit.yaml`.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

/// The paths with their queries that clients with this `User-Agent` have asked for, in the order in which they did.
pub(crate) fn asked_by(agent: &str, log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    // The last line may still be written.
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // A watch is there when it begins, and again when it ends.
    let requests: BTreeSet<_> = lines
        .filter(|line| line["userAgent"] == agent)
        .map(|line| {
            ["requestReceivedTimestamp", "auditID", "requestURI"]
                .map(|field| line[field].as_str().unwrap().to_owned())
        })
        .collect();
    requests.into_iter().map(|[_, _, uri]| uri).collect()
}
