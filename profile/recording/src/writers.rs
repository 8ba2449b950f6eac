//! Finds the processes that still write to a recording.
//!
//! A process has mapped the file that it writes to, so the `maps` in `/proc` show which processes
//! write. The process number in the file would not be enough, since the number may have been
//! reused, or be one inside a container. A forked process that has no file of its own yet still has
//! its parent's mapped, so it is found too. It may make a file of its own at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{File, metadata, read, read_dir};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::folder;

/// The processes that have files of one recording mapped.
#[derive(Default)]
pub struct Writers {
    by_file: BTreeMap<OsString, BTreeSet<u32>>,
}

impl Writers {
    /// Searches all processes whose `maps` may be read.
    pub fn of(folder: &Path) -> Writers {
        Writers::search(folder, |_| true)
    }

    /// Searches only the processes that did not begin before this one (among them all its
    /// descendants), and those whose beginning can't be read. That is faster, since to read when a
    /// process began takes much less time than to read its `maps`.
    pub fn of_newer(folder: &Path) -> Writers {
        let own = began("self");
        Writers::search(folder, |process| began(process).is_none_or(|began| Some(began) >= own))
    }

    fn search(folder: &Path, is_one: impl Fn(&str) -> bool) -> Writers {
        let mut writers = Writers::default();
        let Ok(entries) = read_dir("/proc") else {
            return writers;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| Some((name, name.parse().ok()?)));
            if let Some((name, process)) = process
                && is_one(name)
                && let Ok(maps) = read(entry.path().join("maps"))
            {
                writers.add(process, &maps, folder);
            }
        }
        writers
    }

    fn add(&mut self, process: u32, maps: &[u8], folder: &Path) {
        for line in maps.split(|&b| b == b'\n').filter(|line| is_mapping_of_recording(line)) {
            let path = line.iter().position(|&b| b == b'/').unwrap_or(0);
            let path = Path::new(OsStr::from_bytes(&line[path..]));
            if let Some(name) = in_folder(path, folder) {
                self.by_file.entry(name.to_owned()).or_default().insert(process);
            }
        }
    }

    /// All processes that were found, each once.
    pub fn processes(&self) -> BTreeSet<u32> {
        self.by_file.values().flatten().copied().collect()
    }

    /// Whether a process may still write to this file. `process` is the number in the file's
    /// header. The result is true if that is not certain, since to cut a file that is in use would
    /// kill its process.
    pub fn has(&self, file: &Path, process: u32) -> bool {
        let maps = format!("/proc/{process}/maps");
        let hidden = Path::new(&maps).exists() && read(&maps).is_err();
        hidden || file.file_name().is_some_and(|name| self.by_file.contains_key(name))
    }
}

/// When a process began, in the kernel's ticks; `None` if that can't be read.
fn began(process: &str) -> Option<u64> {
    /// The index of this time among those fields of `/proc/PID/stat` that follow the process's
    /// name, which may contain anything.
    const START_TIME: usize = 19;
    /// Larger than the file ever is, so that one system call reads all of it. That matters because
    /// it is done for each process of the machine.
    const LONGEST: usize = 1024;
    let mut stat = [0; LONGEST];
    let length = File::open(format!("/proc/{process}/stat")).ok()?.read(&mut stat).ok()?;
    let name_ends = stat[..length].iter().rposition(|&byte| byte == b')')?;
    let stat = str::from_utf8(&stat[name_ends + 1..length]).ok()?;
    stat.split_whitespace().nth(START_TIME)?.parse().ok()
}

/// Whether this line of a process's `maps` is for a file of a recording or of a trace.
fn is_mapping_of_recording(line: &[u8]) -> bool {
    line.ends_with(b".syncline") || line.ends_with(b".trace")
}

/// The name of a mapped file, if the file belongs to this folder; otherwise `None`. The process may
/// see other mounts than this one. So if its path does not exist here, it is enough that the file's
/// folder has the same name.
fn in_folder<'a>(path: &'a Path, folder: &Path) -> Option<&'a OsStr> {
    let identity = |path: &Path| metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let name = path.file_name()?;
    let mut inside = path.parent()?;
    loop {
        let ours = folder.join(path.strip_prefix(inside).ok()?);
        let alike = inside.file_name() == folder.file_name();
        let is_same = || identity(path).is_none_or(|here| identity(&ours) == Some(here));
        if path == ours || alike && is_same() {
            return Some(name);
        }
        // The file may be in a subfolder for another run or for processes of other users.
        let subfolder = inside.file_name()?.as_bytes();
        let starts = [folder::RUN, folder::OTHERS];
        starts.iter().find(|start| subfolder.starts_with(start.as_bytes()))?;
        inside = inside.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_the_files_in_its_maps() {
        let maps = "7f00-7f10 rw-s 0000 fe:00 12   /a/rec/41.syncline\n\
                    7f10-7f20 rw-s 0000 fe:00 13   /a/other/43.syncline\n\
                    7f20-7f30 r-xp 0000 fe:00 14   /usr/lib/libc.so.6\n";
        let mut writers = Writers::default();
        writers.add(42, maps.as_bytes(), Path::new("/a/rec"));
        assert_eq!(writers.processes(), [42].into());
        let unused = u32::MAX;
        assert!(writers.has(Path::new("/a/rec/41.syncline"), unused));
        assert!(!writers.has(Path::new("/a/rec/1.syncline"), unused));
        assert!(!writers.has(Path::new("/a/rec/43.syncline"), unused));
    }

    #[test]
    fn process_start_times_are_ordered() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let own = began("self");
        assert!(own.is_some() && began(&child.id().to_string()) >= own);
        assert!(began("1") < own);
        assert_eq!(began("no process"), None);
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn recordings_of_the_same_name_are_distinguished() {
        let place = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| place.path().join(name).join("rec"));
        for folder in [&one, &two] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("1.syncline"), "").unwrap();
            std::fs::create_dir(folder.join("others-7")).unwrap();
            std::fs::write(folder.join("others-7/1.syncline"), "").unwrap();
            std::fs::create_dir_all(folder.join("run-2/others-8")).unwrap();
            std::fs::write(folder.join("run-2/others-8/1.syncline"), "").unwrap();
        }
        let mapped = one.join("1.syncline");
        assert!(in_folder(&mapped, &one).is_some());
        assert!(in_folder(&mapped, &two).is_none());
        assert!(in_folder("/seen/by/others/rec/1.syncline".as_ref(), &one).is_some());
        assert!(in_folder(&one.join("others-7/1.syncline"), &one).is_some());
        assert!(in_folder(&one.join("others-7/1.syncline"), &two).is_none());
        let run = one.join("run-2/others-8/1.syncline");
        assert!(in_folder(&run, &one).is_some() && in_folder(&run, &one.join("run-2")).is_some());
        assert!(in_folder(&run, &two).is_none() && in_folder(&run, &two.join("run-2")).is_none());
    }
}
