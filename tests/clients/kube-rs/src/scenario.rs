//! Writes objects of three kinds and holds what twelve reflectors were told against it.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use futures::future::try_join_all;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams,
        PostParams,
    },
};
use serde_json::{Value, json};
use tokio::{task::LocalSet, time};

use crate::{
    Report, Result,
    control::Control,
    journal::{Change, Journal, same_state},
    witness::{Witness, version, witnesses},
};

const LIMIT: Duration = Duration::from_secs(120);
const KINDS: [&str; 3] = ["pods", "configmaps", "deployments"];
/// Watchers of each kind.
const WATCHERS: usize = 4;

pub struct Scenario {
    name: &'static str,
    objects: usize,
    /// Befall the first watches, and then those that follow. No count: until it is taken back.
    faults: Vec<(Value, Option<usize>)>,
    /// The streaming watchers cannot become ready until their connections are cut.
    stalls: bool,
    /// Forget the past before the watchers may come back.
    compacts: bool,
    /// The watcher has to list again: it may skip changes, but must end right.
    gap: bool,
}

impl Scenario {
    pub fn steady() -> Self {
        Self {
            name: "steady",
            objects: 200,
            faults: vec![],
            stalls: false,
            compacts: false,
            gap: false,
        }
    }

    /// In each the watches break at event 120 of 237, in the midst of the updates.
    pub fn faulty() -> Vec<Self> {
        let fault = |name, faults| Self { name, objects: 50, faults, ..Self::steady() };
        let reset = || (json!({"reset": {"at": {"afterEvents": 120}}}), Some(WATCHERS));
        let too_many = |times| (json!({"status": {"code": 429, "retryAfter": 1}}), times);
        let gone = (json!({"watchError": {"afterEvents": 120}}), Some(WATCHERS));
        let withheld = (json!({"withholdBookmarks": {"initial": true}}), Some(WATCHERS));
        let truncated = (json!({"truncateChunk": {"afterEvents": 120}}), Some(WATCHERS));
        vec![
            fault("reset", vec![reset()]),
            fault("truncated chunk", vec![truncated]),
            fault("reset, then 429", vec![reset(), too_many(Some(WATCHERS))]),
            Self { gap: true, ..fault("410 in the stream", vec![gone]) },
            Self {
                gap: true,
                compacts: true,
                ..fault("away too long", vec![reset(), too_many(None)])
            },
            Self { stalls: true, ..fault("withheld bookmark", vec![withheld]) },
        ]
    }

    pub async fn run(&self, client: &Client, report: &mut Report) -> Result<()> {
        LocalSet::new().run_until(self.play(client, report)).await
    }

    async fn play(&self, client: &Client, report: &mut Report) -> Result<()> {
        let namespace = new_namespace(client).await?;
        let control = Control::new(client, &namespace);
        let stage = Stage::new(client, &namespace, self.objects);
        stage.write("old", Phase::Create).await?;
        for (fault, times) in &self.faults {
            control.script(&KINDS, fault, *times).await?;
        }
        let watchers: Vec<_> =
            stage.kinds.iter().map(|kind| witnesses(client, &namespace, &kind.resource)).collect();
        let ready = |streaming| {
            let all = watchers.iter().flatten().filter(|witness| witness.streaming == streaming);
            all.filter(|witness| witness.seen.borrow().ready).count()
        };
        let half = KINDS.len() * WATCHERS / 2;
        if self.stalls {
            eventually(|| ready(false) == half).await;
            // One that comes to the server later than the drop would wait for good.
            let end = time::Instant::now() + LIMIT;
            while !control.unused().await?.is_empty() && time::Instant::now() < end {
                time::sleep(Duration::from_millis(10)).await;
            }
            time::sleep(Duration::from_secs(1)).await;
            let waiting = half - ready(true);
            report.check(
                &format!("{}: {waiting} of {half} streaming watchers wait for it", self.name),
                &unless(waiting == half, "they did not wait"),
            );
            control.command("POST", "drop-connections").await?;
        }
        let synced = eventually(|| ready(true) + ready(false) == 2 * half).await;
        report.check(
            &format!(
                "{}: {} of {} watchers ready",
                self.name,
                ready(true) + ready(false),
                2 * half
            ),
            &unless(synced, "in time"),
        );
        stage.write("new", Phase::Create).await?;
        stage.write("new", Phase::Update).await?;
        stage.write("old", Phase::Update).await?;
        stage.write("new", Phase::Delete).await?;
        if self.compacts {
            control.command("POST", "compact").await?;
            control.command("DELETE", "faults").await?;
        }
        for (kind, witnesses) in stage.kinds.iter().zip(&watchers) {
            let on_server = kind.listed().await?;
            for witness in witnesses {
                self.compare(kind, witness, &on_server, report).await;
            }
        }
        if !self.faults.is_empty() {
            let unused = control.unused().await?;
            report.check(&format!("{}: every scripted fault happened", self.name), &unused);
        }
        Ok(())
    }

    async fn compare(
        &self,
        kind: &Kind,
        witness: &Witness,
        on_server: &BTreeMap<String, u64>,
        report: &mut Report,
    ) {
        let differences = || {
            let (written, seen) = (kind.written.borrow(), witness.seen.borrow());
            let mut all = same_state(on_server, &written.state());
            all.extend(same_state(on_server, &seen.state()));
            all.extend(same_state(on_server, &witness.store()));
            all.extend(written.impossible(&seen));
            if !self.gap {
                all.extend(written.missing(&seen));
            }
            all
        };
        eventually(|| differences().is_empty()).await;
        let way = if witness.streaming { "streaming" } else { "listing" };
        let seen = witness.seen.borrow();
        let mut found = differences();
        if self.gap && seen.lists < 2 {
            found.push("was to list again".to_owned());
        }
        let what = format!(
            "{}, {} {way} {}: {seen} in {} lists compared, {} left in store and server",
            self.name,
            witness.name,
            kind.resource.plural,
            seen.lists,
            on_server.len()
        );
        report.check(&what, &found);
    }
}

#[derive(Clone, Copy)]
enum Phase {
    Create,
    Update,
    Delete,
}

/// The kinds that are written, and what was written.
struct Stage {
    kinds: Vec<Kind>,
    objects: usize,
}

struct Kind {
    resource: ApiResource,
    api: Api<DynamicObject>,
    spec: Value,
    written: RefCell<Journal>,
}

impl Stage {
    fn new(client: &Client, namespace: &str, objects: usize) -> Self {
        let pod = json!({"containers": [{"name": "main", "image": "nginx:1"}]});
        let labels = json!({"app": "witness"});
        let deployment = json!({
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        });
        let kind = |resource: ApiResource, spec| Kind {
            api: Api::namespaced_with(client.clone(), namespace, &resource),
            resource,
            spec,
            written: RefCell::default(),
        };
        let kinds = vec![
            kind(ApiResource::erase::<Pod>(&()), json!({"spec": pod})),
            kind(ApiResource::erase::<ConfigMap>(&()), json!({"data": {"a": "b"}})),
            kind(ApiResource::erase::<Deployment>(&()), json!({"spec": deployment})),
        ];
        Self { kinds, objects }
    }

    /// One phase for all objects of a family, the kinds at the same time.
    async fn write(&self, family: &str, phase: Phase) -> Result<()> {
        try_join_all(self.kinds.iter().map(|kind| kind.write(family, phase, self.objects))).await?;
        Ok(())
    }
}

impl Kind {
    /// Every fourth object survives.
    async fn write(&self, family: &str, phase: Phase, objects: usize) -> Result<()> {
        for i in 0..objects {
            let name = format!("{family}-{i:03}");
            let change = match phase {
                Phase::Create => {
                    let object = DynamicObject::new(&name, &self.resource).data(self.spec.clone());
                    Change::Applied(version(
                        &self.api.create(&PostParams::default(), &object).await?,
                    ))
                }
                Phase::Update => {
                    let note = json!({"metadata": {"annotations": {"note": "changed"}}});
                    let (params, patch) = (PatchParams::default(), Patch::Merge(note));
                    Change::Applied(version(&self.api.patch(&name, &params, &patch).await?))
                }
                Phase::Delete if i % 4 == 0 => continue,
                Phase::Delete => {
                    let last = self.written.borrow().state()[&name];
                    self.api.delete(&name, &DeleteParams::default()).await?;
                    Change::Deleted(last)
                }
            };
            self.written.borrow_mut().add(&name, change);
        }
        Ok(())
    }

    async fn listed(&self) -> Result<BTreeMap<String, u64>> {
        let list = self.api.list(&ListParams::default()).await?;
        Ok(list.items.iter().map(|object| (object.name_any(), version(object))).collect())
    }
}

async fn new_namespace(client: &Client) -> Result<String> {
    let metadata =
        ObjectMeta { generate_name: Some("kube-rs-".to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Ok(Api::all(client.clone()).create(&PostParams::default(), &namespace).await?.name_any())
}

async fn eventually(condition: impl Fn() -> bool) -> bool {
    let all = async {
        while !condition() {
            time::sleep(Duration::from_millis(10)).await;
        }
    };
    time::timeout(LIMIT, all).await.is_ok()
}

fn unless(good: bool, otherwise: &str) -> Vec<String> {
    if good { vec![] } else { vec![otherwise.to_owned()] }
}
