//! From the user of a kubeconfig to credentials.

use std::{env, sync::Arc};

use super::{
    Config, Credentials, Identity, Impersonate,
    exec::{ApiVersion, ClusterInfo, ExecPlugin, InteractiveMode, show_control_characters},
    kubeconfig::{Cluster, Exec, User},
    material::Material,
    pem::{self, BadIdentity},
    policy::PluginPolicy,
    problems::Problems,
    secret::{Secret, is_header_text},
};

/// Checks everything that a user says, and puts it into `config`, whose cluster part is complete.
pub(super) fn apply(
    user: &User,
    path: &str,
    cluster: &Cluster,
    plugins: &PluginPolicy,
    config: &mut Config,
    problems: &mut Problems,
) {
    config.impersonate = impersonate(user, path, problems);
    config.identity = identity(user, path, problems);
    config.credentials = credentials(user, path, problems);
    if let Some(provider) = &user.auth_provider {
        problems.push(provider.problem_in(path, "auth-provider", instead_of(&provider.value)));
    }
    if let Some(exec) = &user.exec {
        let plugin = plugin(exec, path, cluster, config, problems);
        // Anything static makes the plugin superfluous.
        if config.identity.is_none()
            && matches!(config.credentials, Credentials::Anonymous)
            && let Some(plugin) = plugin
        {
            let directories: Vec<_> =
                env::var_os("PATH").iter().flat_map(env::split_paths).collect();
            if !plugins.allows(&plugin.command, &directories) {
                let command = plugin.command.display();
                let why = format!("the program does not allow the plugin {command}");
                problems.push(exec.place.problem(&format!("{path}.exec.command"), why));
            }
            config.credentials = Credentials::Exec(Arc::new(plugin));
        }
    }
}

fn impersonate(user: &User, path: &str, problems: &mut Problems) -> Option<Impersonate> {
    let Some(name) = &user.act_as else {
        const WHY: &str = "needs a user in `as`";
        if let Some(uid) = &user.act_as_uid {
            problems.push(uid.problem_in(path, "as-uid", WHY));
        }
        if let Some(groups) = &user.act_as_groups {
            problems.push(groups.problem_in(path, "as-groups", WHY));
        }
        if let Some(extra) = &user.act_as_extra {
            problems.push(extra.problem_in(path, "as-user-extra", WHY));
        }
        return None;
    };
    Some(Impersonate {
        user: name.value.clone(),
        uid: user.act_as_uid.as_ref().map(|uid| uid.value.clone()),
        groups: user.act_as_groups.as_ref().map(|groups| groups.value.clone()).unwrap_or_default(),
        extra: user.act_as_extra.as_ref().map(|extra| extra.value.clone()).unwrap_or_default(),
    })
}

fn identity(user: &User, path: &str, problems: &mut Problems) -> Option<Identity> {
    let (file, data) = (user.client_certificate.as_ref(), user.client_certificate_data.as_ref());
    if file.is_none() && data.is_none() {
        return None;
    }
    let certificate = Material::load(path, "client-certificate", file, data, problems);
    let (key_file, key_data) = (user.client_key.as_ref(), user.client_key_data.as_ref());
    if key_file.is_none() && key_data.is_none() {
        const WHY: &str = "has no client-key to go with it";
        match (file, data) {
            (Some(file), _) => problems.push(file.problem_in(path, "client-certificate", WHY)),
            (None, Some(data)) => {
                problems.push(data.problem_in(path, "client-certificate-data", WHY));
            }
            (None, None) => {}
        }
        return None;
    }
    let key = Material::load(path, "client-key", key_file, key_data, problems);
    let (certificate, key) = certificate.zip(key)?;
    match pem::check_identity(&certificate.bytes, &key.bytes) {
        Ok(()) => {}
        Err(BadIdentity::Certificate(why)) => {
            problems.push(certificate.problem(&why));
            return None;
        }
        Err(BadIdentity::Key(why)) => {
            problems.push(key.problem(&why));
            return None;
        }
    }
    match (certificate.path(), key.path()) {
        (Some(certificate), Some(key)) => {
            Some(Identity::Files { certificate: certificate.into(), key: key.into() })
        }
        _ => match String::from_utf8(key.bytes) {
            Ok(key) => {
                Some(Identity::Pem { certificate: certificate.bytes.into(), key: Secret::new(key) })
            }
            Err(_) => {
                problems.add(format!("{path}.client-key-data"), "is not text");
                None
            }
        },
    }
}

fn credentials(user: &User, path: &str, problems: &mut Problems) -> Credentials {
    let basic = match (&user.username, &user.password) {
        (Some(username), password) => {
            if username.value.contains(':') {
                problems.push(username.problem_in(path, "username", "has a colon in it"));
            }
            let password = password.as_ref().map(|text| text.value.as_str()).unwrap_or_default();
            let (username, password) = (username.value.clone(), Secret::new(password));
            Some(Credentials::Basic { username, password })
        }
        (None, Some(password)) => {
            problems.push(password.problem_in(path, "password", "has no username to go with it"));
            None
        }
        (None, None) => None,
    };
    let inline = user.token.as_ref().and_then(|token| {
        let text = token.value.trim();
        if text.is_empty() || !is_header_text(text) {
            const WHY: &str = "holds characters that cannot be in a header";
            problems.push(token.problem_in(path, "token", WHY));
            return None;
        }
        Some(Secret::new(text))
    });
    if let Some(username) = &user.username
        && (user.token.is_some() || user.token_file.is_some())
    {
        let why = "contradicts the token: there can be only one way to authenticate";
        problems.push(username.problem_in(path, "username", why));
    }
    let Some(file) = &user.token_file else {
        let token = || inline.map(Credentials::Token);
        return basic.or_else(token).unwrap_or(Credentials::Anonymous);
    };
    let initial = inline.or_else(|| {
        Secret::from_file(&file.value)
            .map_err(|why| {
                let why = format!("{}: {why}", file.value.display());
                problems.push(file.problem_in(path, "tokenFile", why));
            })
            .ok()
    });
    Credentials::TokenFile { path: file.value.clone(), initial }
}

fn plugin(
    exec: &Exec,
    path: &str,
    cluster: &Cluster,
    config: &Config,
    problems: &mut Problems,
) -> Option<ExecPlugin> {
    let path = &format!("{path}.exec");
    if exec.command.is_none() {
        problems.push(exec.place.problem(&format!("{path}.command"), "is missing"));
    }
    for (at, (name, _)) in exec.env.iter().enumerate() {
        if name.value.is_empty() {
            problems.push(name.problem(&format!("{path}.env[{at}].name"), "is missing"));
        } else if name.value.contains(['=', '\0']) {
            problems.push(name.problem(&format!("{path}.env[{at}].name"), "cannot be a name"));
        }
    }
    let api_version = api_version(exec, path, problems)?;
    let interactive = interactive_mode(exec, api_version, path, problems)?;
    Some(ExecPlugin {
        file: exec.place.file.clone(),
        field: path.clone(),
        command: exec.command.as_ref()?.value.clone(),
        args: exec.args.clone(),
        env: exec.env.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect(),
        api_version,
        install_hint: exec.install_hint.as_ref().map(|hint| show_control_characters(&hint.value)),
        interactive,
        cluster: exec.provide_cluster_info.then(|| ClusterInfo {
            server: cluster.server.as_ref().map(|url| url.value.clone()).unwrap_or_default(),
            tls_server_name: config.tls_server_name.clone(),
            trust: config.trust.clone(),
            proxy_url: cluster.proxy_url.as_ref().map(|url| url.value.clone()),
            disable_compression: cluster
                .disable_compression
                .as_ref()
                .is_some_and(|flag| flag.value),
            config: cluster.exec_config.clone(),
        }),
    })
}

fn api_version(exec: &Exec, path: &str, problems: &mut Problems) -> Option<ApiVersion> {
    let Some(version) = &exec.api_version else {
        problems.push(exec.place.problem(&format!("{path}.apiVersion"), "is missing"));
        return None;
    };
    let known = [ApiVersion::V1, ApiVersion::V1Beta1];
    let found = known.into_iter().find(|known| known.as_str() == version.value);
    if found.is_none() {
        let [v1, v1beta1] = known.map(ApiVersion::as_str);
        let why = if version.value.ends_with("/v1alpha1") {
            format!("v1alpha1 was removed; ask the plugin's makers for one that speaks {v1}")
        } else {
            format!("must be {v1} or {v1beta1}")
        };
        problems.push(version.problem_in(path, "apiVersion", why));
    }
    found
}

fn interactive_mode(
    exec: &Exec,
    version: ApiVersion,
    path: &str,
    problems: &mut Problems,
) -> Option<InteractiveMode> {
    const VALUES: &str = "must be Never, IfAvailable or Always";
    let Some(mode) = &exec.interactive_mode else {
        if version == ApiVersion::V1Beta1 {
            return Some(InteractiveMode::IfAvailable);
        }
        let why = format!("is missing; it {VALUES}");
        problems.push(exec.place.problem(&format!("{path}.interactiveMode"), why));
        return None;
    };
    match mode.value.as_str() {
        "Never" => Some(InteractiveMode::Never),
        "IfAvailable" => Some(InteractiveMode::IfAvailable),
        "Always" => Some(InteractiveMode::Always),
        _ => {
            problems.push(mode.problem_in(path, "interactiveMode", VALUES));
            None
        }
    }
}

/// What to use instead of a provider that Kubernetes has removed.
fn instead_of(provider: &str) -> String {
    let (name, instead) = match provider {
        "gcp" => ("gcp", "gke-gcloud-auth-plugin"),
        "azure" => ("azure", "kubelogin (github.com/Azure/kubelogin)"),
        "oidc" => ("oidc", "kubectl oidc-login (github.com/int128/kubelogin)"),
        "openstack" => ("openstack", "client-keystone-auth"),
        other => (other, "one that your provider offers"),
    };
    format!("{name:?} is not supported; use an exec plugin instead: {instead}")
}
