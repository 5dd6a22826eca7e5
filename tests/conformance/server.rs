//! The server under test: the one of the kubeconfig file that `KINF_KUBECONFIG` names, or the embedded one.

use std::{
    path::Path,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kinformer::{Api, Client, Config, Resource, StopToken, testing::ApiServer};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use serde_json::{Value, json};

use crate::audit;

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn client() -> Client {
    Client::new(config()).unwrap()
}

/// One that the server knows by this name.
pub(crate) fn client_named(agent: &str) -> Client {
    Client::new(config().to_builder().user_agent(agent).build().unwrap()).unwrap()
}

/// The paths with their queries that clients of this name have asked for. What was answered just now may be missing.
pub(crate) fn asked_by(agent: &str) -> Vec<String> {
    if let Some(folder) = std::env::var_os("KINF_SERVER") {
        return audit::asked_by(agent, &Path::new(&folder).join("audit.log"));
    }
    let requests = embedded().requests().into_iter();
    let of_it = requests.filter(|request| request.header("user-agent") == Some(agent));
    let uri = |path: String, query: String| {
        if query.is_empty() { path } else { format!("{path}?{query}") }
    };
    of_it.map(|request| uri(request.path, request.query)).collect()
}

fn config() -> Config {
    match std::env::var_os("KINF_KUBECONFIG") {
        Some(path) => Config::from_kubeconfig_file(path, None).unwrap(),
        None => embedded().config(),
    }
}

fn embedded() -> &'static ApiServer {
    static EMBEDDED: OnceLock<ApiServer> = OnceLock::new();
    EMBEDDED.get_or_init(|| ApiServer::start().unwrap())
}

/// Who uses the server: many at a time, or one alone.
static SERVER: RwLock<()> = RwLock::new(());

enum Use {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

/// A namespace of a test's own: a server is shared by all tests, and may have been by others before.
pub(crate) struct Scope {
    pub(crate) client: Client,
    pub(crate) name: String,
    using: Use,
}

impl Scope {
    pub(crate) fn new() -> Self {
        // A test may have several.
        Self::using(Use::Shared { _guard: SERVER.read_recursive() })
    }

    /// With nobody else at the server.
    pub(crate) fn alone() -> Self {
        Self::using(Use::Alone { _guard: SERVER.write() })
    }

    fn using(using: Use) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let client = client();
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("conformance-{}-{count}", std::process::id());
        let namespace = json!({"metadata": {"name": name}});
        client.api::<Namespace>().create(&namespace).unwrap();
        Self { client, name, using }
    }

    /// Makes the server forget every state but the newest; a kube-apiserver has nothing in its caches either.
    pub(crate) fn compact(&self) {
        assert!(matches!(self.using, Use::Alone { .. }), "others use the server");
        let Some(folder) = std::env::var_os("KINF_SERVER") else { return embedded().compact() };
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/controlplane/server");
        for command in ["compact", "kill", "start"] {
            let status = Command::new(program).arg(command).arg(&folder).status().unwrap();
            assert!(status.success(), "{command}");
        }
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

/// `tests/real/run` says which it has started.
#[test]
fn the_server_is_the_one_that_was_asked_for() {
    let own = || concat!("v1.37.0+kinformer.", env!("CARGO_PKG_VERSION")).to_owned();
    let expected = std::env::var("KINF_VERSION").unwrap_or_else(|_| own());
    assert_eq!(client().server_version().unwrap().git_version, expected);
}
