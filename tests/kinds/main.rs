//! The table of kinds is what k8s-openapi has, and what servers say.

#![allow(clippy::unwrap_used, reason = "a test")]

mod generate;

use std::{env, fs, path::Path};

#[test]
fn the_committed_table_is_what_the_sources_of_k8s_openapi_say() {
    let (versions, kinds) = generate::read();
    let table = generate::table(versions, &kinds);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/factory/kinds/table.rs");
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &table).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap();
    assert!(committed == table, "the table is out of date: BLESS=1 cargo test --test kinds");
}
