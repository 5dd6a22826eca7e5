//! From a kubeconfig and a context to a configuration that can be used.
//!
//! Only what the chosen context refers to is checked, and all of that, so that one error has
//! everything there is to mend.

use super::{
    Config, Credentials, Proxy, Trust,
    kubeconfig::{Cluster, Context, Kubeconfig, Located, Text, find},
    loader::Overrides,
    material::Material,
    pem,
    problems::Problems,
    url::{ProxyUrl, ServerUrl},
    user,
};
use crate::error::{ConfigError, ConfigErrorKind};

/// Makes a configuration of the chosen context, or the current one.
///
/// `fallback_namespace` is meant where neither the context nor the overrides name one.
pub(super) fn resolve(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
    fallback_namespace: Option<String>,
) -> Result<Config, ConfigError> {
    let mut problems = Problems::default();
    let (context_name, context) = choose_context(kubeconfig, overrides)?;
    let in_context = |key: &str| format!("contexts[{context_name}].{key}");

    let cluster_name = named(&overrides.cluster_name, &context.cluster);
    let file_cluster = cluster_name.as_ref().and_then(|name| {
        let found = find(&kubeconfig.clusters, &name.value);
        if found.is_none() {
            let field = if name.is_given() { "cluster".into() } else { in_context("cluster") };
            problems.push(name.problem(&field, missing("cluster", &name.value)));
        }
        found
    });
    let cluster = overrides.cluster.over(file_cluster.cloned().unwrap_or_default());
    if cluster_name.is_none() && cluster.server.is_none() {
        return Err(no_cluster(kubeconfig, &context_name, &context));
    }

    let user_name = named(&overrides.user_name, &context.user);
    let file_user = user_name.as_ref().and_then(|name| {
        let found = find(&kubeconfig.users, &name.value);
        if found.is_none() {
            let field = if name.is_given() { "user".into() } else { in_context("user") };
            problems.push(name.problem(&field, missing("user", &name.value)));
        }
        found
    });
    let user = overrides.user.over(file_user.cloned().unwrap_or_default());

    // A cluster that does not exist is one problem, not a second one for its missing server.
    let known = cluster_name.is_none() || file_cluster.is_some();
    let cluster_path = owner("clusters", cluster_name.as_ref());
    let server = server(&cluster, &cluster_path, known, &mut problems);
    let mut config = Config {
        trust: trust(&cluster, &cluster_path, &mut problems),
        tls_server_name: tls_server_name(&cluster, &cluster_path, &mut problems),
        proxy: proxy(&cluster, &cluster_path, &mut problems),
        ..Config::new(server)
    };
    if let Some(disabled) = &cluster.disable_compression {
        config.compression = !disabled.value;
    }
    if let Some(name) = &cluster_name {
        config.cluster.clone_from(&name.value);
    }
    if let Some(namespace) = overrides
        .namespace
        .clone()
        .or_else(|| context.namespace.as_ref().map(|namespace| namespace.value.clone()))
        .or(fallback_namespace)
    {
        config.default_namespace = namespace;
    }
    let user_path = owner("users", user_name.as_ref());
    user::apply(&user, &user_path, &cluster, &overrides.plugins, &mut config, &mut problems);
    let config = problems.finish(config)?;
    Ok(without_credentials_in_the_clear(config, &cluster_path, &user_path))
}

/// Finds the context; without any, an empty one is meant, which overrides may fill.
fn choose_context(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
) -> Result<(String, Context), ConfigError> {
    let Some(name) = named(&overrides.context, &kubeconfig.current_context) else {
        return Ok((String::new(), Context::default()));
    };
    let field = if name.is_given() { "context" } else { "current-context" };
    match find(&kubeconfig.contexts, &name.value) {
        Some(context) => Ok((name.value, context.clone())),
        None => {
            let mut known: Vec<_> =
                kubeconfig.contexts.iter().map(|(name, _)| name.as_str()).collect();
            known.sort_unstable();
            let known = match known.as_slice() {
                [] => "there is none".to_owned(),
                known => format!("there is {}", known.join(", ")),
            };
            let message = format!("{}; {known}", missing("context", &name.value));
            Err(name.problem(field, message).with_kind(ConfigErrorKind::ContextNotFound))
        }
    }
}

/// The name an override gives, or else the file.
fn named(given: &Option<String>, file: &Option<Text>) -> Option<Text> {
    given.clone().map(Located::given).or_else(|| file.clone())
}

fn missing(what: &str, name: &str) -> String {
    format!("the {what} {name:?} does not exist")
}

/// The path of an entry, or nothing if there are only overrides.
fn owner(list: &str, name: Option<&Text>) -> String {
    name.map(|name| format!("{list}[{}]", name.value)).unwrap_or_default()
}

fn no_cluster(kubeconfig: &Kubeconfig, context_name: &str, context: &Context) -> ConfigError {
    let error = if !context_name.is_empty() {
        context.place.problem(&format!("contexts[{context_name}].cluster"), "is missing")
    } else if kubeconfig.is_empty() {
        ConfigError::new("", "is empty: no cluster, user or context")
    } else {
        ConfigError::new("current-context", "is missing, and no context was chosen")
    };
    error.with_kind(ConfigErrorKind::Empty)
}

fn server(cluster: &Cluster, path: &str, known: bool, problems: &mut Problems) -> ServerUrl {
    let parsed = match &cluster.server {
        Some(server) => ServerUrl::parse(&server.value)
            .map_err(|why| problems.push(server.problem_in(path, "server", why))),
        None => {
            if known {
                problems.push(cluster.place.problem(&format!("{path}.server"), "is missing"));
            }
            Err(())
        }
    };
    // Stands in for one that cannot be used; there is a problem in that case.
    parsed.unwrap_or_else(|()| ServerUrl {
        https: true,
        host: String::new(),
        port: 443,
        prefix: String::new(),
    })
}

fn trust(cluster: &Cluster, path: &str, problems: &mut Problems) -> Trust {
    const KEY: &str = "certificate-authority";
    let Cluster { certificate_authority: file, certificate_authority_data: data, .. } = cluster;
    if let Some(insecure) = cluster.insecure_skip_tls_verify.as_ref().filter(|flag| flag.value) {
        const INSECURE: &str = "insecure-skip-tls-verify";
        if file.is_some() || data.is_some() {
            let why = format!("contradicts {KEY}, which is set too");
            problems.push(insecure.problem_in(path, INSECURE, why));
        }
        log::warn!("{path}: {INSECURE}: the server's certificate is not verified");
        return Trust::Insecure;
    }
    let Some(authorities) = Material::load(path, KEY, file.as_ref(), data.as_ref(), problems)
    else {
        return Trust::System;
    };
    if let Err(why) = pem::check_authorities(&authorities.bytes) {
        problems.push(authorities.problem(&why));
    }
    match authorities.path() {
        Some(path) => Trust::File(path.to_owned()),
        None => Trust::Pem(authorities.bytes.into()),
    }
}

fn tls_server_name(cluster: &Cluster, path: &str, problems: &mut Problems) -> Option<String> {
    let name = cluster.tls_server_name.as_ref()?;
    if let Err(why) = pem::check_server_name(&name.value) {
        problems.push(name.problem_in(path, "tls-server-name", why));
    }
    Some(name.value.clone())
}

fn proxy(cluster: &Cluster, path: &str, problems: &mut Problems) -> Proxy {
    let Some(url) = &cluster.proxy_url else { return Proxy::FromEnvironment };
    match ProxyUrl::parse(&url.value) {
        Ok(url) => Proxy::Url(url),
        Err(why) => {
            problems.push(url.problem_in(path, "proxy-url", why));
            Proxy::FromEnvironment
        }
    }
}

/// Over plain HTTP nobody is who they say they are, so nothing secret is sent, as kubectl does.
fn without_credentials_in_the_clear(mut config: Config, cluster: &str, user: &str) -> Config {
    if config.server.https {
        return config;
    }
    let dropped = match &config.credentials {
        Credentials::Anonymous => None,
        Credentials::Basic { .. } => Some("username"),
        Credentials::Token(_) => Some("token"),
        Credentials::TokenFile { .. } => Some("tokenFile"),
        Credentials::Exec(_) => Some("exec"),
    };
    for field in
        dropped.into_iter().chain(config.identity.is_some().then_some("client-certificate"))
    {
        log::warn!("{user}.{field} is not used: {cluster}.server is not https");
    }
    config.credentials = Credentials::Anonymous;
    config.identity = None;
    config.trust = Trust::System;
    config.tls_server_name = None;
    config
}
