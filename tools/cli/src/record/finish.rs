//! The work after the program has ended: cut the files to the length that is used, and tell the
//! user what was recorded and what to do next.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{Read, Write, stderr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bytemuck::{Zeroable, bytes_of_mut};
use syncline_recording::Writers;
use syncline_recording::layout::{Header, MAGIC, UNIT, VERSION};

use super::folder::Folder;
use crate::quoted::typed;
use crate::terminal::to_terminal;
use syncline_present::number::{self, counted};

/// The state of a recording's folder after the program has ended.
pub struct Tidied {
    /// Whether no process has recorded anything.
    pub empty: bool,
    /// Whether the disk had no room for a process.
    pub full: bool,
    /// Whether a process still writes to the folder.
    pub in_use: bool,
}

/// Cuts the folder's files, and tells the user on standard error what was recorded.
pub fn tidy_and_summarize(folder: &Folder, shown: &Path) -> Tidied {
    tidy(folder, shown, &Writers::of_newer(folder.path()))
}

/// Like [`tidy_and_summarize`], for a process that ran before Syncline attached to it.
pub fn tidy_of_older(folder: &Folder, shown: &Path) -> Tidied {
    tidy(folder, shown, &Writers::of(folder.path()))
}

fn tidy(folder: &Folder, shown: &Path, writers: &Writers) -> Tidied {
    let mut files = Vec::new();
    let mut processes = BTreeSet::new();
    let mut full = false;
    folder.for_each_file("syncline", |path, file, meta| {
        // An empty file belongs to a process that could not begin to record.
        full |= meta.len() == 0;
        let Some(read) = ProcessFile::read(&file, meta) else { return };
        full |= read.header.disk_full != 0;
        processes.extend(syncline_recording::processes(&path).into_iter().filter_map(|p| p.1));
        if !writers.has(&path, read.header.pid) {
            read.cut(&file, meta);
        }
        files.push(read);
    });
    let running = writers.processes().len();
    say(&summary(&files, processes.len(), running, full, shown));
    Tidied { empty: files.is_empty(), full, in_use: running > 0 }
}

/// Tells the user which command to run next.
pub fn say_what_to_do(folder: &Path) {
    say(&format!("syncline: now run `syncline report {}`\n", typed(folder)));
}

fn say(text: &str) {
    // An error is ignored: standard error may be closed, and the recording is complete in any case.
    let _ = stderr().write_all(to_terminal(text).as_bytes());
}

fn summary(
    files: &[ProcessFile],
    processes: usize,
    running: usize,
    full: bool,
    folder: &Path,
) -> String {
    let (folder, typed) = (folder.display(), typed(folder));
    if files.is_empty() && full {
        return format!("syncline: nothing was recorded in {folder}\n");
    }
    if files.is_empty() {
        return format!(
            "syncline: nothing was recorded in {folder}: no process made a call that Syncline counts\n\
             hint: a lock that the program implements itself is seen only if a thread waits for it in the \
             kernel. A program that the recorded program starts is not seen if it is static or setuid, \
             or if its environment was cleared; in the last case, record it directly\n"
        );
    }
    let threads: u64 = files.iter().map(|file| u64::from(file.header.threads.count)).sum();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let mut text = format!(
        "syncline: recorded {} and {} in {folder} ({})\n",
        counted(processes, "process"),
        counted(threads as usize, "thread"),
        number::bytes(bytes),
    );
    if running > 0 {
        let run = if running == 1 { "runs" } else { "run" };
        let these = format!("{} still {run}", counted(running, "process"));
        text += &format!("syncline: {these} and may add to it; see `syncline top {typed}`\n");
    }
    text
}

/// The needed parts of a process's file: its header and its size.
struct ProcessFile {
    header: Header,
    /// The space that the file takes on the disk.
    bytes: u64,
}

impl ProcessFile {
    /// Reads the header. Returns `None` if it can't be read, or if the file is not a recording of
    /// this version.
    fn read(mut file: &File, meta: &Metadata) -> Option<ProcessFile> {
        let mut header = Header::zeroed();
        file.read_exact(bytes_of_mut(&mut header)).ok()?;
        let ours = header.magic == MAGIC && header.version == VERSION;
        ours.then_some(ProcessFile { header, bytes: meta.blocks() * 512 })
    }

    /// Cuts the file to the length that is used. If this fails, the file stays longer than needed,
    /// but takes no more space.
    fn cut(&self, file: &File, meta: &Metadata) {
        let used = self.header.arena_used.min(self.header.arena_capacity).checked_mul(UNIT);
        let length = used.and_then(|used| used.checked_add(self.header.arena_offset));
        if let Some(length) = length.filter(|&length| length < meta.len()) {
            let _ = file.set_len(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_is_explained() {
        assert!(summary(&[], 0, 0, false, Path::new("d")).contains("nothing was recorded in d"));
    }
}
