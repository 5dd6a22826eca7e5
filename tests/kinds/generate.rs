//! Writes the table of kinds from the sources of k8s-openapi, which has no list of its kinds itself.
//!
//! Facts only: which kinds can be listed, where they are served, and which versions of Kubernetes have
//! them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What Kubernetes lists but does not watch; k8s-openapi does not say. Another test compares it with the
/// discovery of a server.
const NOT_WATCHED: &[&str] = &["componentstatuses"];

/// The versions of Kubernetes in k8s-openapi, by their minor number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Versions {
    pub(crate) oldest: u8,
    pub(crate) newest: u8,
}

/// Where a kind is, and where it is served; sorted as the table is.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Kind {
    /// The name of the group in code: `core`, `rbac`.
    accessor: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    namespaced: bool,
    /// The module of the group in k8s-openapi: `api::core`.
    module: String,
}

/// The kinds that can be listed, each with the versions of Kubernetes that have it.
pub(crate) type Kinds = BTreeMap<Kind, BTreeSet<u8>>;

/// Reads the sources of k8s-openapi where cargo has put them.
pub(crate) fn read() -> (Versions, Kinds) {
    let source = k8s_openapi_source();
    let mut kinds = Kinds::new();
    let mut versions = BTreeSet::new();
    for entry in fs::read_dir(&source).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let Some(minor) = name.strip_prefix("v1_").and_then(|minor| minor.parse().ok()) else {
            continue;
        };
        versions.insert(minor);
        for file in files(&folder) {
            if let Some(kind) = parse(&folder, &file) {
                kinds.entry(kind).or_default().insert(minor);
            }
        }
    }
    let versions =
        Versions { oldest: *versions.first().unwrap(), newest: *versions.last().unwrap() };
    (versions, kinds)
}

/// The text of `src/factory/kinds/table.rs`.
pub(crate) fn table(versions: Versions, kinds: &Kinds) -> String {
    let mut text = String::from(
        "// Made by `BLESS=1 cargo test --test kinds` from the sources of k8s-openapi. Do not edit.\n\
         // Which kinds there are, where they are served, and which versions of Kubernetes have them\n\
         // (none is named where all do). `kinds!` is in mod.rs.\n\nkinds! {\n",
    );
    let (mut group, mut version) = (String::new(), String::new());
    for (kind, since) in kinds {
        let of_group = |other: &&Kind| other.accessor == kind.accessor;
        let of_version = |other: &&Kind| of_group(other) && other.version == kind.version;
        if kind.accessor != group {
            if !group.is_empty() {
                text += "        }\n    }\n";
            }
            let Kind { accessor, group: name, module, .. } = kind;
            let gate = versions.gate(&union(kinds, of_group));
            writeln!(text, "    {accessor} {name:?} ({module}) {gate} {{").unwrap();
            group.clone_from(accessor);
            version.clear();
        }
        if kind.version != version {
            if !version.is_empty() {
                text += "        }\n";
            }
            let gate = versions.gate(&union(kinds, of_version));
            writeln!(text, "        {} {gate} {{", kind.version).unwrap();
            version.clone_from(&kind.version);
        }
        let scope = if kind.namespaced { "namespaced" } else { "cluster" };
        let verbs = if NOT_WATCHED.contains(&&*kind.plural) { "list" } else { "watch" };
        let method = method(&kind.kind, &kind.plural);
        let Kind { kind, plural, .. } = kind;
        let gate = versions.gate(since);
        writeln!(text, "            {method} {kind} {plural:?} {scope} {verbs} {gate};").unwrap();
    }
    text + "        }\n    }\n}\n"
}

impl Versions {
    /// As the table writes it: `[]`, `[since 35]`, `[until 36]`, `[since 34 until 35]`.
    fn gate(self, having: &BTreeSet<u8>) -> String {
        let (first, last) = (*having.first().unwrap(), *having.last().unwrap());
        assert_eq!(usize::from(last - first) + 1, having.len(), "there is a gap in {having:?}");
        let since = (first > self.oldest).then(|| format!("since {first}"));
        let until = (last < self.newest).then(|| format!("until {last}"));
        format!("[{}]", since.into_iter().chain(until).collect::<Vec<_>>().join(" "))
    }
}

fn union(kinds: &Kinds, of: impl Fn(&&Kind) -> bool) -> BTreeSet<u8> {
    kinds.iter().filter(|(kind, _)| of(kind)).flat_map(|(_, having)| having).copied().collect()
}

/// The kind in snake case, with its last word taken from the plural: `StatefulSet`, `statefulsets` is
/// `stateful_sets`.
fn method(kind: &str, plural: &str) -> String {
    let words = words(kind);
    let (_, front) = words.split_last().unwrap();
    let last = plural.strip_prefix(&front.concat()).unwrap();
    front.iter().map(String::as_str).chain([last]).collect::<Vec<_>>().join("_")
}

/// `CSIStorageCapacity` is `csi storage capacity`.
fn words(kind: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = kind.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let lower = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
        let begins = letter.is_ascii_uppercase() && (at == 0 || lower(at - 1) || lower(at + 1));
        match words.last_mut() {
            Some(word) if !begins => word.push(letter.to_ascii_lowercase()),
            _ => words.push(letter.to_ascii_lowercase().into()),
        }
    }
    words
}

fn parse(root: &Path, file: &Path) -> Option<Kind> {
    let text = fs::read_to_string(file).unwrap();
    text.contains("impl crate::ListableResource for ").then_some(())?;
    let value = |name: &str| {
        let start = format!("const {name}: &'static str = \"");
        let rest = text.split_once(&start).unwrap_or_else(|| panic!("{name} in {file:?}")).1;
        rest.split('"').next().unwrap().to_owned()
    };
    let scope = text.split_once("type Scope = crate::").unwrap().1.split(';').next().unwrap();
    let namespaced = match scope {
        "NamespaceResourceScope" => true,
        "ClusterResourceScope" => false,
        other => panic!("{file:?} has scope {other}"),
    };
    let folders: Vec<_> = file.parent().unwrap().strip_prefix(root).unwrap().iter().collect();
    let (version, module) = folders.split_last().unwrap();
    assert_eq!(*version, &*value("VERSION"), "{file:?}");
    let module: Vec<_> = module.iter().map(|folder| folder.to_str().unwrap()).collect();
    let group = value("GROUP");
    let accessor = match group.split('.').next().unwrap() {
        "" => "core",
        first => first,
    };
    Some(Kind {
        accessor: accessor.to_owned(),
        version: value("VERSION"),
        plural: value("URL_PATH_SEGMENT"),
        kind: value("KIND"),
        namespaced,
        module: module.join("::"),
        group,
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The platform narrows cargo down to what has been downloaded to build this test.
fn k8s_openapi_source() -> PathBuf {
    let rustc = output(Command::new("rustc").arg("-vV"));
    let platform = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = output(
        Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--filter-platform", platform])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "k8s-openapi").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("src")
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn methods_are_the_kind_in_snake_case_with_the_plural_at_the_end() {
    for (kind, plural, expected) in [
        ("Pod", "pods", "pods"),
        ("StatefulSet", "statefulsets", "stateful_sets"),
        ("CSIStorageCapacity", "csistoragecapacities", "csi_storage_capacities"),
        ("ServiceCIDR", "servicecidrs", "service_cidrs"),
        ("APIService", "apiservices", "api_services"),
        ("Endpoints", "endpoints", "endpoints"),
        ("Ingress", "ingresses", "ingresses"),
    ] {
        assert_eq!(method(kind, plural), expected);
    }
}
