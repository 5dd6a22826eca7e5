//! The informers that are made to suffer, each with a handler that checks what it is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kinformer::{
    ApiResource, Backoff, Client, DynamicObject, InformerStatus, ListOptions, ListWatch,
    NamespaceSet, Object, Selection, SharedInformer, SharedInformerBuilder, SharedInformerFactory,
    StopToken, cache::Indexers, labels,
};
use serde_json::Value;

use super::{
    journal::{Journal, version},
    writers::NAMESPACES,
};

/// How long a watch is silent before it is looked at.
pub(crate) const SILENCE: Duration = Duration::from_secs(3);

/// The object that every informer of its kind is about.
pub(crate) const MARKER: &str = "marker";

pub(crate) struct Subjects {
    pub(crate) all: Vec<Subject>,
    /// Of the one that follows a set of namespaces.
    pub(crate) namespaces: NamespaceSet,
    /// Some of them are its.
    pub(crate) factory: SharedInformerFactory,
}

pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) informer: SharedInformer<DynamicObject>,
    pub(crate) journal: Journal,
    pub(crate) which: Which,
}

/// Which objects an informer is of.
#[derive(Clone)]
pub(crate) struct Which {
    pub(crate) resource: ApiResource,
    namespaces: Namespaces,
    labels: &'static str,
    metadata: bool,
}

#[derive(Clone)]
enum Namespaces {
    All,
    One(&'static str),
    Several(NamespaceSet),
}

pub(crate) fn resources() -> [ApiResource; 3] {
    [
        ApiResource::namespaced("v1", "ConfigMap", "configmaps"),
        ApiResource::namespaced("v1", "Secret", "secrets"),
        ApiResource::namespaced("apps/v1", "Deployment", "deployments"),
    ]
}

impl Subjects {
    /// Typed, dynamic, of metadata, filtered, of one namespace, of several, in pages, with resyncs.
    pub(crate) fn new(client: &Client) -> Self {
        let [maps, secrets, deployments] = resources();
        let of = |resource: &ApiResource| Which {
            resource: resource.clone(),
            namespaces: Namespaces::All,
            labels: "",
            metadata: false,
        };
        let several = NamespaceSet::new(NAMESPACES).unwrap();
        let factory = SharedInformerFactory::builder(client.clone())
            .backoff(soon())
            .watch_silence(SILENCE)
            .resync(Duration::from_secs(2))
            .build();
        let typed = ListWatch::<ConfigMap>::from_client(client, None);
        let typed = SharedInformer::builder(typed)
            .backoff(soon())
            .watch_silence(SILENCE)
            .build()
            .unwrap()
            .cast();
        let in_several = Which { namespaces: Namespaces::Several(several.clone()), ..of(&maps) };
        let selection = Selection::new().namespaces(&several);
        let of_several = factory.informer_of(&maps, &selection);
        let resynced = factory.informer::<Deployment>().cast();
        let metadata = Which { metadata: true, ..of(&deployments) };
        let picked_maps = Which { labels: "pick=yes", ..of(&maps) };
        let picked = Which { labels: "pick=yes", ..of(&deployments) };
        let in_one = Which { namespaces: Namespaces::One(NAMESPACES[0]), ..of(&maps) };
        let made = |name, which: Which, streamed| {
            let informer = which.informer(client, streamed);
            Subject::new(name, which, informer)
        };
        let all = vec![
            Subject::new("typed", of(&maps), typed),
            made("dynamic", of(&secrets), true),
            made("in pages", of(&secrets), false),
            made("metadata", metadata, true),
            made("filtered", picked_maps, true),
            made("filtered in pages", picked, false),
            made("of a namespace", in_one, true),
            Subject::new("of namespaces", in_several, of_several),
            Subject::new("of a factory", of(&deployments), resynced),
        ];
        Self { all, namespaces: several, factory }
    }

    pub(crate) fn start(&self, limit: Duration) {
        self.factory.start().unwrap();
        for subject in &self.all {
            subject.informer.start().unwrap();
        }
        for subject in &self.all {
            subject.informer.wait_for_sync(limit).unwrap();
        }
    }
}

impl Subject {
    fn new(name: &'static str, which: Which, informer: SharedInformer<DynamicObject>) -> Self {
        let journal = Journal::new(name);
        let taking = journal.clone();
        let pick =
            |object: &Object| object.labels().get("pick").into_iter().map(Into::into).collect();
        informer.add_indexers(Indexers::new().with("pick", pick)).unwrap();
        informer.on_event(move |event| taking.take(&event)).unwrap();
        Self { name, informer, journal, which }
    }

    /// The resource version of the marker in the store.
    pub(crate) fn marker(&self) -> u64 {
        let key = format!("{}/{MARKER}", NAMESPACES[0]);
        self.informer.lister().get(&key).map_or(0, |object| version(&object))
    }

    /// Since when the status says that all is well.
    pub(crate) fn claims_to_be_well(&self, now: Instant) -> Option<Instant> {
        let status = self.informer.status();
        let InformerStatus { has_synced: true, last_error: None, queued: 0, .. } = status else {
            return None;
        };
        now.checked_sub(status.watch_age?)
    }

    /// What an index finds is what it is about, at any time.
    pub(crate) fn index_is_right(&self) -> bool {
        let picked = self.informer.indexer().by_index("pick", "yes").unwrap();
        picked.iter().all(|object| object.labels().get("pick").as_deref() == Some("yes"))
    }

    /// Waits until the store, its indices and what was told are as the server is.
    pub(crate) fn settle(&self, direct: &Client, limit: Duration) {
        let start = Instant::now();
        loop {
            let listed = bodies(&self.which.list(direct));
            let stored = bodies(&self.informer.store().list());
            let told = bodies(&self.journal.alive());
            if listed == stored && listed == told {
                break;
            }
            let unlike = |other: &BTreeMap<String, Value>| {
                let keys: BTreeSet<_> = listed.keys().chain(other.keys()).collect();
                keys.into_iter()
                    .filter(|key| listed.get(*key) != other.get(*key))
                    .cloned()
                    .collect::<Vec<_>>()
            };
            let (stored, told) = (unlike(&stored), unlike(&told));
            let (name, status) = (self.name, self.informer.status());
            assert!(
                start.elapsed() < limit,
                "{name}: unlike the server, in the store {stored:?}, as told {told:?}; {status:?}"
            );
            let _ = StopToken::new().wait_timeout(Duration::from_millis(100));
        }
        self.check_indices();
    }

    /// Each index has what it would have if it was made now.
    fn check_indices(&self) {
        let indexer = self.informer.indexer();
        let mut made: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for object in indexer.list() {
            if let Some(pick) = object.labels().get("pick") {
                made.entry(pick.into_owned()).or_default().insert(object.key().to_string());
            }
        }
        let values = indexer.list_index_func_values("pick");
        let kept: BTreeMap<_, BTreeSet<_>> = values
            .into_iter()
            .map(|value| {
                let keys = indexer.index_keys("pick", &value).unwrap();
                (value, keys.iter().map(ToString::to_string).collect())
            })
            .collect();
        assert_eq!(kept, made, "{}: the index", self.name);
    }
}

impl Which {
    pub(crate) fn informer(
        &self,
        client: &Client,
        streamed: bool,
    ) -> SharedInformer<DynamicObject> {
        let labels = labels::parse(self.labels).unwrap();
        let tweak = move |options: &mut ListOptions| options.labels = labels.clone();
        if self.metadata {
            let source = ListWatch::from_api(client.metadata_for(&self.resource)).tweak(tweak);
            return build(SharedInformer::builder(source), streamed);
        }
        let namespace = match &self.namespaces {
            Namespaces::One(namespace) => Some(*namespace),
            Namespaces::All | Namespaces::Several(_) => None,
        };
        let source = ListWatch::of_resource(client, &self.resource, namespace).tweak(tweak);
        build(SharedInformer::<DynamicObject>::builder(source), streamed)
    }

    /// The same for a factory; one of metadata is of whole objects there.
    pub(crate) fn selection(&self) -> Selection {
        let selection = Selection::new().labels(labels::parse(self.labels).unwrap());
        match &self.namespaces {
            Namespaces::All => selection,
            Namespaces::One(namespace) => selection.namespace(*namespace),
            Namespaces::Several(set) => selection.namespaces(set),
        }
    }

    fn list(&self, client: &Client) -> Vec<Object<DynamicObject>> {
        let options = ListOptions::new().labels(labels::parse(self.labels).unwrap());
        if self.metadata {
            let list = client.metadata_for(&self.resource).list(&options).unwrap();
            return list.items.iter().map(Object::cast).collect();
        }
        let api = client.dynamic(&self.resource);
        let list = |namespace: &str| api.namespace(namespace).list(&options).unwrap().items;
        match &self.namespaces {
            Namespaces::All => api.list(&options).unwrap().items,
            Namespaces::One(namespace) => list(namespace),
            Namespaces::Several(set) => set.names().iter().flat_map(|name| list(name)).collect(),
        }
    }
}

fn build<K: 'static>(
    builder: SharedInformerBuilder<K>,
    streamed: bool,
) -> SharedInformer<DynamicObject> {
    let builder = if streamed { builder } else { builder.streamed_lists(false).page_size(10) };
    builder.backoff(soon()).watch_silence(SILENCE).build().unwrap().cast()
}

/// Tries again soon.
pub(crate) fn soon() -> Backoff {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(50);
    backoff.cap = Duration::from_secs(1);
    backoff
}

/// By key, without what informers leave out.
fn bodies(objects: &[Object<DynamicObject>]) -> BTreeMap<String, Value> {
    let body = |object: &Object<DynamicObject>| {
        let mut body: Value = serde_json::from_str(&object.json()).unwrap();
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        body
    };
    objects.iter().map(|object| (object.key().to_string(), body(object))).collect()
}
