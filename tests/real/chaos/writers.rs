//! Threads that create, change, relabel, delete and create again, each with names of its own.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
    thread::Scope,
    time::Duration,
};

use kinformer::{Api, ApiResource, Client, DynamicObject, Patch, Result, StopToken};
use serde_json::{Value, json};

use super::{body::prefix, dice::Dice, stillness::Stillness, subjects::MARKER};

pub(crate) const NAMESPACES: [&str; 3] = ["chaos-a", "chaos-b", "chaos-c"];

/// Of each writer in each namespace.
const NAMES: u64 = 10;

/// One of the names of each writer is of large objects: longer than what TLS sends at once.
const LARGE: u64 = 0;

#[derive(Default)]
pub(crate) struct Writers {
    pub(crate) changes: AtomicU64,
    pub(crate) failures: AtomicU64,
}

struct Writer {
    number: usize,
    /// One for each namespace.
    apis: [Api<DynamicObject>; 3],
    resource: ApiResource,
    dice: Dice,
    /// What there is: nobody else writes these names. Wrong if an answer was lost.
    alive: HashSet<(usize, String)>,
    stamp: u64,
}

impl Writers {
    /// Starts a thread that goes on until it is stopped.
    pub(crate) fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        client: &Client,
        (number, resource): (usize, ApiResource),
        (stop, stillness): (&'scope StopToken, &'scope Stillness),
        dice: Dice,
    ) {
        let api = client.dynamic(&resource).field_manager("chaos").force();
        let apis = NAMESPACES.map(|namespace| api.namespace(namespace));
        let mut writer = Writer { number, apis, resource, dice, alive: HashSet::new(), stamp: 0 };
        scope.spawn(move || {
            let _ends = super::StopOnPanic(stop);
            while !stop.is_stopped() {
                let changing = stillness.broken();
                let changed = writer.change();
                drop(changing);
                match changed {
                    Ok(()) => drop(self.changes.fetch_add(1, Ordering::Relaxed)),
                    // The answer to what made it so was lost.
                    Err(error) if error.is_not_found() || error.is_already_exists() => {}
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

impl Writer {
    fn change(&mut self) -> Result<()> {
        self.stamp += 1;
        let place = self.dice.roll(NAMESPACES.len() as u64) as usize;
        let which = self.dice.roll(NAMES);
        let name = format!("w{}-{which}", self.number);
        let stamp = format!("{}{}", prefix(NAMESPACES[place], &name), self.stamp);
        let size = if which == LARGE { 20_000 + self.dice.roll(20_000) as usize } else { 0 };
        let written = || object(&self.resource, &name, &stamp, size);
        let api = &self.apis[place];
        let key = (place, name.clone());
        if !self.alive.contains(&key) {
            // What is asked for and refused may have been done all the same.
            self.alive.insert(key);
            return api.create(&written()).map(drop);
        }
        match self.dice.roll(20) {
            0..=2 => {
                self.alive.remove(&key);
                api.delete(&name).map(drop)
            }
            3..=6 => {
                let pick = ["yes", "no"][self.dice.roll(2) as usize];
                let labels = json!({"pick": pick, "stamp": stamp});
                patch(api, &name, &json!({"metadata": {"labels": labels}}))
            }
            7..=10 if self.resource.kind() == "Deployment" => {
                let status = json!({"status": {"observedGeneration": self.stamp}});
                patch(&api.status(), &name, &status)
            }
            7 => api.apply(&name, &written()).map(drop),
            8..=12 => api.replace(&name, &written()).map(drop),
            _ => {
                let annotations = json!({"metadata": {"annotations": {"stamp": stamp}}});
                patch(api, &name, &annotations)
            }
        }
    }
}

fn patch(api: &Api<DynamicObject>, name: &str, patch: &Value) -> Result<()> {
    api.patch(name, &Patch::Merge(patch)).map(drop)
}

/// Whether an object is of this test; clusters put some of their own into each namespace.
pub(crate) fn is_written(name: &str) -> bool {
    name == MARKER || name.starts_with('w')
}

/// One with a stamp that nothing else has, and about `size` bytes more.
pub(crate) fn object(resource: &ApiResource, name: &str, stamp: &str, size: usize) -> Value {
    let mut object = json!({"metadata": {"name": name, "annotations": {"stamp": stamp}}});
    let mut data = json!({"stamp": stamp});
    if size > 0 {
        data["long"] = stamp.repeat(size / stamp.len()).into();
    }
    match resource.kind() {
        "ConfigMap" => object["data"] = data,
        "Secret" => object["stringData"] = data,
        _ => {
            let container = json!({"name": "main", "image": format!("example.com/main:{stamp}")});
            object["spec"] = json!({"selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}});
        }
    }
    object
}
