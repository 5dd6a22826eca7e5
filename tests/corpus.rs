//! Replays the corpus of the fuzz targets, each input also cut short and with bytes changed.

#![allow(clippy::unwrap_used, reason = "a corpus that cannot be read fails the test")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use kinformer::fuzzing;

/// A test for each target, and a list of them.
macro_rules! replay {
    ($($target:ident),*) => {
        const TARGETS: &[&str] = &[$(stringify!($target)),*];

        $(#[test]
        fn $target() {
            replay(stringify!($target), fuzzing::$target);
        })*
    };
}

replay!(
    alike_objects,
    delta_fifo,
    http_answers,
    kubeconfig,
    labels,
    list_stream,
    object_meta,
    reflector,
    store_index,
    watch_frames
);

#[test]
fn every_target_has_a_corpus_and_is_replayed() {
    let targets: BTreeSet<_> = TARGETS.iter().copied().map(str::to_owned).collect();
    assert_eq!(names("fuzz/corpus", ""), targets);
    assert_eq!(names("fuzz/fuzz_targets", ".rs"), targets);
}

fn replay(target: &str, run: fn(&[u8])) {
    let mut count = 0;
    for entry in fs::read_dir(folder("fuzz/corpus").join(target)).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        run(&input);
        // Long ones in about a hundred places.
        let step = input.len() / 100 + 1;
        for end in (0..input.len()).step_by(step) {
            run(&input[..end]);
        }
        for at in (0..input.len()).step_by(step) {
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

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn names(path: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(path)).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let names = entries.map(|entry| name(entry.unwrap()));
    names.map(|name| name.strip_suffix(extension).unwrap().to_owned()).collect()
}
