//! Noticing that files changed on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

/// How often files are looked at, at the most.
const INTERVAL: Duration = Duration::from_secs(1);

/// A set of files and what they looked like when they were last read.
///
/// Follows symbolic links, so that it sees a kubelet swap the directory behind a mounted secret.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<(PathBuf, Option<Stamp>)>,
    looked: Instant,
}

#[derive(Debug, Eq, PartialEq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Files {
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>, now: Instant) -> Self {
        let files = paths.into_iter().map(|path| {
            let stamp = stamp(&path).ok();
            (path, stamp)
        });
        Self { files: files.collect(), looked: now }
    }

    /// Whether any file changed since the last time it was so; looks at most once a second.
    ///
    /// A file that has vanished has not changed: it is being replaced, or somebody made a mistake, and
    /// either way what was read from it is the best there is.
    pub(crate) fn changed(&mut self, now: Instant) -> bool {
        if self.files.is_empty() || now.saturating_duration_since(self.looked) < INTERVAL {
            return false;
        }
        self.changed_now(now)
    }

    /// The same without the limit, for when there is reason to think so.
    pub(crate) fn changed_now(&mut self, now: Instant) -> bool {
        self.looked = now;
        let mut changed = false;
        for (path, last) in &mut self.files {
            if let Ok(found) = stamp(path)
                && last.as_ref() != Some(&found)
            {
                *last = Some(found);
                changed = true;
            }
        }
        changed
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    Ok(Stamp {
        modified: metadata.modified()?,
        length: metadata.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&metadata),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_once_and_at_most_every_second() {
        let path = std::env::temp_dir().join(format!("kinf-files-{}", std::process::id()));
        fs::write(&path, "a").unwrap();
        let start = Instant::now();
        let mut files = Files::new([path.clone()], start);
        fs::write(&path, "ab").unwrap();
        assert!(!files.changed(start + INTERVAL / 2), "too soon");
        assert!(files.changed(start + INTERVAL));
        assert!(!files.changed(start + 2 * INTERVAL), "seen already");
        fs::remove_file(&path).unwrap();
        assert!(!files.changed(start + 3 * INTERVAL), "a vanished file keeps its last content");
        fs::write(&path, "abc").unwrap();
        assert!(files.changed_now(start + 3 * INTERVAL));
        fs::remove_file(&path).unwrap();
    }
}
