//! After the program has ended: cuts the files to the length that they used, and says what
//! was recorded and what to do next.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write, stderr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytemuck::{Zeroable, bytes_of_mut};
use syncline_recording::layout::{Header, MAGIC, UNIT, VERSION};
use syncline_recording::process_files;

use super::folder::Folder;
use crate::words::{counted, size};
use crate::writers::Writers;

/// Tidies the folder and tells the user, on standard error, what is in it.
pub fn tidy_and_summarize(folder: &Folder, shown: &Path) {
    let writers = Writers::of_newer(folder.path());
    let files = process_files(folder.path()).unwrap_or_default();
    let files: Vec<_> = files.into_iter().filter_map(ProcessFile::read).collect();
    for file in files.iter().filter(|file| !writers.has(&file.path, file.header.pid)) {
        file.cut();
    }
    let running = writers.processes().len();
    if running == 0 {
        folder.close();
    }
    // Standard error may be closed; the recording is complete all the same.
    let _ = stderr().write_all(summary(&files, running, shown).as_bytes());
}

fn summary(files: &[ProcessFile], running: usize, folder: &Path) -> String {
    let folder = folder.display();
    if files.is_empty() {
        return format!(
            "syncline: nothing was recorded in {folder}: no process made a call that Syncline counts\n\
             hint: a lock that a program takes with its own instructions is seen only when it waits;\n\
             a program that another one starts is not seen if it is static or setuid, or if its\n\
             environment was cleared: record such a program by itself\n"
        );
    }
    let processes: BTreeSet<u32> = files.iter().map(|file| file.header.pid).collect();
    let threads: u64 = files.iter().map(|file| u64::from(file.header.threads.count)).sum();
    let bytes: u64 = files.iter().map(ProcessFile::bytes).sum();
    let mut text = format!(
        "syncline: recorded {} and {} in {folder} ({})\n",
        counted(processes.len() as u64, "process", "processes"),
        counted(threads, "thread", "threads"),
        size(bytes),
    );
    if running > 0 {
        let these = counted(running as u64, "process still runs", "processes still run");
        text += &format!("syncline: {these} and may add to it; see `syncline top {folder}`\n");
    }
    text + &format!("syncline: now run `syncline report {folder}`\n")
}

/// A process's file, as far as its first page.
struct ProcessFile {
    path: PathBuf,
    header: Header,
}

impl ProcessFile {
    /// Reads the first page; none if the file is not what its name says.
    fn read(path: PathBuf) -> Option<ProcessFile> {
        let mut header = Header::zeroed();
        File::open(&path).ok()?.read_exact(bytes_of_mut(&mut header)).ok()?;
        let ours = header.magic == MAGIC && header.version == VERSION;
        ours.then_some(ProcessFile { path, header })
    }

    /// Cuts off what the file could have grown into. Failing leaves a file that is only
    /// longer than it needs to be, and takes no more space.
    fn cut(&self) {
        let used = self.header.arena_used.min(self.header.arena_capacity).checked_mul(UNIT);
        let Some(length) = used.and_then(|used| used.checked_add(self.header.arena_offset)) else {
            return;
        };
        if let Ok(file) = OpenOptions::new().write(true).open(&self.path)
            && file.metadata().is_ok_and(|meta| meta.len() > length)
        {
            let _ = file.set_len(length);
        }
    }

    /// The space that it takes on disk.
    fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.blocks() * 512)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_is_explained() {
        assert!(summary(&[], 0, Path::new("d")).contains("nothing was recorded in d"));
    }
}
