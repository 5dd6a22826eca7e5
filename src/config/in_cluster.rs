//! The configuration that the kubelet gives every pod.

use std::fs;

use super::{
    Config, Credentials, Trust,
    environment::Environment,
    pem,
    secret::Secret,
    url::{ServerUrl, display_authority},
};
use crate::error::{ConfigError, ConfigErrorKind};

/// Reads the service account's files.
pub(super) fn load(environment: &Environment) -> Result<Config, ConfigError> {
    let (Some(host), Some(port)) = (&environment.service_host, &environment.service_port) else {
        return Err(ConfigError::new(
            "",
            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
        )
        .with_kind(ConfigErrorKind::NotInCluster));
    };
    let port_number: u16 = port
        .parse()
        .map_err(|_| ConfigError::new("KUBERNETES_SERVICE_PORT", "is not a port number"))?;
    let url = format!("https://{}", display_authority(host, Some(port_number)));
    let server =
        ServerUrl::parse(&url).map_err(|why| ConfigError::new("KUBERNETES_SERVICE_HOST", why))?;

    let path = environment.service_account_file("token");
    let token = Secret::from_file(&path).map_err(|why| ConfigError::new("", why).in_file(&path))?;
    Ok(Config {
        cluster: "in-cluster".into(),
        default_namespace: namespace(environment),
        trust: trust(environment),
        // Inside a cluster the network is faster than the server's gzip.
        compression: false,
        credentials: Credentials::TokenFile { path, initial: Some(token) },
        ..Config::new(server)
    })
}

/// The pod's namespace: `POD_NAMESPACE`, else the service account's, else `default`.
pub(super) fn namespace(environment: &Environment) -> String {
    environment
        .pod_namespace
        .clone()
        .or_else(|| fs::read_to_string(environment.service_account_file("namespace")).ok())
        .map(|namespace| namespace.trim().to_owned())
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or_else(|| "default".into())
}

fn trust(environment: &Environment) -> Trust {
    let path = environment.service_account_file("ca.crt");
    let checked = pem::read(&path)
        .map_err(|error| error.to_string())
        .and_then(|pem| pem::check_authorities(&pem));
    match checked {
        Ok(()) => Trust::File(path),
        Err(why) => {
            log::error!("{}: {why}; trusting the system's certificates instead", path.display());
            Trust::System
        }
    }
}
