//! A kube-apiserver with its etcd, for one test alone or shared by those that leave it as it is.

use std::{
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kinformer::{
    Api, Backoff, Client, Config, ListWatch, SharedInformer, SharedInformerBuilder, StopToken,
};
use serde_json::json;

use crate::{audit, chaos::proxy::Proxy};

/// How long anything may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Stopped when it is dropped; `tests/real/run` sees to it when a test is killed.
pub(crate) struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// One with more flags for kube-apiserver.
    pub(crate) fn with(flags: &[&str]) -> Self {
        Self::within(Self::next_folder(), flags)
    }

    /// One that remembers what it was asked for.
    pub(crate) fn audited(flags: &[&str]) -> Self {
        let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/controlplane/audit.yaml");
        let folder = Self::next_folder();
        let log = format!("--audit-log-path={}", folder.join("audit.log").display());
        let policy = format!("--audit-policy-file={policy}");
        Self::within(folder, &[flags, &[&*policy, &*log]].concat())
    }

    /// What clients with this `User-Agent` asked an audited one for.
    pub(crate) fn asked_by(&self, agent: &str) -> Vec<String> {
        audit::asked_by(agent, &self.path("audit.log"))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.config("kubeconfig")).unwrap()
    }

    /// For a user who may do nothing but what a test allows.
    pub(crate) fn limited(&self) -> Client {
        Client::new(self.config("kubeconfig-limited")).unwrap()
    }

    /// One that can be held off from the server.
    pub(crate) fn client_through(&self, proxy: &Proxy) -> Client {
        let config = Config::loader().path(self.path("kubeconfig"));
        Client::new(config.server(format!("https://{}", proxy.address)).load().unwrap()).unwrap()
    }

    /// One that the server knows by this name.
    pub(crate) fn client_named(&self, agent: &str) -> Client {
        let config = self.config("kubeconfig").to_builder().user_agent(agent);
        Client::new(config.build().unwrap()).unwrap()
    }

    pub(crate) fn config(&self, file: &str) -> Config {
        Config::from_kubeconfig_file(self.path(file), None).unwrap()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The text of the administrator's kubeconfig file.
    pub(crate) fn kubeconfig(&self) -> String {
        std::fs::read_to_string(self.path("kubeconfig")).unwrap()
    }

    pub(crate) fn kill(&self) {
        self.control("kill", &[]);
    }

    pub(crate) fn start_again(&self) {
        self.control("start", &[]);
    }

    pub(crate) fn pause(&self) {
        self.control("pause", &[]);
    }

    pub(crate) fn resume(&self) {
        self.control("resume", &[]);
    }

    /// etcd forgets every state but the newest.
    pub(crate) fn compact(&self) {
        self.control("compact", &[]);
    }

    /// Both servers start anew, with the same keys and nothing else.
    pub(crate) fn forget_everything(&self) {
        self.control("stop", &[]);
        std::fs::remove_dir_all(self.path("etcd")).unwrap();
        self.control("start", &[]);
    }

    fn next_folder() -> PathBuf {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let scratch = std::env::var_os("KINF_SCRATCH").expect("tests/real/run sets KINF_SCRATCH");
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        PathBuf::from(scratch).join(format!("{}-{count}", std::process::id()))
    }

    fn within(folder: PathBuf, flags: &[&str]) -> Self {
        let cluster = Self { folder };
        cluster.control("start", flags);
        cluster
    }

    fn control(&self, verb: &str, arguments: &[&str]) {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/controlplane/server");
        let mut command = Command::new(program);
        let output = command.arg(verb).arg(&self.folder).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "server {verb}: {text}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.control("stop", &[]);
    }
}

pub(crate) fn maps(client: &Client) -> Api<ConfigMap> {
    client.api::<ConfigMap>().namespace("default")
}

/// Makes or changes a ConfigMap with the label `test`, and gives its resource version.
pub(crate) fn put(client: &Client, name: &str, value: &str) -> String {
    let object =
        json!({"metadata": {"name": name, "labels": {"test": "yes"}}, "data": {"value": value}});
    let made = maps(client).field_manager("test").force().apply(name, &object).unwrap();
    made.resource_version().to_owned()
}

/// An informer of the ConfigMaps in `default` that tries again soon.
pub(crate) fn informer(client: &Client) -> SharedInformerBuilder<ConfigMap> {
    let mut backoff = Backoff::default();
    backoff.initial = Duration::from_millis(100);
    backoff.cap = Duration::from_secs(1);
    let source = ListWatch::<ConfigMap>::from_client(client, Some("default"));
    SharedInformer::builder(source.tweak(|options| {
        options.labels = kinformer::labels::parse("test").unwrap();
    }))
    .backoff(backoff)
}

pub(crate) fn started(builder: SharedInformerBuilder<ConfigMap>) -> SharedInformer<ConfigMap> {
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LIMIT).unwrap();
    informer
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "not in time: {what}");
        let _ = StopToken::new().wait_timeout(Duration::from_millis(10));
    }
}
