//! Loading, from where and in which order; the table of bad files is in `tests/config.rs`.

use std::{env, path::Path};

use super::{
    environment::Environment,
    exec::{ApiVersion, InteractiveMode},
    scratch::{Scratch, certificate},
    *,
};
use crate::error::ConfigError;

/// A kubeconfig with one context, whose names all are `name`.
fn kubeconfig(name: &str, cluster: &str, user: &str) -> String {
    format!(
        "clusters:\n- name: {name}\n  cluster: {{server: 'https://{name}.example', {cluster}}}\n\
         users:\n- name: {name}\n  user: {{{user}}}\n\
         contexts:\n- name: {name}\n  context: {{cluster: {name}, user: {name}}}\n\
         current-context: {name}\n"
    )
}

fn nowhere() -> Environment {
    Environment::default()
}

/// The environment of a pod.
fn pod(scratch: &Scratch) -> Environment {
    scratch.write("sa/token", "pod-token\n");
    scratch.write("sa/ca.crt", certificate().0);
    scratch.write("sa/namespace", "pod-namespace\n");
    Environment {
        service_host: Some("10.0.0.1".into()),
        service_port: Some("443".into()),
        service_account: scratch.path("sa"),
        ..nowhere()
    }
}

fn with_kubeconfig(environment: Environment, files: &[&Path]) -> Environment {
    Environment { kubeconfig: Some(env::join_paths(files).unwrap()), ..environment }
}

fn error(loader: &Loader, environment: &Environment) -> ConfigError {
    loader.load_from(environment).unwrap_err()
}

fn load_str(text: &str) -> Config {
    Config::from_kubeconfig_str(text, None).unwrap_or_else(|error| panic!("{error}"))
}

fn token(config: &Config) -> Option<&str> {
    match &config.credentials {
        Credentials::Token(token) => Some(token.expose()),
        Credentials::TokenFile { initial, .. } => initial.as_ref().map(Secret::expose),
        _ => None,
    }
}

#[test]
fn the_order_is_explicit_path_then_kubeconfig_then_cluster_then_home() {
    let scratch = Scratch::new();
    let explicit = scratch.write("explicit", kubeconfig("explicit", "", ""));
    let listed = scratch.write("listed", kubeconfig("listed", "", ""));
    scratch.write("home/.kube/config", kubeconfig("home", "", ""));
    let home = Environment { home: Some(scratch.path("home")), ..nowhere() };
    let pod = Environment { home: Some(scratch.path("home")), ..pod(&scratch) };
    let all = with_kubeconfig(pod.clone(), &[&listed]);

    let found = |loader: &Loader, environment: &Environment| {
        loader.load_from(environment).unwrap().cluster().to_owned()
    };
    let loader = Config::loader();
    assert_eq!(found(&loader.clone().path(&explicit), &all), "explicit");
    assert_eq!(found(&loader, &all), "listed");
    assert_eq!(found(&loader, &pod), "in-cluster");
    assert_eq!(found(&loader, &home), "home");
    assert_eq!(found(&loader.clone().kubeconfig_only(), &pod), "home");
    assert_eq!(found(&loader.context("home"), &pod), "home", "a named context is in a file");
}

#[test]
fn nothing_anywhere_is_an_error_that_says_where_it_looked() {
    let scratch = Scratch::new();
    let environment = Environment { home: Some(scratch.path("home")), ..nowhere() };
    let error = error(&Config::loader(), &environment);
    assert!(error.is_empty());
    let text = error.to_string();
    assert!(text.contains("KUBECONFIG is not set, this is not a pod"), "{text}");
    assert!(text.contains("home/.kube/config does not exist"), "{text}");
}

#[test]
fn kubeconfig_files_that_do_not_exist_leave_the_cluster_and_never_the_home_file() {
    let scratch = Scratch::new();
    scratch.write("home/.kube/config", kubeconfig("home", "", ""));
    let missing = scratch.path("missing");
    let home = Environment { home: Some(scratch.path("home")), ..nowhere() };
    let error = error(&Config::loader(), &with_kubeconfig(home, &[&missing]));
    assert!(error.is_empty());
    let text = error.to_string();
    assert_eq!(text, format!("KUBECONFIG: {} does not exist", missing.display()));
    let empty = scratch.write("empty", "# nothing\n");
    let text = self::error(&Config::loader(), &with_kubeconfig(nowhere(), &[&empty, &missing]));
    let (empty, missing_too) = (empty.display(), missing.display());
    let expected = format!("KUBECONFIG: there is nothing in {empty}, {missing_too} does not exist");
    assert_eq!(text.to_string(), expected);

    let in_pod = with_kubeconfig(pod(&scratch), &[&missing]);
    assert_eq!(Config::loader().load_from(&in_pod).unwrap().cluster(), "in-cluster");
    let empty = scratch.write("empty", "# nothing\n");
    let in_pod = with_kubeconfig(pod(&scratch), &[&empty]);
    assert_eq!(Config::loader().load_from(&in_pod).unwrap().cluster(), "in-cluster");

    let broken = scratch.write("broken", kubeconfig("a", "", "").replace("https", "ftp"));
    let in_pod = with_kubeconfig(pod(&scratch), &[&broken]);
    let text = Config::loader().load_from(&in_pod).unwrap_err().to_string();
    assert!(text.contains("clusters[a].server"), "a broken file is no reason to go on: {text}");
}

#[test]
fn an_explicit_file_must_exist_and_is_never_merged() {
    let scratch = Scratch::new();
    let listed = scratch.write("listed", kubeconfig("listed", "", ""));
    let environment = with_kubeconfig(nowhere(), &[&listed]);
    let text = error(&Config::loader().path(scratch.path("none")), &environment).to_string();
    assert!(text.ends_with("/none: no such file"), "{text}");

    let explicit = scratch.write("explicit", kubeconfig("explicit", "", ""));
    let error = error(&Config::loader().path(&explicit).context("listed"), &environment);
    assert!(error.is_context_not_found());
    let text = error.to_string();
    assert!(
        text.ends_with(
            "explicit: context: the context \"listed\" does not exist; there is explicit"
        ),
        "{text}"
    );
}

#[test]
fn several_files_are_merged_and_the_first_that_names_an_entry_defines_it_whole() {
    let scratch = Scratch::new();
    let first = scratch.write(
        "first",
        "clusters: [{name: c, cluster: {server: 'https://first', tls-server-name: first}}]\n\
         users: [{name: u, user: {token: first}}]\n",
    );
    let second = scratch.write(
        "second",
        "current-context: second\n\
         clusters: [{name: c, cluster: {server: 'https://second', proxy-url: 'http://p'}}]\n\
         contexts: [{name: second, context: {cluster: c, user: u}}]\n",
    );
    let third = scratch.write(
        "third",
        "current-context: third\n\
         users: [{name: u, user: {as: third}}, {name: other, user: {token: third}}]\n\
         contexts: [{name: second, context: {cluster: none}},\n\
         {name: third, context: {cluster: c, user: other}}]\n",
    );
    let missing = scratch.path("missing");
    let environment = with_kubeconfig(nowhere(), &[&first, &missing, &second, &third]);
    let config = Config::loader().load_from(&environment).unwrap();
    assert_eq!(config.server(), "https://first");
    assert_eq!(config.tls_server_name.as_deref(), Some("first"));
    assert!(matches!(config.proxy, Proxy::FromEnvironment), "entries are not mixed");
    assert_eq!(token(&config), Some("first"));
    assert!(config.impersonate.is_none());

    let config = Config::loader().context("third").load_from(&environment).unwrap();
    assert_eq!(token(&config), Some("third"));
}

#[test]
fn what_is_wrong_with_several_files_is_said_of_all_of_them() {
    let scratch = Scratch::new();
    let garbage = scratch.write("garbage", "a: b: c");
    let directory = scratch.path("");
    let good = scratch.write("good", kubeconfig("good", "", ""));
    let environment = with_kubeconfig(nowhere(), &[&garbage, &good, &directory]);
    let text = error(&Config::loader(), &environment).to_string();
    assert!(text.contains("garbage: not YAML: line 1: "), "{text}");
    assert!(text.contains("cannot be read: Is a directory"), "{text}");
}

#[test]
fn relative_paths_are_relative_to_the_file_that_has_them() {
    let scratch = Scratch::new();
    let (certificate, key) = certificate();
    scratch.write("pki/ca.pem", &certificate);
    scratch.write("conf/client.pem", &certificate);
    scratch.write("conf/client.key", key);
    scratch.write("conf/token", "file-token\n");
    let file = scratch.write(
        "conf/config",
        kubeconfig(
            "a",
            "certificate-authority: ../pki/ca.pem",
            "client-certificate: client.pem, client-key: ./client.key, tokenFile: token",
        ),
    );
    let config = Config::from_kubeconfig_file(&file, None).unwrap();
    let Trust::File(path) = &config.trust else { panic!("{config:?}") };
    assert_eq!(*path, scratch.path("conf/../pki/ca.pem"));
    let Some(Identity::Files { certificate, .. }) = &config.identity else { panic!() };
    assert_eq!(*certificate, scratch.path("conf/client.pem"));
    let Credentials::TokenFile { path, initial } = &config.credentials else { panic!() };
    assert_eq!(*path, scratch.path("conf/token"));
    assert_eq!(initial.as_ref().map(Secret::expose), Some("file-token"));

    for (command, resolved) in
        [("./bin/plugin", scratch.path("conf/./bin/plugin")), ("plugin", "plugin".into())]
    {
        let exec = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, \
             command: {command}}}"
        );
        let file = scratch.write("conf/exec", kubeconfig("a", "", &exec));
        let config = Config::from_kubeconfig_file(&file, None).unwrap();
        let Credentials::Exec(plugin) = &config.credentials else { panic!() };
        assert_eq!(plugin.command, resolved);
    }
}

#[test]
fn utf16_and_json_files_are_read() {
    let scratch = Scratch::new();
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend(kubeconfig("wide", "", "").encode_utf16().flat_map(u16::to_le_bytes));
    let wide = scratch.write("wide", utf16);
    assert_eq!(Config::from_kubeconfig_file(wide, None).unwrap().cluster(), "wide");

    let json = r#"{"apiVersion": "v1", "kind": "Config", "preferences": {}, "unknown": [1],
        "clusters": [{"name": "j", "cluster": {"server": "https://j", "unknown": 1}}],
        "contexts": [{"name": "j", "context": {"cluster": "j", "extensions": []}}],
        "users": null, "current-context": "j"}"#;
    assert_eq!(load_str(json).server(), "https://j");
}

#[test]
fn the_pods_service_account_is_used_in_a_cluster() {
    let scratch = Scratch::new();
    let config = in_cluster::load(&pod(&scratch)).unwrap();
    assert_eq!(config.server(), "https://10.0.0.1");
    assert_eq!(config.default_namespace(), "pod-namespace");
    assert!(!config.compression);
    assert!(matches!(&config.trust, Trust::File(path) if *path == scratch.path("sa/ca.crt")));
    assert_eq!(token(&config), Some("pod-token"));
    assert!(matches!(config.credentials, Credentials::TokenFile { .. }), "it is read again");
}

#[test]
fn an_ipv6_service_host_gets_brackets() {
    let scratch = Scratch::new();
    let environment = Environment {
        service_host: Some("fd00::1".into()),
        service_port: Some("6443".into()),
        ..pod(&scratch)
    };
    let config = in_cluster::load(&environment).unwrap();
    assert_eq!(config.server(), "https://[fd00::1]:6443");
    assert_eq!(config.server.host, "fd00::1");
}

#[test]
fn outside_a_cluster_is_an_error_of_its_own() {
    let scratch = Scratch::new();
    assert!(in_cluster::load(&nowhere()).unwrap_err().is_not_in_cluster());
    let no_port = Environment { service_port: None, ..pod(&scratch) };
    assert!(in_cluster::load(&no_port).unwrap_err().is_not_in_cluster());

    let environment = pod(&scratch);
    scratch.write("sa/token", " \n");
    let text = in_cluster::load(&environment).unwrap_err().to_string();
    assert!(text.contains("sa/token: is empty"), "{text}");
    std::fs::remove_file(scratch.path("sa/token")).unwrap();
    let error = in_cluster::load(&environment).unwrap_err();
    assert!(error.to_string().contains("sa/token: cannot be read") && !error.is_not_in_cluster());
    assert!(!environment.is_in_cluster());
}

#[test]
fn a_bad_service_account_authority_leaves_the_systems() {
    let scratch = Scratch::new();
    let environment = pod(&scratch);
    scratch.write("sa/ca.crt", "not a certificate");
    assert!(matches!(in_cluster::load(&environment).unwrap().trust, Trust::System));
}

#[test]
fn the_namespace_is_the_chosen_one_then_the_contexts_then_the_pods_then_default() {
    let scratch = Scratch::new();
    let silent = scratch.write("silent", kubeconfig("a", "", ""));
    let named = kubeconfig("a", "", "").replace("user: a}", "user: a, namespace: default}");
    let named = scratch.write("named", named);
    let pod = pod(&scratch);
    let variable = Environment { pod_namespace: Some("variable".into()), ..pod.clone() };
    let namespace = |loader: Loader, environment: &Environment| {
        loader.load_from(environment).unwrap().default_namespace().to_owned()
    };
    let loader = || Config::loader().path(&silent);
    assert_eq!(namespace(loader().namespace("chosen"), &pod), "chosen");
    assert_eq!(namespace(Config::loader().path(&named), &pod), "default", "said, not assumed");
    assert_eq!(namespace(loader(), &pod), "pod-namespace");
    assert_eq!(namespace(loader(), &variable), "variable");
    assert_eq!(namespace(Config::loader(), &variable), "variable");
    assert_eq!(namespace(loader(), &nowhere()), "default");
}

#[test]
fn server_token_and_authority_can_be_overridden_one_by_one_in_a_cluster() {
    let scratch = Scratch::new();
    let pod = pod(&scratch);
    let load = |loader: Loader| loader.load_from(&pod).unwrap();
    let config = load(Config::loader().server("https://other"));
    assert_eq!((config.server().as_str(), token(&config)), ("https://other", Some("pod-token")));
    let config = load(Config::loader().token("mine"));
    assert!(matches!(&config.credentials, Credentials::Token(token) if token.expose() == "mine"));
    let file = scratch.write("token", "from-file");
    let config = load(Config::loader().token("mine").token_file(&file));
    assert!(matches!(&config.credentials, Credentials::TokenFile { path, .. } if *path == file));
    let authority = scratch.write("ca", certificate().0);
    let config = load(Config::loader().certificate_authority_file(&authority));
    assert!(matches!(&config.trust, Trust::File(path) if *path == authority));
    assert_eq!(load(Config::loader().namespace("n")).default_namespace(), "n");
}

#[test]
fn an_insecure_override_clears_the_files_authority_and_an_authority_the_data() {
    let scratch = Scratch::new();
    let (certificate, _) = certificate();
    let authority = scratch.write("ca", &certificate);
    let data = base64_of(&certificate);
    let text = kubeconfig("a", &format!("certificate-authority-data: {data}"), "");
    let load = |loader: Loader, text: &str| loader.load_str(text).unwrap().trust;
    assert!(matches!(load(Config::loader(), &text), Trust::Pem(_)));
    let insecure = Config::loader().insecure_skip_tls_verify();
    assert!(matches!(load(insecure, &text), Trust::Insecure));
    let file = Config::loader().certificate_authority_file(&authority);
    assert!(matches!(load(file.clone(), &text), Trust::File(_)));
    let insecure = kubeconfig("a", "insecure-skip-tls-verify: true", "");
    assert!(matches!(load(file, &insecure), Trust::File(_)));
}

#[test]
fn another_server_clears_the_files_tls_server_name() {
    let text = kubeconfig("a", "tls-server-name: file", "");
    let name = |loader: Loader| loader.load_str(&text).unwrap().tls_server_name;
    assert_eq!(name(Config::loader()).as_deref(), Some("file"));
    assert_eq!(name(Config::loader().tls_server_name("mine")).as_deref(), Some("mine"));
    assert_eq!(name(Config::loader().server("https://b")), None);
    let both = Config::loader().server("https://b").tls_server_name("mine");
    assert_eq!(name(both).as_deref(), Some("mine"));
}

#[test]
fn a_client_certificate_override_replaces_data_and_file() {
    let scratch = Scratch::new();
    let (certificate_pem, key_pem) = certificate();
    let (other, other_key) = certificate();
    let text = kubeconfig(
        "a",
        "",
        &format!(
            "client-certificate-data: {}, client-key-data: {}",
            base64_of(&certificate_pem),
            base64_of(&key_pem)
        ),
    );
    let (file, key_file) = (scratch.write("c", other), scratch.write("k", other_key));
    let loader = Config::loader().client_certificate_files(&file, &key_file);
    let config = loader.load_str(&text).unwrap();
    assert!(matches!(&config.identity, Some(Identity::Files { key, .. }) if *key == key_file));
    assert!(matches!(load_str(&text).identity, Some(Identity::Pem { .. })));
}

#[test]
fn overrides_reach_the_configuration_even_without_any_file() {
    let mut who = Impersonate::user("jane");
    who.groups.push("g".into());
    let config = Config::loader()
        .server("https://flag")
        .namespace("n")
        .token("t")
        .proxy_url("socks5://p")
        .disable_compression(true)
        .impersonate(who.clone())
        .load_from(&nowhere())
        .unwrap();
    assert_eq!((config.server().as_str(), config.default_namespace()), ("https://flag", "n"));
    assert_eq!(config.cluster(), "flag:443");
    assert_eq!(token(&config), Some("t"));
    assert!(matches!(&config.proxy, Proxy::Url(url) if url.scheme == ProxyScheme::Socks5));
    assert!(!config.compression);
    assert_eq!(config.impersonate, Some(who));

    let text = Config::loader().server("ftp://x").load_from(&nowhere()).unwrap_err().to_string();
    assert!(text.starts_with("server (override): the scheme"), "{text}");
}

#[test]
fn cluster_and_user_can_be_chosen_apart_from_the_context() {
    let text = kubeconfig("a", "", "token: a").replace(
        "users:\n",
        "- {name: b, cluster: {server: 'https://b'}}\nusers:\n- {name: b, user: {token: b}}\n",
    );
    let load = |loader: Loader| {
        let config = loader.load_str(&text).unwrap();
        (config.server(), token(&config).unwrap().to_owned())
    };
    assert_eq!(load(Config::loader().cluster("b")), ("https://b".into(), "a".into()));
    assert_eq!(load(Config::loader().user("b")), ("https://a.example".into(), "b".into()));
    for loader in [Config::loader().cluster("z"), Config::loader().user("z")] {
        assert!(loader.load_str(&text).unwrap_err().to_string().contains("\"z\" does not exist"));
    }
}

#[test]
fn every_field_of_a_cluster_and_a_user_arrives() {
    let (certificate, key) = certificate();
    let text = kubeconfig(
        "a",
        &format!(
            "tls-server-name: 10.1.2.3, proxy-url: 'http://u:p@proxy:3128', \
             disable-compression: true, certificate-authority-data: {}",
            base64_of(&certificate)
        ),
        &format!(
            "client-certificate-data: {}, client-key-data: {}, username: me, password: 0123, \
             as: jane, as-uid: 7, as-groups: [x, y], as-user-extra: {{k: [v, w], e: []}}",
            base64_of(&certificate),
            base64_of(&key)
        ),
    );
    let config = load_str(&text);
    assert_eq!(config.tls_server_name.as_deref(), Some("10.1.2.3"));
    assert!(matches!(&config.proxy, Proxy::Url(url) if url.username.as_deref() == Some("u")));
    assert!(!config.compression);
    assert!(matches!(&config.trust, Trust::Pem(pem) if **pem == *certificate.as_bytes()));
    let Some(Identity::Pem { key: found, .. }) = &config.identity else { panic!() };
    assert_eq!(found.expose(), key);
    let Credentials::Basic { username, password } = &config.credentials else { panic!() };
    assert_eq!((username.as_str(), password.expose()), ("me", "0123"));
    let who = config.impersonate.as_ref().unwrap();
    assert_eq!((who.user.as_str(), who.uid.as_deref()), ("jane", Some("7")));
    assert_eq!(who.groups, ["x", "y"]);
    assert_eq!(who.extra["k"], ["v", "w"]);
    assert!(who.extra["e"].is_empty());

    let plain = load_str(&kubeconfig("a", "", ""));
    assert!(plain.compression && plain.identity.is_none() && plain.impersonate.is_none());
    assert!(matches!(plain.trust, Trust::System));
    assert!(matches!(plain.credentials, Credentials::Anonymous));
}

#[test]
fn a_certificate_inline_and_its_key_in_a_file_are_one_identity() {
    let scratch = Scratch::new();
    let (certificate, key) = certificate();
    let file = scratch.write("key", &key);
    let user = format!(
        "client-certificate-data: {}, client-key: {}",
        base64_of(&certificate),
        file.display()
    );
    let config = load_str(&kubeconfig("a", "", &user));
    assert!(
        matches!(&config.identity, Some(Identity::Pem { key: found, .. }) if found.expose() == key)
    );
}

#[test]
fn an_inline_token_serves_until_the_token_file_has_been_read() {
    let scratch = Scratch::new();
    let file = scratch.write("token", " from-file\n");
    let user = format!("tokenFile: {}", file.display());
    assert_eq!(token(&load_str(&kubeconfig("a", "", &user))), Some("from-file"));
    let config = load_str(&kubeconfig("a", "", &format!("{user}, token: inline")));
    assert_eq!(token(&config), Some("inline"));
    assert!(matches!(&config.credentials, Credentials::TokenFile { path, .. } if *path == file));
    let config = load_str(&kubeconfig("a", "", "token: 12345"));
    assert_eq!(token(&config), Some("12345"), "any scalar is text");
}

#[test]
fn over_http_only_impersonation_proxy_and_compression_survive() {
    let scratch = Scratch::new();
    let (certificate_pem, key) = certificate();
    let (certificate_file, key) = (scratch.write("c", certificate_pem), scratch.write("k", key));
    let text = kubeconfig(
        "a",
        "insecure-skip-tls-verify: true, proxy-url: 'http://p', disable-compression: true, \
         tls-server-name: n",
        &format!(
            "token: t, as: jane, as-groups: [g], as-user-extra: {{k: [v]}}, \
             client-certificate: {}, client-key: {}",
            certificate_file.display(),
            key.display()
        ),
    );
    let config = load_str(&text.replace("https:", "http:"));
    assert!(matches!(config.credentials, Credentials::Anonymous));
    assert!(config.identity.is_none() && config.tls_server_name.is_none());
    assert!(matches!(config.trust, Trust::System));
    assert!(matches!(config.proxy, Proxy::Url(_)) && !config.compression);
    let who = config.impersonate.unwrap();
    assert_eq!((who.user.as_str(), who.groups.len(), who.extra.len()), ("jane", 1, 1));
}

#[test]
fn an_exec_plugin_is_read_with_the_clusters_settings_for_it() {
    let text = kubeconfig(
        "a",
        "proxy-url: 'http://p', extensions: [{name: other, extension: 1}, \
         {name: client.authentication.k8s.io/exec, extension: {audience: x, size: 017}}]",
        "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plugin, \
         args: [get, 7], env: [{name: A, value: b}, {name: EMPTY, value: ''}], \
         installHint: \"get\\e[1m it\", provideClusterInfo: true}",
    );
    let config = load_str(&text);
    let Credentials::Exec(plugin) = &config.credentials else { panic!("{config:?}") };
    assert_eq!(
        (plugin.api_version, plugin.interactive),
        (ApiVersion::V1Beta1, InteractiveMode::IfAvailable)
    );
    assert_eq!(plugin.args, ["get", "7"]);
    assert_eq!(plugin.env, [("A".into(), "b".into()), ("EMPTY".into(), String::new())]);
    assert_eq!(plugin.install_hint.as_deref(), Some("getU+001B[1m it"));
    assert_eq!(plugin.field, "users[a].exec");
    let cluster = plugin.cluster.as_ref().unwrap();
    assert_eq!(cluster.server, "https://a.example");
    assert_eq!(cluster.proxy_url.as_deref(), Some("http://p"));
    assert_eq!(cluster.config, Some(serde_json::json!({"audience": "x", "size": 15})));

    let without = text.replace(", provideClusterInfo: true", "");
    let config = load_str(&without);
    assert!(matches!(&config.credentials, Credentials::Exec(plugin) if plugin.cluster.is_none()));
}

#[test]
fn a_plugin_is_not_used_beside_anything_static() {
    let scratch = Scratch::new();
    let (certificate_pem, key) = certificate();
    let (certificate_file, key) = (scratch.write("c", certificate_pem), scratch.write("k", key));
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, \
                command: plugin}";
    let certificates = format!(
        "client-certificate: {}, client-key: {}",
        certificate_file.display(),
        key.display()
    );
    for other in ["token: t", "username: u, password: p", &certificates] {
        let config = load_str(&kubeconfig("a", "", &format!("{exec}, {other}")));
        assert!(!matches!(config.credentials, Credentials::Exec(_)), "{other}");
    }
}

#[test]
fn only_the_chosen_context_is_checked() {
    let text = kubeconfig("a", "", "token: t").replace(
        "contexts:\n",
        "- name: bad\n  user: {token: t, username: u, tokenFile: /none}\n\
         contexts:\n- name: bad\n  context: {cluster: none, user: bad}\n",
    );
    assert_eq!(load_str(&text).cluster(), "a");
    let error = Config::from_kubeconfig_str(&text, Some("bad")).unwrap_err().to_string();
    assert!(error.contains("contexts[bad].cluster") && error.contains("users[bad]"), "{error}");
}

#[test]
fn debug_shows_everything_but_credentials() {
    let (certificate, key) = certificate();
    let text = kubeconfig(
        "a",
        "proxy-url: 'http://u:s3same@p'",
        &format!(
            "token: s3same, as: jane, client-certificate-data: {}, client-key-data: {}",
            base64_of(&certificate),
            base64_of(&key)
        ),
    );
    let basic = kubeconfig("a", "", "username: u, password: s3same");
    let exec = kubeconfig(
        "a",
        "",
        "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, \
         command: plugin, args: [s3same], env: [{name: A, value: s3same}]}",
    );
    for text in [text, basic, exec] {
        let config = load_str(&text);
        let shown = format!("{config:?} {config:#?} {:?}", config.to_builder());
        assert!(shown.contains("a.example"), "{shown}");
        assert!(!shown.contains("s3same") && !shown.contains("PRIVATE"), "{shown}");
        assert!(!shown.contains("45, 45, 45"), "PEM as numbers: {shown}");
    }
    let loader = Config::loader().token("s3same").basic_auth("u", "s3same");
    assert!(!format!("{loader:?}").contains("s3same"));
}

#[test]
fn the_user_agent_names_the_program_and_is_never_one_that_servers_indent_for() {
    let platform = format!("({}/{})", std::env::consts::OS, std::env::consts::ARCH);
    let library = format!("kinformer/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(user_agent_of("my prog\n"), format!("my_prog_ {platform} {library}"));
    assert_eq!(user_agent_of("curl-like"), format!("{library} {platform} curl-like"));
    assert_eq!(user_agent_of(""), format!("{library} {platform}"));
    assert!(!default_user_agent().is_empty());
}

fn base64_of(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}
