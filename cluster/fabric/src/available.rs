//! How much memory this machine has left.

use std::fs;

/// The bytes of memory that can be taken before the kernel has to swap or to kill a process, or `None`
/// if the kernel does not say. In a container that has its own limit, at most what is left of the limit.
pub fn available_memory() -> Option<u64> {
    let read = |file: &str| fs::read_to_string(file).ok();
    let machine = parse(&read("/proc/meminfo")?)?;
    // In a container, its own group of processes is mounted here.
    let group = |name: &str| read(&format!("/sys/fs/cgroup/memory.{name}"))?.trim().parse().ok();
    let left = |most: u64| Some(most.saturating_sub(group("current")?));
    Some(group("max").and_then(left).map_or(machine, |left| left.min(machine)))
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:   1024 kB\n"), Some(1024 << 10));
        assert_eq!(parse("MemTotal: 9 kB\n"), None);
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
