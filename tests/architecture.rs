//! The tree shows the architecture: these tests keep it true.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What each module of `src/` may use. A module that is not here does not exist.
const MAY_USE: &[(&str, &[&str])] = &[
    ("cache", &["error", "object", "selector", "sync"]),
    (
        "client",
        &["config", "error", "json", "object", "selector", "stop", "sync", "thread", "yaml"],
    ),
    ("config", &["error", "rfc3339", "stop", "thread", "yaml"]),
    ("error", &[]),
    (
        "factory",
        &[
            "cache",
            "client",
            "error",
            "informer",
            "object",
            "reflector",
            "selector",
            "stop",
            "sync",
        ],
    ),
    (
        "ffi",
        &[
            "cache",
            "client",
            "config",
            "error",
            "factory",
            "informer",
            "json",
            "object",
            "reflector",
            "selector",
            "stop",
            "testing",
        ],
    ),
    (
        "fuzzing",
        &[
            "cache",
            "client",
            "config",
            "error",
            "json",
            "object",
            "reflector",
            "selector",
            "stop",
            "sync",
            "yaml",
        ],
    ),
    ("guide", &[]),
    ("informer", &["cache", "client", "error", "object", "reflector", "selector", "stop", "sync"]),
    ("json", &[]),
    ("object", &["error", "json", "sync"]),
    ("reflector", &["cache", "client", "error", "object", "stop", "sync"]),
    ("rfc3339", &[]),
    ("selector", &["error"]),
    ("stop", &["error", "sync"]),
    ("sync", &["thread"]),
    ("testing", &["config", "error", "rfc3339", "selector", "stop", "thread", "yaml"]),
    ("thread", &[]),
    ("yaml", &[]),
];

#[test]
fn modules_use_only_what_is_below_them() {
    let root_names = root_names();
    let mut wrong = BTreeSet::new();
    for (module, file, text) in sources() {
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            wrong.insert(format!("{}: module {module} is not in MAY_USE", file.display()));
            continue;
        };
        for used in uses(&text) {
            // `crate::Error` is whatever module `lib.rs` takes it from.
            let used = root_names.get(&used).unwrap_or(&used);
            if *used != module && !allowed.contains(&used.as_str()) {
                wrong.insert(format!("{} uses {used}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_allowed_uses_have_no_cycle() {
    let mut done: Vec<&str> = Vec::new();
    while done.len() < MAY_USE.len() {
        let next = MAY_USE.iter().find(|(module, uses)| {
            !done.contains(module) && uses.iter().all(|used| done.contains(used))
        });
        done.push(next.expect("a cycle among the modules").0);
    }
}

#[test]
fn the_public_interface_names_no_http_tls_or_lock_library() {
    for (_, file, text) in sources() {
        for line in code(&text).lines().filter(|line| line.trim_start().starts_with("pub ")) {
            for foreign in ["flate2", "rustls", "parking_lot", "socket2", "saphyr"] {
                assert!(!line.contains(foreign), "{}: {line}", file.display());
            }
        }
    }
}

#[test]
fn unsafe_code_lives_in_ffi_only() {
    for (module, file, text) in sources() {
        let lifted = text.contains("allow(unsafe_code)") || text.contains("expect(unsafe_code)");
        assert!(!lifted || module == "ffi", "{}", file.display());
    }
}

#[test]
fn no_file_is_longer_than_anybody_wants_to_read() {
    for (_, file, text) in sources() {
        let before_tests = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = before_tests.lines().count();
        assert!(lines <= 620, "{}: {lines} lines", file.display());
    }
}

/// Top-level module, path below `src/` and text of every source file.
fn sources() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&src).unwrap().to_owned();
                let first = below.iter().next().unwrap().to_str().unwrap();
                let module = first.trim_end_matches(".rs").to_owned();
                found.push((module, below, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 20, "the sources were found");
    found.sort();
    found
}

/// Without comments, doc comments and unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that directly follow `crate::`, those in braces included.
fn uses(text: &str) -> BTreeSet<String> {
    let code = code(text);
    let mut found = BTreeSet::new();
    // `$crate` in a macro is whatever crate calls it.
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            found.extend(first_names(list));
        } else {
            found.extend(identifier(rest));
        }
    }
    found
}

/// The first name of each item of a use list, up to its closing brace.
fn first_names(list: &str) -> Vec<String> {
    let (mut depth, mut names, mut at_item) = (0, Vec::new(), true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_item = true,
            c if at_item && !c.is_whitespace() => {
                names.extend(identifier(&list[at..]));
                at_item = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The names that `lib.rs` re-exports, and the modules they come from.
fn root_names() -> BTreeMap<String, String> {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let list = lib.split("pub use crate::{").nth(1).expect("the list of names in lib.rs");
    let (mut names, mut module, mut depth) = (BTreeMap::new(), String::new(), 0);
    let mut word = String::new();
    for c in list.chars() {
        if c == '_' || c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            if module.is_empty() {
                module = word.clone();
            } else {
                names.insert(word.clone(), module.clone());
            }
            word.clear();
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, ',' | '}') {
            module.clear();
        }
    }
    assert_eq!(names.get("Error").map(String::as_str), Some("error"));
    names
}

/// `tests/README.md` says which test stands for which behaviour.
#[test]
fn every_test_that_the_readme_of_the_tests_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("tests/README.md")).unwrap();
    let mut sources = rust_files(&root.join("tests"));
    sources.extend(rust_files(&root.join("src")));
    let quoted = readme.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let names: BTreeSet<_> = quoted
        .filter(|name| {
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:*".contains(c))
        })
        .filter(|name| name.contains("::") || name.matches('_').count() > 3)
        .filter(|name| !matches!(*name, "kinformer::testing" | "transport::" | "file::test"))
        .collect();
    assert!(names.len() > 250, "the table names tests: {}", names.len());
    let missing: Vec<_> = names.iter().filter(|name| !is_there(name, &sources)).collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

/// Whether `module::test`, `module::*`, `module::beginning_*` or `test` is there.
fn is_there(name: &str, sources: &[(PathBuf, String)]) -> bool {
    let (modules, test) = name.rsplit_once("::").unwrap_or(("", name));
    let module = modules.rsplit("::").next().unwrap_or_default();
    let (test, whole) = test.strip_suffix('*').map_or((test, true), |beginning| (beginning, false));
    sources.iter().any(|(path, text)| {
        let is_named =
            |name: &str| path.iter().any(|part| Path::new(part).file_stem() == Some(name.as_ref()));
        let in_module = is_named(module) || text.contains(&format!("mod {module} {{"));
        // A name may also be that of a file with tests.
        let has = |head: &str| {
            text.split("#[test]").skip(1).any(|after| {
                let function = after.split("fn ").nth(1).unwrap_or_default();
                function.strip_prefix(head).is_some_and(|rest| !whole || rest.starts_with('('))
            })
        };
        (module.is_empty() || in_module)
            && (has(test) || is_named(test) && text.contains("#[test]"))
    })
}

fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}
