//! Translates numbers of processes and threads. A process may have a different number in each of
//! the namespaces of process numbers that it is in. A recording has the number that the process has
//! for itself, and `/proc` has its number in the namespace of the process that reads `/proc`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The number that a process or thread has for itself, and whether it is in another namespace than
/// this process. `folder` is its folder in `/proc`. `None` if the folder can't be read, as after
/// the thread's end.
pub fn own(folder: &Path) -> Option<(u32, bool)> {
    of_status(&fs::read_to_string(folder.join("status")).ok()?)
}

/// Reads the result of [`own`] from the text of the file `status`. The process's own number comes
/// last, after those in the surrounding namespaces.
fn of_status(status: &str) -> Option<(u32, bool)> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let mut numbers = numbers.split_whitespace().rev();
    Some((numbers.next()?.parse().ok()?, numbers.next().is_some()))
}

/// Whether a process maps the file of a recording that has this inode number.
pub(crate) fn maps(pid: u32, inode: u64) -> io::Result<bool> {
    let maps = fs::read(format!("/proc/{pid}/maps"))?;
    Ok(maps.split(|&byte| byte == b'\n').any(|line| is_of(line, inode)))
}

/// Whether this line of a process's `maps` is for a file of a recording with this inode number.
fn is_of(line: &[u8], inode: u64) -> bool {
    const INODE: usize = 4;
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let number = words.nth(INODE).and_then(|word| str::from_utf8(word).ok()?.parse().ok());
    number == Some(inode) && line.ends_with(b".syncline")
}

/// The process in another namespace that has the number `own` for itself and maps this file; `None`
/// if there is none.
pub(crate) fn elsewhere(own: u32, inode: u64) -> Option<u32> {
    let namespace = |folder: &Path| fs::read_link(folder.join("ns/pid"));
    let here = namespace(Path::new("/proc/self")).ok()?;
    let pids = fs::read_dir("/proc").into_iter().flatten();
    let mut pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|&pid: &u32| {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        // The cheapest test is done first.
        namespace(&folder).is_ok_and(|its| its != here)
            && self::own(&folder) == Some((own, true))
            && maps(pid, inode).unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_that_of_the_own_namespace() {
        assert_eq!(of_status("Name:\tsh\nNSpid:\t17\nNSsid:\t1\n"), Some((17, false)));
        assert_eq!(of_status("NSpid:\t1017\t17\t1\n"), Some((1, true)));
        assert_eq!(of_status(""), None);
    }

    #[test]
    fn a_line_of_the_maps_names_its_file() {
        let line = b"7f00-7f10 rw-s 00000000 fe:00 1234       /a/rec b/41.syncline";
        assert!(is_of(line, 1234));
        assert!(!is_of(line, 123));
        assert!(!is_of(b"7f00-7f10 rw-s 00000000 fe:00 1234   /a/rec/41.trace", 1234));
        assert!(!is_of(b"7f00-7f10 rw-s 00000000", 0) && !is_of(b"", 0));
    }
}
