//! Configuration through the public API: every bad kubeconfig is an error that names file and
//! field, and none repeats a secret.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use kinformer::{
    Error,
    config::{Config, Impersonate, PluginPolicy, Timeouts},
};
use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};

/// Stands in every field that holds a credential; no output may have it.
const SECRET: &str = "s3same-0pen";

const EXEC_V1: &str = "apiVersion: client.authentication.k8s.io/v1";

/// A directory of one test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn certificate() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// A good kubeconfig, with these fields in its cluster and its user.
fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
         contexts:\n- name: x\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster: {{server: 'https://example.com'{cluster}}}\n\
         users:\n- name: u\n  user: {{{user}}}\n"
    )
}

fn cluster(fields: &str) -> String {
    kubeconfig(&format!(", {fields}"), &format!("token: {SECRET}"))
}

fn user(fields: &str) -> String {
    kubeconfig("", fields)
}

fn exec(fields: &str) -> String {
    user(&format!("exec: {{args: [{SECRET}], env: [{{name: A, value: {SECRET}}}], {fields}}}"))
}

fn replaced(from: &str, to: &str) -> String {
    let good = user(&format!("token: {SECRET}"));
    assert!(good.contains(from), "{from}");
    good.replace(from, to)
}

/// Contents of a file with what its error must say.
type Row = (Vec<u8>, Vec<&'static str>);

fn row(content: impl Into<Vec<u8>>, fragments: &[&'static str]) -> Row {
    (content.into(), fragments.to_vec())
}

fn files_that_are_no_kubeconfig() -> Vec<Row> {
    let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let noise: Vec<u8> =
        (0..10_000_000_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let text_noise: Vec<u8> = noise.iter().take(2_000_000).map(|byte| 32 + byte % 95).collect();
    vec![
        row("", &["is empty"]),
        row("# a comment\n", &["is empty"]),
        row("---\n---\n", &["is empty"]),
        row("{}", &["is empty"]),
        row("just text", &["must be a mapping"]),
        row("- a\n- b\n", &["must be a mapping, and is a list"]),
        row("a: b: c", &["not YAML: line 1"]),
        row("clusters:\n- {name: 'c\n", &["not YAML: line "]),
        row("a: 1\nb: [1, 2\n", &["not YAML: line "]),
        row("users: *nobody", &["not YAML: line 1"]),
        row("a: &a [*a]", &["not YAML: line 1"]),
        row("[".repeat(1000), &["not YAML: line 1"]),
        row("? ".repeat(1000), &["not YAML: line 1", "deep"]),
        row(bomb, &["not YAML: line ", "aliases expand to too much"]),
        row(noise, &["larger than 3 MiB"]),
        row(text_noise, &["line 1: must be a mapping"]),
        row(b"a\n\xff\x80", &["line 2: not text"]),
        row(b"\xff\xfe\x00\xd8", &["broken UTF-16"]),
        row([0; 100], &["not YAML: line 1"]),
        row(replaced("kind: Config", "kind: Config\nkind: Config"), &["\"kind\" is there twice"]),
    ]
}

fn files_with_a_bad_structure() -> Vec<Row> {
    vec![
        row(replaced("apiVersion: v1", "apiVersion: v2"), &["apiVersion: line 1: must be v1"]),
        row(replaced("kind: Config", "kind: Pod"), &["kind: line 2: must be Config"]),
        row(
            replaced("current-context: x", "current-context: y"),
            &["current-context: line 3: the context \"y\" does not exist; there is x"],
        ),
        row(replaced("current-context: x", ""), &["current-context: is missing"]),
        row(
            replaced("current-context: x", "current-context: [x]"),
            &["current-context: line 3: must be a string, and is a list"],
        ),
        row(
            replaced("contexts:\n- name", "contexts:\n  name"),
            &["contexts: line 5: must be a list, and is a mapping"],
        ),
        row(
            replaced("clusters:\n", "clusters:\n- c\n"),
            &["clusters[0]: line 8: must be a mapping, and is a single value"],
        ),
        row(replaced("- name: u\n ", "-"), &["users[0].name: line 11: is missing"]),
        row(
            replaced("users:\n", "users:\n- {name: u, user: {}}\n"),
            &["users[u]: line 12: this name is there twice"],
        ),
        row(
            replaced("clusters:\n", "clusters:\n- {name: c, cluster: {}}\n"),
            &["clusters[c]: line 9: this name is there twice"],
        ),
        row(
            replaced("contexts:\n", "contexts:\n- {name: x, context: {}}\n"),
            &["contexts[x]: line 6: this name is there twice"],
        ),
        row(
            format!("{}extensions: [{{name: e}}, {{name: e}}]\n", user("")),
            &["extensions[e]: line 13: this name is there twice"],
        ),
        row(replaced("cluster: c, user: u", "user: u"), &["contexts[x].cluster: ", "is missing"]),
        row(
            replaced("cluster: c,", "cluster: d,"),
            &["contexts[x].cluster: line 6: the cluster \"d\" does not exist"],
        ),
        row(
            replaced("user: u}", "user: v}"),
            &["contexts[x].user: line 6: the user \"v\" does not exist"],
        ),
        row(
            replaced("cluster: c, user: u", "cluster: d, user: v"),
            &["contexts[x].cluster: line 6", "contexts[x].user: line 6"],
        ),
        row(
            replaced("{cluster: c, user: u}", "x"),
            &["contexts[x].context: line 6: must be a mapping"],
        ),
        row(
            replaced("user: u}", "user: u, namespace: {a: b}}"),
            &["contexts[x].namespace: line 6: must be a string, and is a mapping"],
        ),
    ]
}

fn files_with_a_bad_cluster() -> Vec<Row> {
    let (certificate, _) = certificate();
    let data = |pem: &str| cluster(&format!("certificate-authority-data: {}", BASE64.encode(pem)));
    vec![
        row(
            replaced("{server: 'https://example.com'}", "{}"),
            &["clusters[c].server: line 8: is missing"],
        ),
        row(replaced("https:", "ftp:"), &["clusters[c].server: line 9: the scheme"]),
        row(replaced("//example.com", "//"), &["clusters[c].server: line 9: the host is missing"]),
        row(replaced(".com'", ".com:99999'"), &["clusters[c].server: line 9: the port is out of"]),
        row(replaced("example.com", "a b"), &["clusters[c].server: line 9: the host is neither"]),
        row(
            replaced("example.com", &format!("u:{SECRET}@example.com")),
            &["clusters[c].server: line 9: a user name"],
        ),
        row(
            cluster("insecure-skip-tls-verify: \"true\""),
            &["clusters[c].insecure-skip-tls-verify: line 9: must be true or false"],
        ),
        row(
            cluster("disable-compression: [true]"),
            &["clusters[c].disable-compression: line 9: must be true or false, and is a list"],
        ),
        row(
            cluster("tls-server-name: 'a b'"),
            &["clusters[c].tls-server-name: line 9: is neither"],
        ),
        row(cluster("proxy-url: 'p:3128'"), &["clusters[c].proxy-url: line 9: the scheme"]),
        row(
            cluster(&format!("proxy-url: 'ftp://u:{SECRET}@p'")),
            &["clusters[c].proxy-url: line 9: the scheme"],
        ),
        row(
            cluster(&format!("proxy-url: 'http://u:{SECRET}%zz@p'")),
            &["clusters[c].proxy-url: line 9: a % in"],
        ),
        row(
            cluster("certificate-authority: none.pem"),
            &["clusters[c].certificate-authority: line 9: ", "none.pem: cannot be read"],
        ),
        row(
            cluster("certificate-authority: ."),
            &["clusters[c].certificate-authority: line 9: ", "cannot be read: Is a directory"],
        ),
        row(
            cluster("certificate-authority: empty"),
            &["clusters[c].certificate-authority: line 9: ", "empty: not PEM, or no certificate"],
        ),
        row(
            cluster("certificate-authority: good.key"),
            &[
                "clusters[c].certificate-authority: line 9: ",
                "good.key: not PEM, or no certificate",
            ],
        ),
        row(
            cluster("certificate-authority-data: '%%%'"),
            &["clusters[c].certificate-authority-data: line 9: not base64"],
        ),
        row(data("0\u{82}not"), &["clusters[c].certificate-authority-data: line 9: not PEM"]),
        row(
            data(&certificate.replace("-----END", "----END")),
            &["clusters[c].certificate-authority-data: line 9: the PEM text has no END line"],
        ),
        row(
            data(&certificate.replacen("MI", "M*I", 1)),
            &["clusters[c].certificate-authority-data: line 9: the PEM text is not base64"],
        ),
        row(
            data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            &["clusters[c].certificate-authority-data: line 9: none of the certificates"],
        ),
        row(
            data(&certificate).replace(", certificate", ", certificate-authority: x, certificate"),
            &["clusters[c].certificate-authority-data: line 9: contradicts certificate-authority"],
        ),
        row(
            cluster("insecure-skip-tls-verify: true, certificate-authority: cert.pem"),
            &["clusters[c].insecure-skip-tls-verify: line 9: contradicts certificate-authority"],
        ),
    ]
}

fn files_with_a_bad_user() -> Vec<Row> {
    let certificate = BASE64.encode(certificate().0);
    let pair = |key: &str| user(&format!("client-certificate: cert.pem, client-key{key}"));
    vec![
        row(user(&format!("token: [{SECRET}]")), &["users[u].token: line 12: must be a string"]),
        row(
            user(&format!("token: \"{SECRET}\\nX: y\"")),
            &["users[u].token: line 12: holds characters"],
        ),
        row(user("tokenFile: none"), &["users[u].tokenFile: line 12: ", "none: cannot be read"]),
        row(user("tokenFile: empty"), &["users[u].tokenFile: line 12: ", "empty: is empty"]),
        row(
            user("tokenFile: binary"),
            &["users[u].tokenFile: line 12: ", "binary: does not hold text"],
        ),
        row(
            user(&format!("token: {SECRET}, username: me, password: {SECRET}")),
            &["users[u].username: line 12: contradicts the token"],
        ),
        row(user(&format!("password: {SECRET}")), &["users[u].password: line 12: has no username"]),
        row(
            user("client-certificate: cert.pem"),
            &["users[u].client-certificate: line 12: has no client-key"],
        ),
        row(pair(": none"), &["users[u].client-key: line 12: ", "none: cannot be read"]),
        row(pair(": other.key"), &["users[u].client-key: line 12: ", "other.key: does not fit"]),
        row(pair(": cert.pem"), &["users[u].client-key: line 12: ", "no private key"]),
        row(
            pair(&format!("-data: '{SECRET}'")),
            &["users[u].client-key-data: line 12: not base64"],
        ),
        row(
            pair(&format!("-data: '{}'", BASE64.encode(SECRET))),
            &["users[u].client-key-data: line 12: not PEM, or no private key"],
        ),
        row(
            pair(&format!("-data: '{}', client-key: good.key", BASE64.encode(SECRET))),
            &["users[u].client-key-data: line 12: contradicts client-key"],
        ),
        row(
            user("client-certificate: none, client-key: none.key"),
            &["users[u].client-certificate: line 12: ", "users[u].client-key: line 12: "],
        ),
        row(
            user("client-certificate-data: AAAA, client-key: good.key"),
            &["users[u].client-certificate-data: line 12: not PEM"],
        ),
        row(
            pair(&format!(": good.key, client-certificate-data: {certificate}")),
            &["users[u].client-certificate-data: line 12: contradicts client-certificate"],
        ),
        row(user("as-uid: 7"), &["users[u].as-uid: line 12: needs a user"]),
        row(
            user("as-groups: [g], as-user-extra: {a: [b]}"),
            &["users[u].as-groups: line 12: ", "users[u].as-user-extra: line 12: "],
        ),
        row(user("as: me, as-groups: g"), &["users[u].as-groups: line 12: must be a list"]),
        row(
            user("as: me, as-user-extra: [a]"),
            &["users[u].as-user-extra: line 12: must be a mapping"],
        ),
        row(
            user("auth-provider: {name: gcp, config: {}}"),
            &["users[u].auth-provider: line 12: ", "gke-gcloud-auth-plugin"],
        ),
        row(user("auth-provider: {name: azure}"), &["users[u].auth-provider: ", "kubelogin"]),
        row(user("auth-provider: {name: oidc}"), &["users[u].auth-provider: ", "oidc-login"]),
        row(
            user("auth-provider: {name: acme}"),
            &["users[u].auth-provider: ", "\"acme\" is not supported; use an exec plugin"],
        ),
    ]
}

fn files_with_a_bad_plugin() -> Vec<Row> {
    let v1 = |fields: &str| exec(&format!("{EXEC_V1}, {fields}"));
    let never = |fields: &str| {
        user(&format!("exec: {{{EXEC_V1}, command: p, interactiveMode: Never, {fields}}}"))
    };
    vec![
        row(
            exec("command: plugin, interactiveMode: Never"),
            &["users[u].exec.apiVersion: line 12: is missing"],
        ),
        row(
            exec("command: plugin, apiVersion: client.authentication.k8s.io/v1alpha1"),
            &["users[u].exec.apiVersion: line 12: v1alpha1 was removed"],
        ),
        row(
            exec("command: plugin, apiVersion: v1"),
            &["users[u].exec.apiVersion: line 12: must be client.authentication.k8s.io/v1"],
        ),
        row(v1("interactiveMode: Never"), &["users[u].exec.command: line 12: is missing"]),
        row(v1("command: plugin"), &["users[u].exec.interactiveMode: line 12: is missing"]),
        row(
            v1("command: plugin, interactiveMode: Perhaps"),
            &["users[u].exec.interactiveMode: line 12: must be Never"],
        ),
        row(
            never(&format!("env: [{{value: {SECRET}}}]")),
            &["users[u].exec.env[0].name: line 12: is missing"],
        ),
        row(never(&format!("args: {SECRET}")), &["users[u].exec.args: line 12: must be a list"]),
        row(user("exec: plugin"), &["users[u].exec: line 12: must be a mapping"]),
        row(
            user(&format!("auth-provider: {{name: oidc}}, exec: {{{EXEC_V1}}}")),
            &["users[u].auth-provider: ", "users[u].exec.command: ", "users[u].exec.interactive"],
        ),
    ]
}

#[test]
fn every_bad_kubeconfig_is_an_error_that_names_file_and_field() {
    let directory = directory("bad");
    let (certificate, key) = certificate();
    fs::write(directory.join("cert.pem"), certificate).unwrap();
    fs::write(directory.join("good.key"), key).unwrap();
    fs::write(directory.join("other.key"), self::certificate().1).unwrap();
    fs::write(directory.join("empty"), "").unwrap();
    fs::write(directory.join("binary"), [0xff, 0xfe, 0xfd]).unwrap();

    let table = [
        files_that_are_no_kubeconfig(),
        files_with_a_bad_structure(),
        files_with_a_bad_cluster(),
        files_with_a_bad_user(),
        files_with_a_bad_plugin(),
    ]
    .concat();
    assert!(table.len() >= 40);
    for (number, (content, fragments)) in table.iter().enumerate() {
        let file = directory.join(format!("config-{number}"));
        fs::write(&file, content).unwrap();
        let shown = String::from_utf8_lossy(&content[..content.len().min(600)]).into_owned();
        let error = Config::from_kubeconfig_file(&file, None).expect_err(&shown);
        assert!(matches!(error, Error::Config(_)), "{shown}\n{error:?}");
        let text = error.to_string();
        let start = format!("config: {}: ", file.display());
        assert!(text.starts_with(&start), "{shown}\n{text}");
        for fragment in fragments {
            assert!(text.contains(fragment), "{shown}\n{text}\nhas no {fragment:?}");
        }
        assert!(text.len() < 4096, "{shown}\n{text}");
        let everything = format!("{error} {error:?} {error:#?}");
        for secret in [SECRET, &BASE64.encode(SECRET), "PRIVATE KEY"] {
            assert!(!everything.contains(secret), "{shown}\n{everything}");
        }
    }
    println!("{} bad files", table.len());
}

#[test]
fn the_files_the_table_starts_from_are_good() {
    for text in [user(""), cluster("disable-compression: true"), replaced("name: u", "name: u")] {
        let config = Config::from_kubeconfig_str(&text, None).unwrap();
        assert_eq!((config.server().as_str(), config.cluster()), ("https://example.com", "c"));
        assert!(!format!("{config:?} {config:#?}").contains(SECRET));
    }
    assert!(Config::from_kubeconfig_str(&user("as: jane"), None).is_ok(), "nothing else is needed");
}

#[test]
fn a_program_can_forbid_plugins() {
    let text = exec(&format!("{EXEC_V1}, command: plugin, interactiveMode: Never"));
    let load = |policy| Config::loader().plugins(policy).load_str(&text);
    let config = load(PluginPolicy::AllowAll).unwrap();
    assert!(!format!("{config:?} {config:#?}").contains(SECRET));
    assert!(load(PluginPolicy::AllowOnly(vec!["plugin".into()])).is_ok());
    for policy in [PluginPolicy::DenyAll, PluginPolicy::AllowOnly(vec!["other".into()])] {
        let error = load(policy).unwrap_err().to_string();
        let why = "users[u].exec.command: line 12: the program does not allow the plugin plugin";
        assert!(error.contains(why), "{error}");
    }
    let beside_a_token = text.replace("exec:", &format!("token: {SECRET}, exec:"));
    assert!(Config::loader().plugins(PluginPolicy::DenyAll).load_str(&beside_a_token).is_ok());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_that_names_it() {
    let directory = directory("unreadable");
    for (path, why) in [
        (directory.clone(), "Is a directory"),
        (directory.join("none"), "no such file"),
        (directory.join("none").join("deeper"), "no such file"),
        (PathBuf::from("/dev/zero"), "larger than 3 MiB"),
    ] {
        let error = Config::from_kubeconfig_file(&path, None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("config: {}: ", path.display())), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn classes_of_errors_can_be_told_apart() {
    let class = |text: &str, context| match Config::from_kubeconfig_str(text, context) {
        Err(Error::Config(error)) => (error.is_empty(), error.is_context_not_found()),
        other => panic!("{other:?}"),
    };
    let good = user("");
    assert_eq!(class("", None), (true, false));
    assert_eq!(class(&replaced("current-context: x", ""), None), (true, false));
    assert_eq!(class(&good, Some("none")), (false, true));
    assert_eq!(class(&replaced("current-context: x", "current-context: y"), None), (false, true));
    assert_eq!(class(&good.replace("https:", "ftp:"), None), (false, false));
}

#[test]
fn a_context_can_be_chosen_by_name() {
    let file = directory("context").join("config");
    let other = "contexts:\n- name: other\n  context: {cluster: c, namespace: elsewhere}\n";
    fs::write(&file, replaced("contexts:\n", other)).unwrap();
    let current = Config::from_kubeconfig_file(&file, None).unwrap();
    assert_eq!((current.cluster(), current.default_namespace()), ("c", "default"));
    let other = Config::from_kubeconfig_file(&file, Some("other")).unwrap();
    assert_eq!(other.default_namespace(), "elsewhere");
}

#[test]
fn the_builder_takes_what_it_is_given() {
    let directory = directory("builder");
    let (certificate, key) = certificate();
    fs::write(directory.join("token"), SECRET).unwrap();
    fs::write(directory.join("cert"), &certificate).unwrap();
    fs::write(directory.join("key"), &key).unwrap();
    let config = Config::builder("http://127.0.0.1:8080/prefix/")
        .default_namespace("n")
        .cluster("test")
        .token(SECRET)
        .token_file(directory.join("token"))
        .certificate_authority(certificate.as_str())
        .certificate_authority_file(directory.join("cert"))
        .client_certificate(certificate.as_str(), key)
        .client_certificate_files(directory.join("cert"), directory.join("key"))
        .tls_server_name("name")
        .proxy(format!("http://u:{SECRET}@proxy"))
        .compression(false)
        .impersonate(Impersonate::user("jane"))
        .user_agent("tests/1")
        .max_retries(3)
        .build()
        .unwrap();
    assert_eq!(config.server(), "http://127.0.0.1:8080/prefix");
    assert_eq!((config.cluster(), config.default_namespace()), ("test", "n"));
    assert_eq!(config.user_agent(), "tests/1");
    assert!(format!("{config:?}").contains("TokenFile"), "the last one counts: {config:?}");
    assert!(!format!("{config:?} {config:#?}").contains(SECRET));

    let changed =
        config.to_builder().default_namespace("m").no_proxy().anonymous().build().unwrap();
    assert_eq!((changed.server(), changed.default_namespace()), (config.server(), "m"));
    assert!(format!("{changed:?}").contains("Anonymous"));
}

#[test]
fn the_builder_names_every_bad_argument_at_once() {
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::ZERO;
    let (certificate, _) = certificate();
    let (_, other_key) = self::certificate();
    let error = Config::builder("https://")
        .default_namespace("")
        .token(format!("{SECRET}\n{SECRET}"))
        .token_file("/none/token")
        .basic_auth("a:b", SECRET)
        .certificate_authority("nothing")
        .certificate_authority_file("/none/ca")
        .client_certificate(certificate, other_key)
        .client_certificate_files("/none/cert", "/none/key")
        .tls_server_name("a b")
        .proxy(format!("nowhere:{SECRET}"))
        .impersonate(Impersonate::default())
        .user_agent("curl/8")
        .timeouts(timeouts)
        .build()
        .unwrap_err();
    let text = error.to_string();
    for fragment in [
        "server: the host is missing",
        "default_namespace: is empty",
        "token: has characters",
        "/none/token: token_file: cannot be read",
        "basic_auth: the user name",
        "certificate_authority: not PEM",
        "/none/ca: certificate_authority_file: cannot be read",
        "client_certificate: does not fit",
        "/none/cert: client_certificate_files: cannot be read",
        "/none/key: client_certificate_files: cannot be read",
        "tls_server_name: is neither a host name nor an address",
        "proxy: the scheme",
        "impersonate: the user is empty",
        "user_agent: must not begin with curl, Wget or Mozilla",
        "timeouts: none of them may be zero",
    ] {
        assert!(text.contains(fragment), "{text}\nhas no {fragment:?}");
    }
    assert!(!format!("{error:?} {text}").contains(SECRET));
}

/// Keeps what is logged.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

#[test]
fn what_is_insecure_or_left_out_is_logged_without_secrets() {
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let insecure = cluster("insecure-skip-tls-verify: true").replace("name: c", "name: open");
    let insecure = insecure.replace("cluster: c", "cluster: open");
    Config::from_kubeconfig_str(&insecure, None).unwrap();
    let clear = user(&format!("username: me, password: {SECRET}")).replace("https:", "http:");
    Config::from_kubeconfig_str(&clear, None).unwrap();
    Config::builder("https://unverified").insecure_skip_tls_verify().build().unwrap();

    let log = LOG.0.lock();
    for line in [
        "WARN clusters[open]: insecure-skip-tls-verify: the server's certificate is not verified",
        "WARN users[u].username is not used: clusters[c].server is not https",
        "WARN the certificate of https://unverified is not verified",
    ] {
        assert!(log.iter().any(|logged| logged == line), "{log:#?}\nhas no {line}");
    }
    assert!(!format!("{log:?}").contains(SECRET));
}

#[test]
fn infer_reads_the_environment_of_the_process() {
    const CHILD: &str = "KINFORMER_TEST_INFER";
    if env::var_os(CHILD).is_some() {
        let config = Config::infer().unwrap();
        assert_eq!(config.server(), Config::from_kubeconfig().unwrap().server());
        println!("found {}", config.cluster());
        return;
    }
    let directory = directory("infer");
    let (listed, home) = (directory.join("listed"), directory.join(".kube"));
    fs::write(&listed, replaced("name: c", "name: listed").replace(" c,", " listed,")).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config"), replaced("name: c", "name: home").replace(" c,", " home,"))
        .unwrap();
    for (kubeconfig, found) in [(Some(listed), "found listed"), (None, "found home")] {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "infer_reads_the_environment_of_the_process", "--nocapture"])
            .env(CHILD, "1")
            .env("HOME", &directory)
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env_remove("KUBECONFIG");
        if let Some(kubeconfig) = kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains(found), "{output:?}");
    }
}
