//! The informers that are made to suffer, each with a handler that checks what it is told.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    ApiResource, Backoff, Client, DynamicObject, ListOptions, ListWatch, Object, ObjectKey,
    SharedInformer, SharedInformerBuilder, StopToken, cache::Indexers, labels,
};
use serde_json::Value;

use super::{
    dice::Dice,
    journal::{Journal, version},
    writers::{NAMESPACES, object},
};

pub(crate) struct Subject {
    pub(crate) informer: SharedInformer<DynamicObject>,
    journal: Journal,
    which: Which,
}

/// Which objects an informer is of.
#[derive(Clone)]
struct Which {
    resource: ApiResource,
    namespace: Option<&'static str>,
    labels: &'static str,
    metadata: bool,
}

pub(crate) fn resources() -> [ApiResource; 3] {
    [
        ApiResource::namespaced("v1", "ConfigMap", "configmaps"),
        ApiResource::namespaced("v1", "Secret", "secrets"),
        ApiResource::namespaced("apps/v1", "Deployment", "deployments"),
    ]
}

impl Subject {
    /// A typed one, a dynamic one, one of metadata, filtered ones, one of a namespace, paged ones.
    pub(crate) fn all(client: &Client) -> Vec<Self> {
        let [maps, secrets, deployments] = resources();
        let which = |resource: &ApiResource| Which {
            resource: resource.clone(),
            namespace: None,
            labels: "",
            metadata: false,
        };
        let typed = ListWatch::<ConfigMap>::from_client(client, None);
        let typed = soon(SharedInformer::builder(typed)).indexers(Indexers::new().with(
            "pick",
            |object: &Object<ConfigMap>| {
                object.labels().get("pick").into_iter().map(Into::into).collect()
            },
        ));
        vec![
            Self::new("typed", which(&maps), typed.build().unwrap().cast()),
            Self::of("dynamic", which(&secrets), client, true),
            Self::of("in pages", which(&secrets), client, false),
            Self::of("metadata", Which { metadata: true, ..which(&deployments) }, client, true),
            Self::of("filtered", Which { labels: "pick=yes", ..which(&maps) }, client, true),
            Self::of(
                "filtered in pages",
                Which { labels: "pick=yes", ..which(&deployments) },
                client,
                false,
            ),
            Self::of(
                "namespace",
                Which { namespace: Some(NAMESPACES[0]), ..which(&maps) },
                client,
                true,
            ),
        ]
    }

    fn of(name: &str, which: Which, client: &Client, streamed: bool) -> Self {
        let informer = which.informer(client, streamed);
        Self::new(name, which, informer)
    }

    fn new(name: &str, which: Which, informer: SharedInformer<DynamicObject>) -> Self {
        let journal = Journal::new(name);
        let taking = journal.clone();
        informer.on_event(move |event| taking.take(&event)).unwrap();
        Self { informer, journal, which }
    }

    pub(crate) fn told(&self) -> u64 {
        self.journal.told()
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.journal.wrong()
    }

    /// Waits until the store has what is written now.
    pub(crate) fn catch_up(&self, direct: &Client, limit: Duration, after: &str) {
        let api = direct.dynamic(&self.which.resource).namespace(NAMESPACES[0]);
        let marker = object(&self.which.resource, "marker", "");
        let start = Instant::now();
        let made = loop {
            match api.field_manager("chaos").force().apply("marker", &marker) {
                Ok(made) => break made,
                Err(error) => assert!(start.elapsed() < limit, "after {after}: {error}"),
            }
            let _ = StopToken::new().wait_timeout(Duration::from_millis(20));
        };
        let caught_up = self.informer.wait_for_resource_version(made.resource_version(), limit);
        let status = self.informer.status();
        caught_up.unwrap_or_else(|error| panic!("after {after}: {error}\n{status:?}"));
    }

    /// Waits until the store, its indices and what was told are as the server is.
    pub(crate) fn settle(&self, direct: &Client, limit: Duration) {
        let start = Instant::now();
        loop {
            let listed = self.which.list(direct);
            let expected: HashMap<ObjectKey, u64> =
                listed.iter().map(|object| (object.key().clone(), version(object))).collect();
            let told = self.journal.agrees_with(&expected);
            if bodies(&listed) == bodies(&self.informer.store().list()) && told {
                break;
            }
            let status = self.informer.status();
            assert!(start.elapsed() < limit, "told: {told}, {status:?}");
            let _ = StopToken::new().wait_timeout(Duration::from_millis(100));
        }
        let indexer = self.informer.indexer();
        for value in indexer.list_index_func_values("pick") {
            let mut indexed: Vec<_> = indexer.index_keys("pick", &value).unwrap();
            indexed.sort();
            let selector = labels::parse(&format!("pick={value}")).unwrap();
            let mut found: Vec<_> = self
                .informer
                .lister()
                .list(&selector)
                .iter()
                .map(|object| object.key().clone())
                .collect();
            found.sort();
            assert_eq!(indexed, found, "index of {value}");
        }
    }
}

impl Which {
    fn informer(&self, client: &Client, streamed: bool) -> SharedInformer<DynamicObject> {
        let labels = labels::parse(self.labels).unwrap();
        let tweak = move |options: &mut ListOptions| options.labels = labels.clone();
        if self.metadata {
            let source = ListWatch::from_api(client.metadata_for(&self.resource)).tweak(tweak);
            return build(SharedInformer::builder(source), streamed);
        }
        let source = ListWatch::of_resource(client, &self.resource, self.namespace).tweak(tweak);
        build(SharedInformer::<DynamicObject>::builder(source), streamed)
    }

    fn list(&self, client: &Client) -> Vec<Object<DynamicObject>> {
        let options = ListOptions::new().labels(labels::parse(self.labels).unwrap());
        if self.metadata {
            let list = client.metadata_for(&self.resource).list(&options).unwrap();
            return list.items.iter().map(Object::cast).collect();
        }
        let api = client.dynamic(&self.resource);
        let api = match self.namespace {
            Some(namespace) => api.namespace(namespace),
            None => api,
        };
        api.list(&options).unwrap().items
    }
}

/// Adds a handler to a running informer, or starts another informer, and ends it after a while.
pub(crate) fn churn(subjects: &[Subject], client: &Client, dice: &mut Dice, stop: &StopToken) {
    let subject = &subjects[dice.roll(subjects.len() as u64) as usize];
    let journal = Journal::new("late");
    let taking = journal.clone();
    let pause = Duration::from_millis(dice.roll(700));
    if dice.roll(2) == 0 {
        let registration = subject.informer.on_event(move |event| taking.take(&event)).unwrap();
        let _ = stop.wait_timeout(pause);
        registration.remove();
    } else {
        let informer = subject.which.informer(client, dice.roll(2) == 0);
        informer.on_event(move |event| taking.take(&event)).unwrap();
        informer.start().unwrap();
        let _ = stop.wait_timeout(pause);
        informer.stop();
    }
    let wrong = journal.wrong();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn build<K: 'static>(
    builder: SharedInformerBuilder<K>,
    streamed: bool,
) -> SharedInformer<DynamicObject> {
    let builder = if streamed { builder } else { builder.streamed_lists(false).page_size(10) };
    soon(builder).build().unwrap().cast()
}

/// Tries again soon, and notices soon that nobody is there.
fn soon<K: 'static>(builder: SharedInformerBuilder<K>) -> SharedInformerBuilder<K> {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(50);
    backoff.cap = Duration::from_secs(1);
    builder.backoff(backoff).watch_silence(Duration::from_secs(3))
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
