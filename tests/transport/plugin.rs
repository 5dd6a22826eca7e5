//! Credential plugins for the tests: shell scripts that count how often they are run.

use std::time::Duration;

use kinformer::{
    Client,
    config::{Config, ConfigBuilder},
};
use serde_json::{Value, json};

use crate::support::{Scratch, Server, client};

/// A plugin whose output can be changed between runs.
pub(crate) struct Plugin(Scratch);

/// Lets a plugin that waits for it print, once dropped.
#[must_use]
pub(crate) struct Gate(std::path::PathBuf);

impl Drop for Gate {
    fn drop(&mut self) {
        std::fs::write(&self.0, "").unwrap();
    }
}

impl Plugin {
    pub(crate) fn new() -> Self {
        let plugin = Self(Scratch::new());
        plugin.script("exit 9");
        plugin
    }

    /// Does this when it is run, after it has counted the run.
    pub(crate) fn script(&self, rest: &str) {
        let directory = self.0.path("");
        let directory = directory.display();
        let text = format!(
            "cd {directory}\nprintf %s \"$KUBERNETES_EXEC_INFO\" > info\necho $$ > pid\necho >> runs\n{rest}\n"
        );
        self.0.write("plugin", text);
    }

    /// Prints a credential with this status.
    pub(crate) fn print(&self, status: &Value) {
        self.print_after(Duration::ZERO, status);
    }

    pub(crate) fn print_after(&self, time: Duration, status: &Value) {
        self.write_credential(status);
        self.script(&format!("sleep {}; cat credential", time.as_secs_f32()));
    }

    /// Prints once the gate is dropped.
    pub(crate) fn print_when_let(&self, status: &Value) -> Gate {
        self.write_credential(status);
        self.script("while ! test -e go; do sleep 0.02; done; cat credential");
        Gate(self.0.path("go"))
    }

    fn write_credential(&self, status: &Value) {
        let credential = json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "status": status,
        });
        self.0.write("credential", credential.to_string());
    }

    pub(crate) fn runs(&self) -> usize {
        std::fs::read(self.0.path("runs")).map_or(0, |runs| runs.len())
    }

    /// Whether the process of the last run is there.
    pub(crate) fn is_running(&self) -> bool {
        let pid = std::fs::read_to_string(self.0.path("pid")).unwrap();
        std::path::Path::new("/proc").join(pid.trim()).exists()
    }

    /// What it was told last.
    pub(crate) fn info(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.path("info")).unwrap()).unwrap()
    }

    /// The user of a kubeconfig, with more fields of `exec` as in `installHint: x,`.
    pub(crate) fn user(&self, more: &str) -> String {
        let path = self.0.path("plugin");
        let path = path.display();
        format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, {more}
              command: sh, args: ['{path}']}}}}"
        )
    }

    /// A client that asks it for credentials.
    pub(crate) fn client(&self, server: &Server, more: &str) -> Client {
        client(kubeconfig(server, &self.user(more), ""))
    }
}

/// What a kubeconfig says that has this user, and the cluster of `server` with more fields.
pub(crate) fn kubeconfig(server: &Server, user: &str, more: &str) -> ConfigBuilder {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let url = server.url();
    let authority = server.authority.as_ref().map_or_else(String::new, |pem| {
        format!("certificate-authority-data: {},", BASE64_STANDARD.encode(pem))
    });
    let text = format!(
        "clusters: [{{name: c, cluster: {{{more} {authority} server: '{url}'}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x"
    );
    Config::from_kubeconfig_str(&text, None).unwrap().to_builder().no_proxy()
}
