//! The cost of recording a whole program: time and memory, as for every command, and disk space.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::compare::{Change, Measure};
use crate::process::Finished;
use crate::programs::{self, Aims};

/// The unit of a file's allocated size.
const BLOCK_BYTES: u64 = 512;

pub const SIZE: &str = "recording MiB";

pub fn measures() -> Vec<Measure> {
    let mut measures = programs::measures(Aims { time: None, memory: None });
    measures.push(Measure { label: SIZE, change: Change::Added, aim: None });
    measures
}

/// The values of [`measures`], in the same order. If nothing was recorded, the disk space is 0.
pub fn figures(finished: &Finished, recording: Option<&Path>) -> io::Result<Vec<f64>> {
    let mut figures = programs::used(finished);
    let bytes = recording.map_or(Ok(0), bytes_on_disk)?;
    figures.push(bytes as f64 / f64::from(1 << 20));
    Ok(figures)
}

/// The disk space of all files in a folder. The length of a recording's files is greater than their
/// disk space, since most of their pages are never written.
fn bytes_on_disk(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += about.blocks() * BLOCK_BYTES;
        if about.is_dir() {
            bytes += bytes_on_disk(&entry.path())?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn sparse_files_count_only_written_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let size = || bytes_on_disk(folder.path()).unwrap();
        File::create(folder.path().join("sparse")).unwrap().set_len(1 << 30).unwrap();
        let before = size();
        assert!(before < 1 << 20, "{before}");
        fs::create_dir(folder.path().join("others")).unwrap();
        fs::write(folder.path().join("others/written"), vec![1; 1 << 20]).unwrap();
        assert!(size() >= before + (1 << 20), "{}", size());
    }
}
