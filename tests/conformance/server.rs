//! The server under test: the one of the kubeconfig file that `KINF_KUBECONFIG` names, or the embedded one.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kinformer::{Api, Client, Config, Resource, StopToken, testing::ApiServer};
use serde_json::{Value, json};

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn client() -> Client {
    static EMBEDDED: OnceLock<ApiServer> = OnceLock::new();
    let config = match std::env::var_os("KINF_KUBECONFIG") {
        Some(path) => Config::from_kubeconfig_file(path, None).unwrap(),
        None => EMBEDDED.get_or_init(|| ApiServer::start().unwrap()).config(),
    };
    Client::new(config).unwrap()
}

/// A namespace of a test's own: a server is shared by all tests, and may have been by others before.
pub(crate) struct Scope {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Scope {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let client = client();
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("conformance-{}-{count}", std::process::id());
        let namespace = json!({"metadata": {"name": name}});
        client.api::<Namespace>().create(&namespace).unwrap();
        Self { client, name }
    }

    pub(crate) fn api<K: Resource>(&self) -> Api<K> {
        self.client.api::<K>().namespace(&self.name)
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        self.api()
    }

    /// Makes or changes a ConfigMap with a label `app`, and gives its resource version.
    pub(crate) fn put(&self, name: &str, value: &str) -> String {
        let maps = self.maps().field_manager("test").force();
        maps.apply(name, &config_map(name, value)).unwrap().resource_version().to_owned()
    }
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": name}}, "data": {"value": value}})
}

/// One that a kube-apiserver accepts.
pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec()},
        },
    })
}

pub(crate) fn pod_spec() -> Value {
    json!({"containers": [{"name": "main", "image": "example.com/main:1"}]})
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(5));
    }
}
