//! A reflector of the config maps of a server.

use std::{sync::Arc, thread::JoinHandle};

use kinformer::{
    Backoff, Client, Config, DynamicObject, ListWatch, Object, Reflector, ReflectorBuilder,
    ReflectorStore, StopToken,
    cache::{Store, meta_namespace_key},
    testing::ApiServer,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{config_maps, eventually};

pub(crate) struct Mirror {
    pub(crate) reflector: Arc<Reflector<DynamicObject>>,
    pub(crate) store: Store<Object>,
    errors: Arc<Mutex<Vec<String>>>,
    pub(crate) stop: StopToken,
    thread: Option<JoinHandle<()>>,
}

impl Mirror {
    pub(crate) fn start(
        config: Config,
        backoff: Backoff,
        change: impl FnOnce(ReflectorBuilder<DynamicObject>) -> ReflectorBuilder<DynamicObject>,
    ) -> Self {
        Self::of(&Client::new(config).unwrap(), backoff, change)
    }

    pub(crate) fn of(
        client: &Client,
        backoff: Backoff,
        change: impl FnOnce(ReflectorBuilder<DynamicObject>) -> ReflectorBuilder<DynamicObject>,
    ) -> Self {
        let store = Store::new(meta_namespace_key);
        let mut mirror =
            Self::into(client, store.clone(), |builder| change(builder.backoff(backoff)));
        mirror.store = store;
        mirror
    }

    /// Into another target; the store of the mirror stays empty.
    pub(crate) fn into(
        client: &Client,
        target: impl ReflectorStore<Object>,
        change: impl FnOnce(ReflectorBuilder<DynamicObject>) -> ReflectorBuilder<DynamicObject>,
    ) -> Self {
        let errors = Arc::new(Mutex::new(Vec::new()));
        let told = errors.clone();
        let source = ListWatch::of_resource(client, &config_maps(), None);
        let builder = Reflector::builder(source, target)
            .on_error(move |error| told.lock().push(error.to_string()));
        let reflector = Arc::new(change(builder).build());
        let stop = StopToken::new();
        let thread = {
            let (reflector, stop) = (reflector.clone(), stop.clone());
            std::thread::spawn(move || reflector.run(&stop))
        };
        let store = Store::new(meta_namespace_key);
        Self { reflector, store, errors, stop, thread: Some(thread) }
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().clone()
    }

    /// Waits until the store has what the server has.
    #[track_caller]
    pub(crate) fn wait_for(&self, server: &ApiServer) {
        eventually("the store to be as the server is", || {
            versions(&self.store) == server_versions(server)
        });
    }

    /// Waits until it has seen every change, if config maps alone change; gives the last version.
    #[track_caller]
    pub(crate) fn catch_up(&self, server: &ApiServer) -> String {
        self.wait_for(server);
        let last = server.resource_version();
        eventually("the last version", || self.reflector.last_sync_resource_version() == last);
        last
    }

    pub(crate) fn end(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the reflector panicked");
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keys and versions in a store, sorted.
pub(crate) fn versions(store: &Store<Object>) -> Vec<(String, String)> {
    let mut all: Vec<_> = store
        .list()
        .iter()
        .map(|object| (object.key().as_str().to_owned(), object.resource_version().to_owned()))
        .collect();
    all.sort();
    all
}

/// Keys and versions of the config maps of a server, sorted.
pub(crate) fn server_versions(server: &ApiServer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = server
        .list("v1", "ConfigMap")
        .iter()
        .map(|object| {
            let meta = &object["metadata"];
            let key = format!("{}/{}", text(&meta["namespace"]), text(&meta["name"]));
            (key, text(&meta["resourceVersion"]))
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn put(server: &ApiServer, name: &str, value: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"value": value}});
    server.put(object).unwrap();
}

pub(crate) fn delete(server: &ApiServer, name: &str) {
    server.delete("v1", "ConfigMap", &format!("default/{name}")).unwrap();
}

/// The queries of the requests for config maps so far, with `T` for how long a watch is asked for.
pub(crate) fn queries(server: &ApiServer) -> Vec<String> {
    let requests = server.requests();
    let ours = requests.iter().filter(|request| request.path.ends_with("/configmaps"));
    ours.map(|request| without_timeout(&request.query)).collect()
}

fn without_timeout(query: &str) -> String {
    let parts = query.split('&').map(|part| match part.split_once('=') {
        Some(("timeoutSeconds", _)) => "timeoutSeconds=T",
        _ => part,
    });
    parts.collect::<Vec<_>>().join("&")
}

pub(crate) fn is_list(query: &str) -> bool {
    !query.contains("watch=true")
}

pub(crate) fn lists(server: &ApiServer) -> usize {
    queries(server).iter().filter(|query| is_list(query)).count()
}
