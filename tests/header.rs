//! The header and the sources name the same functions, without cbindgen: `include/generate --check` compares
//! the rest.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeSet, fs, path::Path};

/// The words that begin with `kinf_` and that `is_wanted` says yes to, given what is before and after.
fn names(text: &str, is_wanted: impl Fn(&str, &str) -> bool) -> BTreeSet<String> {
    let found = text.match_indices("kinf_").filter_map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric())?;
        is_wanted(&text[..at], &rest[end..]).then(|| rest[..end].to_owned())
    });
    found.collect()
}

#[test]
fn every_exported_function_is_declared_and_nothing_else_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut exported = BTreeSet::new();
    for file in fs::read_dir(root.join("src/ffi")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let count = text.matches("#[unsafe(no_mangle)]").count();
        let here = names(&text, |before, _| {
            before.ends_with("extern \"C\" fn ")
                && before.lines().rev().nth(1) == Some("#[unsafe(no_mangle)]")
        });
        assert_eq!(here.len(), count, "each has its attribute: {here:?}");
        exported.extend(here);
    }
    let header = fs::read_to_string(root.join("include/kinformer.h")).unwrap();
    let declared = names(&header, |before, after| {
        let line = before.lines().last().unwrap_or_default();
        let in_code = !line.trim_start().starts_with(['*', '/']) && !line.contains("static inline");
        after.starts_with('(') && in_code && !line.starts_with([' ', '#'])
    });
    assert!(exported.len() > 150, "{}", exported.len());
    let missing: Vec<_> = exported.symmetric_difference(&declared).collect();
    assert!(missing.is_empty(), "in one of the two only: {missing:?}; run include/generate");
}

#[test]
fn the_versions_are_those_of_the_package() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/kinformer.h");
    let wanted = format!("#define KINF_VERSION \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(fs::read_to_string(path).unwrap().contains(&wanted));
}
