//! `docs/complaints.md` is true as far as a test can tell: each complaint has its row, each row an
//! answer, and each test that is named is there.

use std::{collections::BTreeMap, fs, path::Path};

/// How many complaints there are.
const COMPLAINTS: usize = 68;

/// One row of the table.
struct Row {
    number: usize,
    answer: String,
    shown_by: String,
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
}

fn rows() -> Vec<Row> {
    let text = read("docs/complaints.md").expect("the table");
    text.lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
            let number = cells.first()?.parse().ok()?;
            let [_, _, answer, shown_by] = cells[..] else { panic!("four cells: {line}") };
            Some(Row { number, answer: answer.to_owned(), shown_by: shown_by.to_owned() })
        })
        .collect()
}

#[test]
fn each_complaint_has_one_row() {
    let numbers: Vec<_> = rows().iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=COMPLAINTS).collect::<Vec<_>>());
}

#[test]
fn each_row_says_whether_it_can_happen_and_what_shows_it() {
    for Row { number, answer, shown_by } in rows() {
        let known = ["**Cannot happen", "**Happens", "**Partly"];
        assert!(known.iter().any(|known| answer.starts_with(known)), "{number}: {answer}");
        let has_test = !tests(&shown_by).is_empty();
        assert!(has_test || shown_by.starts_with("no test"), "{number}: {shown_by:?}");
        assert!(has_test || !answer.starts_with("**Cannot"), "{number}: nothing shows it");
    }
}

#[test]
fn every_test_that_is_named_exists() {
    let mut files = BTreeMap::new();
    for Row { number, shown_by, .. } in rows() {
        for name in tests(&shown_by) {
            let (file, function) = name.split_once("::").expect("file::function");
            let text = files.entry(file.to_owned()).or_insert_with(|| read(file));
            let text = text.as_ref().unwrap_or_else(|| panic!("{number}: no file {file}"));
            let is_there = match file.strip_suffix(".c") {
                Some(program) => text.contains(&format!(" {function}(")) && is_run(program),
                None => is_test(text, function),
            };
            assert!(is_there, "{number}: {file} has no test {function}");
        }
    }
    assert!(files.len() > 20, "the table names tests: {}", files.len());
}

#[test]
fn the_count_above_the_table_is_right() {
    let count = |word: &str| rows().iter().filter(|row| row.answer.starts_with(word)).count();
    let with_test = rows().iter().filter(|row| !tests(&row.shown_by).is_empty()).count();
    let expected = format!(
        "{} cannot happen, {} happen in part, {} happen; {with_test} rows have a test.",
        count("**Cannot happen"),
        count("**Partly"),
        count("**Happens"),
    );
    let text = read("docs/complaints.md").unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&expected), "it should say: {expected}");
}

/// What stands in back-quotes and looks like `path/file.rs::function`, or `.c`.
fn tests(cell: &str) -> Vec<&str> {
    let is_test = |name: &&str| name.contains(".rs::") || name.contains(".c::");
    cell.split('`').skip(1).step_by(2).filter(is_test).collect()
}

/// Whether `tests/c/run` or the examples' `make check` runs a program in C.
fn is_run(program: &str) -> bool {
    let name = Path::new(program).file_name().unwrap().to_str().unwrap();
    let lists = [("tests/c/run", "programs=\""), ("examples/c/Makefile", "EXAMPLES := ")];
    lists.iter().any(|(file, before)| {
        let text = read(file).unwrap();
        let list = text.lines().find_map(|line| line.strip_prefix(before)).unwrap();
        list.trim_end_matches('"').split(' ').any(|listed| listed == name)
    })
}

/// Whether a function of this name follows `#[test]`, with other attributes in between or not.
fn is_test(text: &str, function: &str) -> bool {
    let head = format!("fn {function}(");
    let Some(at) = text.find(&head) else { return false };
    let before = text[..at].trim_end().lines().rev();
    let mut attributes = before.take_while(|line| line.trim_start().starts_with('#'));
    attributes.any(|line| line.trim() == "#[test]")
}
