//! Threads that create, change, relabel, delete and create again, each with names of its own.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
    thread::Scope,
    time::Duration,
};

use kinformer::{Api, ApiResource, Client, DynamicObject, Patch, Result, StopToken};
use serde_json::{Value, json};

use super::dice::Dice;

pub(crate) const NAMESPACES: [&str; 3] = ["chaos-a", "chaos-b", "chaos-c"];

const NAMES: u64 = 25;

#[derive(Default)]
pub(crate) struct Writers {
    pub(crate) changes: AtomicU64,
    pub(crate) failures: AtomicU64,
}

struct Writer {
    number: usize,
    api: Api<DynamicObject>,
    resource: ApiResource,
    dice: Dice,
    /// What there is: nobody else writes these names. Wrong if an answer was lost.
    alive: HashSet<String>,
    stamp: u64,
}

impl Writers {
    /// Starts a thread that goes on until it is stopped.
    pub(crate) fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        client: &Client,
        (number, resource): (usize, ApiResource),
        stop: &'scope StopToken,
        dice: Dice,
    ) {
        let api = client.dynamic(&resource).namespace(NAMESPACES[number % NAMESPACES.len()]);
        let api = api.field_manager("chaos").force();
        let mut writer = Writer { number, api, resource, dice, alive: HashSet::new(), stamp: 0 };
        scope.spawn(move || {
            while !stop.is_stopped() {
                match writer.change() {
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
        let stamp = format!("{}-{}", self.number, self.stamp);
        let name = format!("w{}-{}", self.number, self.dice.roll(NAMES));
        if !self.alive.contains(&name) {
            // What is asked for and refused may have been done all the same.
            self.alive.insert(name.clone());
            return self.api.create(&object(&self.resource, &name, &stamp)).map(drop);
        }
        match self.dice.roll(20) {
            0..=2 => {
                self.alive.remove(&name);
                self.api.delete(&name).map(drop)
            }
            3..=6 => {
                let pick = ["yes", "no"][self.dice.roll(2) as usize];
                let labels = json!({"pick": pick, "stamp": stamp});
                self.patch(&self.api, &name, &json!({"metadata": {"labels": labels}}))
            }
            7..=10 if self.resource.kind() == "Deployment" => {
                let status = json!({"status": {"observedGeneration": self.stamp}});
                self.patch(&self.api.status(), &name, &status)
            }
            7 => self.api.apply(&name, &object(&self.resource, &name, &stamp)).map(drop),
            8..=12 => self.api.replace(&name, &object(&self.resource, &name, &stamp)).map(drop),
            _ => {
                let annotations = json!({"metadata": {"annotations": {"stamp": stamp}}});
                self.patch(&self.api, &name, &annotations)
            }
        }
    }

    fn patch(&self, api: &Api<DynamicObject>, name: &str, patch: &Value) -> Result<()> {
        api.patch(name, &Patch::Merge(patch)).map(drop)
    }
}

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
