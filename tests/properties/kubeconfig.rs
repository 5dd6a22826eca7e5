//! Kubeconfig files that are right but for a few things, or for a few bytes.

use kinformer::Config;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use serde_json::{Value, json};

use crate::{text, value};

/// Bytes that mean something to YAML.
const SIGNS: &[u8] = b"{}[]\"'\\\n :-#&*!|>%@,?~";

type Part = BoxedStrategy<Value>;

/// The text of such a file.
pub(crate) fn texts() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop_oneof![
        3 => Just(Vec::new()),
        1 => vec((any::<Index>(), select(SIGNS), 0..3_u8), 1..4),
    ];
    (file(), 0..4_u8, changes).prop_map(|(file, style, changes)| {
        let text = if style == 3 { block(&file, 0) } else { text(&file, style) };
        let mut bytes = text.into_bytes();
        for (at, sign, change) in changes {
            let at = at.index(bytes.len());
            match change {
                0 => bytes[at] = sign,
                1 => bytes.insert(at, sign),
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    })
}

fn file() -> Part {
    let context = mapping(vec![
        ("cluster", ALWAYS, name()),
        ("user", ALWAYS, name()),
        ("namespace", RARELY, mostly(["n", "", "No Name"])),
    ]);
    mapping(vec![
        ("apiVersion", RARELY, mostly(["v1", "v2"])),
        ("kind", RARELY, mostly(["Config", "Pod"])),
        ("current-context", ALWAYS, name()),
        ("contexts", ALWAYS, named("context", context)),
        ("clusters", ALWAYS, named("cluster", cluster())),
        ("users", ALWAYS, named("user", user())),
        ("extensions", RARELY, Just(json!([])).boxed()),
        ("preferences", RARELY, value().boxed()),
    ])
}

fn cluster() -> Part {
    let servers =
        ["https://h", "http://h:8080/x/", "h", "ftp://h", "https://me@h", "https://[::1", ""];
    let with_password = |scheme: &'static str| {
        SECRET.prop_map(move |secret| json!(format!("{scheme}://me:{secret}@p:3128/")))
    };
    let proxy = prop_oneof![
        8 => with_password("http"),
        1 => with_password("odd"),
        1 => mostly(["socks5://p", "p:3128", ""]),
    ];
    mapping(vec![
        ("server", ALWAYS, mostly(servers)),
        ("certificate-authority-data", RARELY, mostly(["bm8=", "%", ""])),
        ("certificate-authority", RARELY, mostly(["/nowhere", ""])),
        ("insecure-skip-tls-verify", RARELY, boolean()),
        ("tls-server-name", RARELY, mostly(["x", "not a name"])),
        ("disable-compression", RARELY, boolean()),
        ("proxy-url", RARELY, proxy.boxed()),
    ])
}

/// One way to say who one is, and now and then another.
fn user() -> Part {
    let basic = mapping(vec![
        ("username", ALWAYS, mostly(["me", "m:e", ""])),
        ("password", ALWAYS, secret()),
    ]);
    let certificate = mapping(vec![
        ("client-certificate-data", OFTEN, mostly(["bm8=", "%", ""])),
        ("client-certificate", RARELY, mostly(["/nowhere"])),
        ("client-key-data", OFTEN, secret()),
        ("client-key", RARELY, mostly(["/nowhere"])),
    ]);
    let file =
        mapping(vec![("tokenFile", ALWAYS, mostly(["/nowhere"])), ("token", OFTEN, secret())]);
    let provider =
        secret().prop_map(|secret| json!({"name": "gcp", "config": {"access-token": secret}}));
    let other = mapping(vec![
        ("as", OFTEN, mostly(["you", ""])),
        ("as-groups", OFTEN, vec(name(), 0..3).prop_map(Value::from).boxed()),
        ("as-user-extra", RARELY, Just(json!({"k": ["v"]})).boxed()),
        ("auth-provider", RARELY, provider.boxed()),
    ]);
    let way = prop_oneof![
        3 => mapping(vec![("token", ALWAYS, secret())]),
        3 => basic,
        3 => mapping(vec![("exec", ALWAYS, plugin())]),
        1 => certificate,
        1 => file,
        1 => Just(json!({})),
    ];
    let ways = prop_oneof![
        6 => vec(way.clone(), 1),
        1 => vec(way, 2),
        1 => vec(other, 1),
    ];
    ways.prop_map(|ways| {
        let members = ways.iter().filter_map(Value::as_object).flatten();
        Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
    })
    .boxed()
}

fn plugin() -> Part {
    let versions = ["v1", "v1beta1", "v1alpha1"]
        .map(|version| json!(format!("client.authentication.k8s.io/{version}")));
    let variable = secret().prop_map(|value| json!({"name": "KEY", "value": value}));
    mapping(vec![
        ("apiVersion", ALWAYS, mostly(versions)),
        ("command", ALWAYS, mostly(["./plugin", ""])),
        ("args", OFTEN, vec(name(), 0..3).prop_map(Value::from).boxed()),
        ("env", OFTEN, vec(variable, 0..2).prop_map(Value::from).boxed()),
        ("interactiveMode", ALWAYS, mostly(["Never", "IfAvailable", "Always", "Odd"])),
        ("provideClusterInfo", RARELY, boolean()),
    ])
}

/// How often a member is there, of a hundred times.
const ALWAYS: u32 = 97;
const OFTEN: u32 = 60;
const RARELY: u32 = 10;

/// With those of the members that are there, now and then something else than they should be.
fn mapping(members: Vec<(&'static str, u32, Part)>) -> Part {
    let member = |(name, often, part): (&'static str, u32, Part)| {
        let given = prop_oneof![
            often => part.prop_map(Some),
            100 - often => Just(None),
            1 => value().prop_map(Some),
        ];
        given.prop_map(move |given| given.map(|value| (name.to_owned(), value)))
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    let object = |members: Vec<_>| Value::Object(members.into_iter().flatten().collect());
    members.prop_map(object).boxed()
}

/// A list of one or two, by name; now and then of none.
fn named(what: &'static str, part: Part) -> Part {
    let item = move |name: Part| {
        (name, part.clone()).prop_map(move |(name, part)| json!({"name": name, what: part}))
    };
    let (first, second) = (item(name()), item(mostly(["b", "a"])));
    let two = (first.clone(), second).prop_map(|(first, second)| json!([first, second]));
    let one = first.prop_map(|first| json!([first]));
    prop_oneof![10 => one, 10 => two, 1 => Just(json!([]))].boxed()
}

fn name() -> Part {
    mostly(["a", "b", ""])
}

fn boolean() -> Part {
    any::<bool>().prop_map(Value::from).boxed()
}

/// What the model tells from everything else.
const SECRET: &str = "s3cr3t-[a-z]{9}";

fn secret() -> Part {
    SECRET.prop_map(Value::from).boxed()
}

/// The first, and now and then another.
fn mostly<const N: usize>(values: [impl Into<Value>; N]) -> Part {
    let values = values.map(Into::into);
    prop_oneof![15 => Just(values[0].clone()), 1 => select(values.to_vec())].boxed()
}

/// The same value as people write it: a line for each scalar.
fn block(value: &Value, depth: usize) -> String {
    let indent = " ".repeat(depth * 2);
    match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .map(|(name, value)| format!("\n{indent}{}: {}", json!(name), block(value, depth + 1)))
            .collect(),
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(|item| format!("\n{indent}- {}", block(item, depth + 1))).collect()
        }
        Value::String(text) if text.starts_with("s3cr3t") => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn some_of_the_files_can_be_used_and_some_cannot() {
    let mut runner = TestRunner::deterministic();
    let (mut used, files) = (0, 500);
    for _ in 0..files {
        let text = texts().new_tree(&mut runner).unwrap().current();
        let text = String::from_utf8_lossy(&text);
        used += usize::from(Config::from_kubeconfig_str(&text, None).is_ok());
    }
    assert!((files / 10..files / 2).contains(&used), "{used} of {files}");
}
