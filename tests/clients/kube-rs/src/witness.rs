//! One reflector, and the journal of what its watcher told.

use std::{cell::RefCell, collections::BTreeMap, fmt::Debug, hash::Hash, rc::Rc};

use futures::StreamExt;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject},
    core::NamespaceResourceScope,
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::journal::{Change, Journal};

pub struct Witness {
    pub name: &'static str,
    pub streaming: bool,
    pub seen: Rc<RefCell<Journal>>,
    store: Box<dyn Fn() -> BTreeMap<String, u64>>,
    task: JoinHandle<()>,
}

/// Four for each kind: typed and dynamic, with listed and with streamed initial objects.
pub fn witnesses(client: &Client, namespace: &str, kind: &ApiResource) -> Vec<Witness> {
    let mut all = match kind.plural.as_str() {
        "pods" => typed::<Pod>(client, namespace),
        "configmaps" => typed::<ConfigMap>(client, namespace),
        _ => typed::<Deployment>(client, namespace),
    };
    let api = || Api::<DynamicObject>::namespaced_with(client.clone(), namespace, kind);
    all.push(Witness::spawn("dynamic", false, api(), kind.clone()));
    all.push(Witness::spawn("dynamic", true, api(), kind.clone()));
    all
}

fn typed<K>(client: &Client, namespace: &str) -> Vec<Witness>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static,
{
    let api = || Api::<K>::namespaced(client.clone(), namespace);
    vec![Witness::spawn("typed", false, api(), ()), Witness::spawn("typed", true, api(), ())]
}

impl Witness {
    fn spawn<K>(name: &'static str, streaming: bool, api: Api<K>, kind: K::DynamicType) -> Self
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
        K::DynamicType: Clone + Eq + Hash + Send + Sync + 'static,
    {
        let mut config = watcher::Config::default();
        if streaming {
            config = config.streaming_lists();
        }
        let seen = Rc::new(RefCell::new(Journal::default()));
        let writer = reflector::store::Writer::<K>::new(kind);
        let reader = writer.as_reader();
        let journal = seen.clone();
        let events = reflector::reflector(writer, watcher(api, config).default_backoff());
        let task = tokio::task::spawn_local(events.for_each(move |event| {
            match event {
                Ok(event) => record(&mut journal.borrow_mut(), &event),
                // The watcher goes on by itself, which is what is to be shown.
                Err(error) if std::env::var_os("VERBOSE").is_some() => eprintln!("     | {error}"),
                Err(_) => {}
            }
            std::future::ready(())
        }));
        let store = Box::new(move || {
            reader.state().iter().map(|object| (object.name_any(), version(&**object))).collect()
        });
        Self { name, streaming, seen, store, task }
    }

    pub fn store(&self) -> BTreeMap<String, u64> {
        (self.store)()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn record<K: Resource>(journal: &mut Journal, event: &Event<K>) {
    match event {
        Event::Init => journal.begin_list(),
        Event::InitApply(object) => journal.listed(&object.name_any(), version(object)),
        Event::InitDone => journal.end_list(),
        // A real server marks a pod before it removes it: part of the delete, not a change of ours.
        Event::Apply(object) if object.meta().deletion_timestamp.is_some() => {}
        Event::Apply(object) => journal.add(&object.name_any(), Change::Applied(version(object))),
        Event::Delete(object) => journal.add(&object.name_any(), Change::Deleted(version(object))),
    }
}

/// Zero, which is never written, if it is missing or no number.
pub fn version(object: &impl Resource) -> u64 {
    object.meta().resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
}
