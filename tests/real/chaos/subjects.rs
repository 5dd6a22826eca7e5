//! The informers that are made to suffer, each with a handler that checks what it is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kinformer::{
    ApiResource, Backoff, Client, Doing, DynamicObject, InformerStatus, ListOptions, ListWatch,
    NamespaceSet, Object, Selection, SharedInformer, SharedInformerBuilder, SharedInformerFactory,
    StopToken, cache::Indexers, labels,
};
use serde_json::Value;

use super::{decoder::Decoder, journal::Journal, writers::NAMESPACES};

/// How long a watch is silent before it is looked at.
pub(crate) const SILENCE: Duration = Duration::from_secs(3);

/// There is one of each kind in each namespace, and every informer is about it.
pub(crate) const MARKER: &str = "marker";

pub(crate) struct Subjects {
    pub(crate) all: Vec<Subject>,
    /// Of the one that follows a set of namespaces.
    pub(crate) namespaces: NamespaceSet,
    /// Some of them are its.
    pub(crate) factory: SharedInformerFactory,
    /// Of those with a type.
    pub(crate) decoder: Decoder,
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
        let decoder = Decoder::default();
        decoder.listen::<ConfigMap>(&typed);
        decoder.listen::<Deployment>(&resynced);
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
        Self { all, namespaces: several, factory, decoder }
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

    /// Waits until all are as the server is. Nobody may change anything meanwhile.
    pub(crate) fn settle(&self, direct: &Client, limit: Duration) {
        for subject in &self.all {
            subject.settle(direct, limit);
        }
    }
}

impl Subject {
    fn new(name: &'static str, which: Which, informer: SharedInformer<DynamicObject>) -> Self {
        let journal = Journal::new(name, &informer, which.objects_return());
        let taking = journal.clone();
        let pick =
            |object: &Object| object.labels().get("pick").into_iter().map(Into::into).collect();
        informer.add_indexers(Indexers::new().with("pick", pick)).unwrap();
        informer.on_event(move |event| taking.take(&event)).unwrap();
        Self { name, informer, journal, which }
    }

    /// In which round the oldest of the markers in the store was written.
    pub(crate) fn round(&self) -> u64 {
        let lister = self.informer.lister();
        let round = |namespace: &String| {
            let marker = lister.get(&format!("{namespace}/{MARKER}")).ok()?;
            let stamp = marker.annotations().get("stamp")?.into_owned();
            stamp.rsplit('.').next()?.parse().ok()
        };
        let rounds = self.which.namespaces().iter().map(|name| round(name).unwrap_or(0)).min();
        rounds.unwrap_or(0)
    }

    /// Whether the status says that all is well.
    pub(crate) fn claims_to_be_well(&self) -> bool {
        let status = self.informer.status();
        matches!(
            status,
            InformerStatus {
                has_synced: true,
                last_error: None,
                queued: 0,
                watch_age: Some(_),
                doing: Doing::Watching,
                ..
            }
        )
    }

    /// What is in the store for as long as it lives.
    pub(crate) fn steady(&self) -> Vec<Object> {
        let all = self.informer.store().list();
        all.into_iter().filter(|object| self.which.is_steady(object)).collect()
    }

    /// What an index finds is what it is about, at any time.
    pub(crate) fn index_is_right(&self) -> bool {
        let picked = self.informer.indexer().by_index("pick", "yes").unwrap();
        picked.iter().all(|object| object.labels().get("pick").as_deref() == Some("yes"))
    }

    /// Waits until the store, its indices and what was told are as the server is.
    fn settle(&self, direct: &Client, limit: Duration) {
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
            let (name, status, wrong) = (self.name, self.informer.status(), self.journal.wrong());
            assert!(
                start.elapsed() < limit,
                "{name}: unlike the server, in the store {stored:?}, as told {told:?}; {status:?}; {wrong:#?}"
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

    /// Those that it is about now.
    fn namespaces(&self) -> Vec<String> {
        match &self.namespaces {
            Namespaces::All => NAMESPACES.map(str::to_owned).to_vec(),
            Namespaces::One(namespace) => vec![(*namespace).to_owned()],
            Namespaces::Several(set) => set.names(),
        }
    }

    /// Whether an object may go and come back as it was, with its namespace.
    pub(crate) fn objects_return(&self) -> bool {
        matches!(self.namespaces, Namespaces::Several(_))
    }

    /// Whether an object is there for as long as it lives. The first namespace is never left, and markers are
    /// never relabelled.
    fn is_steady(&self, object: &Object) -> bool {
        let stays = !self.objects_return() || object.namespace() == Some(NAMESPACES[0]);
        stays && (self.labels.is_empty() || object.name() == MARKER)
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
