//! Threads that create, change, relabel, delete and create again, each with names of its own.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread::Scope,
    time::Duration,
};

use kinformer::{ApiResource, Client, Patch, StopToken};
use serde_json::{Value, json};

use super::dice::Dice;

const NAMES: u64 = 25;

pub(crate) struct Writers {
    pub(crate) changes: AtomicU64,
    pub(crate) failures: AtomicU64,
}

impl Writers {
    pub(crate) fn new() -> Self {
        Self { changes: AtomicU64::new(0), failures: AtomicU64::new(0) }
    }

    /// Starts a thread that goes on until it is stopped.
    pub(crate) fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        client: &'scope Client,
        (number, resource): (usize, ApiResource),
        stop: &'scope StopToken,
        mut dice: Dice,
    ) {
        scope.spawn(move || {
            let api = client.dynamic(&resource).namespace(NAMESPACES[number % NAMESPACES.len()]);
            let mut stamp = 0_u64;
            while !stop.is_stopped() {
                stamp += 1;
                let name = format!("w{number}-{}", dice.roll(NAMES));
                let stamp = format!("{number}-{stamp}");
                let done = match dice.roll(10) {
                    0 | 1 => api.delete(&name).map(drop),
                    2 | 3 => {
                        let pick = ["yes", "no"][dice.roll(2) as usize];
                        let patch = json!({"metadata": {"labels": {"pick": pick}}});
                        api.patch(&name, &Patch::Merge(patch)).map(drop)
                    }
                    4 if resource.kind() == "Deployment" => {
                        let patch = json!({"status": {"observedGeneration": dice.roll(1000)}});
                        api.status().patch(&name, &Patch::Merge(patch)).map(drop)
                    }
                    _ => {
                        let object = object(&resource, &name, &stamp);
                        api.field_manager("chaos").force().apply(&name, &object).map(drop)
                    }
                };
                match done {
                    Ok(()) => drop(self.changes.fetch_add(1, Ordering::Relaxed)),
                    Err(error) if error.is_not_found() => {}
                    // The server is away: that is somebody else's fault.
                    Err(_) => {
                        self.failures.fetch_add(1, Ordering::Relaxed);
                        let _ = stop.wait_timeout(Duration::from_millis(20));
                    }
                }
            }
        });
    }
}

pub(crate) const NAMESPACES: [&str; 3] = ["chaos-a", "chaos-b", "chaos-c"];

/// One with a stamp that nothing else has.
pub(crate) fn object(resource: &ApiResource, name: &str, stamp: &str) -> Value {
    let mut object = json!({"metadata": {"name": name, "annotations": {"stamp": stamp}}});
    match resource.kind() {
        "ConfigMap" => object["data"] = json!({"stamp": stamp}),
        "Secret" => object["stringData"] = json!({"stamp": stamp}),
        _ => {
            let container = json!({"name": "main", "image": format!("example.com/main:{stamp}")});
            object["spec"] = json!({"selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}});
        }
    }
    object
}
