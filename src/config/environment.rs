//! What the surroundings of the process say about its configuration.

#[cfg(feature = "kubeconfig")]
use std::ffi::OsString;
use std::{env, path::PathBuf};

/// Where the kubelet puts a pod's service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The environment, as a value: tests make their own.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// `KUBECONFIG`, unless empty.
    #[cfg(feature = "kubeconfig")]
    pub(super) kubeconfig: Option<OsString>,
    #[cfg(feature = "kubeconfig")]
    pub(super) home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`
    pub(super) service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`
    pub(super) service_port: Option<String>,
    /// `POD_NAMESPACE`
    pub(super) pod_namespace: Option<String>,
    /// The directory with `token`, `ca.crt` and `namespace`.
    pub(super) service_account: PathBuf,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let text = |name| env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            #[cfg(feature = "kubeconfig")]
            kubeconfig: env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            #[cfg(feature = "kubeconfig")]
            home: env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            service_host: text("KUBERNETES_SERVICE_HOST"),
            service_port: text("KUBERNETES_SERVICE_PORT"),
            pod_namespace: text("POD_NAMESPACE"),
            service_account: SERVICE_ACCOUNT.into(),
        }
    }

    /// The files in `KUBECONFIG`, each once, in order.
    #[cfg(feature = "kubeconfig")]
    pub(super) fn kubeconfig_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for file in self.kubeconfig.iter().flat_map(env::split_paths) {
            if !file.as_os_str().is_empty() && !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    #[cfg(feature = "kubeconfig")]
    pub(super) fn home_kubeconfig(&self) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(".kube").join("config"))
    }

    pub(super) fn service_account_file(&self, name: &str) -> PathBuf {
        self.service_account.join(name)
    }

    /// Whether the program runs in a pod with a service account.
    #[cfg(feature = "kubeconfig")]
    pub(super) fn is_in_cluster(&self) -> bool {
        self.service_host.is_some()
            && self.service_port.is_some()
            && self.service_account_file("token").is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfig_is_a_list_whose_order_is_kept_and_whose_duplicates_and_gaps_are_not() {
        let list = env::join_paths(["b", "", "a", "b", "c"]).unwrap();
        let environment = Environment { kubeconfig: Some(list), ..Environment::default() };
        assert_eq!(environment.kubeconfig_files(), ["b", "a", "c"].map(PathBuf::from));
        assert!(Environment::default().kubeconfig_files().is_empty());
    }
}
