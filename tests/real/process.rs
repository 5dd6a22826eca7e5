//! What this process uses.

/// How many threads of the library there are, and how many open descriptors.
pub(crate) fn threads_and_descriptors() -> (usize, usize) {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let ours = names.filter(|name| name.starts_with("kinf-")).count();
    (ours, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Resident memory in MB.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
