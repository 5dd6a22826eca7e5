//! Replays the corpus of the fuzz targets, each input also cut short and with bytes changed.

#![allow(clippy::unwrap_used, reason = "a corpus that cannot be read fails the test")]

use std::{fs, path::Path};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        run(&input);
        for end in 0..input.len() {
            run(&input[..end]);
        }
        for at in 0..input.len() {
            let mut changed = input.clone();
            for byte in *b"{]\"\\\xff" {
                changed[at] = byte;
                run(&changed);
            }
            changed.remove(at);
            run(&changed);
        }
        count += 1;
    }
    assert!(count > 5, "{count} inputs for {target}");
}

#[test]
fn json_stream() {
    replay("json_stream", kinformer::fuzzing::json_stream);
}

#[test]
fn list_page() {
    replay("list_page", kinformer::fuzzing::list_page);
}

#[test]
fn object_ingest() {
    replay("object_ingest", kinformer::fuzzing::object_ingest);
}

#[test]
fn watch_frame() {
    replay("watch_frame", kinformer::fuzzing::watch_frame);
}
