//! Guides read well where rustdoc shows them and where GitHub does.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The guides of `src/guide.rs`, with their texts.
fn guides() -> Vec<(String, String)> {
    let module = fs::read_to_string("src/guide.rs").unwrap();
    let names =
        module.split("include_str!(\"../").skip(1).map(|rest| rest.split_once('"').unwrap().0);
    let read = |name: &str| (name.to_owned(), fs::read_to_string(name).unwrap());
    let guides: Vec<_> = names.map(read).collect();
    assert!(guides.len() > 8, "{module}");
    guides
}

/// What is not code, line by line.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("```").step_by(2);
    parts.flat_map(str::lines)
}

/// What each reference is said to lead to.
fn definitions(text: &str) -> BTreeMap<&str, &str> {
    prose(text).filter_map(definition).collect()
}

fn definition(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('[')?.split_once("]: ").filter(|(_, dest)| !dest.contains(' '))
}

/// The references that a text has, and where links lead that say so themselves.
fn links(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut references, mut inline) = (BTreeSet::new(), BTreeSet::new());
    for line in prose(text).filter(|line| definition(line).is_none()) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('[') {
            let Some((label, after)) = after.split_once(']') else { break };
            rest = after;
            if let Some(dest) = after.strip_prefix('(') {
                inline.extend(dest.split_once(')').map(|(dest, _)| dest));
            } else if let Some(full) = after.strip_prefix('[') {
                let (reference, after) = full.split_once(']').unwrap();
                references.insert(reference);
                rest = after;
            } else if label.starts_with('`') {
                references.insert(label);
            }
        }
    }
    (references, inline)
}

#[test]
fn a_link_to_a_name_is_a_reference_that_the_guide_itself_resolves() {
    for (guide, text) in guides() {
        let (references, inline) = links(&text);
        let said: BTreeSet<_> = definitions(&text).into_keys().collect();
        assert_eq!(references, said, "{guide}: references, and what its last lines say about them");
        for dest in inline {
            let is_web = dest.starts_with("https://");
            assert!(is_web, "{guide}: {dest:?} leads nowhere on one side: make it a reference");
        }
    }
}

#[test]
fn a_reference_leads_to_the_file_that_has_the_name() {
    for (guide, text) in guides() {
        for (label, dest) in definitions(&text) {
            let file = Path::new("docs").join(dest);
            let source = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{guide}: {dest}"));
            let path = label.trim_matches('`').split(['#', '(', '!']).next().unwrap();
            let names = || path.split("::").filter(|name| *name != "guide");
            let name = names().find(|name| name.starts_with(char::is_uppercase));
            let name = name.or_else(|| names().last()).unwrap();
            let has_it = ["struct", "enum", "trait", "type", "fn", "macro_rules!"]
                .iter()
                .any(|what| source.contains(&format!("{what} {name}")));
            let is_it = dest.trim_end_matches("/mod.rs").trim_end_matches(".rs").ends_with(name);
            let is_guide = dest == format!("{}.md", name.replace('_', "-"));
            assert!(has_it || is_it || is_guide, "{guide}: {label} is not in {dest}");
        }
    }
}

#[test]
fn the_documentation_resolves_the_same_references() {
    let links = fs::read_to_string("src/guide/links.md").unwrap();
    let known: BTreeSet<_> = definitions(&links).into_keys().collect();
    let texts = guides();
    let used: BTreeSet<_> =
        texts.iter().flat_map(|(_, text)| definitions(text).into_keys()).collect();
    assert_eq!(known, used, "src/guide/links.md, and what guides refer to");
    // Labels are compared without regard to case: two that differ in nothing else are one.
    let folded: BTreeSet<_> = known.iter().map(|label| label.to_lowercase()).collect();
    assert_eq!(folded.len(), known.len());
}

#[test]
fn links_of_texts_for_github_lead_to_files_that_are_there() {
    let here = |folder: &str| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<_> = here(".")
        .chain(here("docs"))
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    assert!(texts.len() > 12, "{texts:?}");
    for path in texts {
        let text = fs::read_to_string(&path).unwrap();
        for dest in links(&text).1 {
            let dest = dest.split('#').next().unwrap();
            let file = path.parent().unwrap().join(dest);
            let is_there = dest.is_empty() || dest.starts_with("https://") || file.exists();
            assert!(is_there, "{}: {dest:?}", path.display());
        }
    }
}

/// Names of client-go that nothing here has; the table says what there is instead.
const NOT_HERE: &[&str] =
    &["RetryOnConflict", "PodLister", "workqueue", "leaderelection", "EventRecorder"];

#[test]
fn the_names_of_client_go_are_found_by_the_search_of_the_documentation() {
    let guide = fs::read_to_string("docs/client-go.md").unwrap();
    let rows = guide.lines().filter(|line| line.starts_with('|') && !line.starts_with("|--"));
    let spans = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let is_name = |span: &&str| span.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let names: Vec<_> =
        spans.filter(is_name).map(|span| span.rsplit('.').next().unwrap()).collect();
    assert!(names.len() > 60, "{names:?}");
    let known = searchable(Path::new("src"));
    let lost: Vec<_> = names
        .into_iter()
        .filter(|name| !known.contains(&name.to_lowercase()) && !NOT_HERE.contains(name))
        .collect();
    assert_eq!(lost, [""; 0], "give them to an item as #[doc(alias)]");
}

/// What items are called, and their aliases; the search disregards case and underscores.
fn searchable(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(searchable(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().map(str::trim) {
            if let Some(alias) = line.strip_prefix("#[doc(alias = \"") {
                found.extend(alias.split_once('"').map(|(alias, _)| alias.to_lowercase()));
            }
            let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let is_item =
                |word: &str| ["struct", "enum", "trait", "type", "fn", "mod"].contains(&word);
            for pair in words.windows(2).filter(|pair| is_item(pair[0])) {
                found.insert(pair[1].replace('_', "").to_lowercase());
            }
            // A variant.
            let first = words.first().filter(|word| word.starts_with(char::is_uppercase));
            found.extend(first.map(|word| word.to_lowercase()));
        }
    }
    found
}
