//! The running processes of a recording, by their numbers in this process's namespace.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::folder::files;
use crate::{family, numbers};

/// The running processes of a recording.
#[derive(Debug)]
pub struct Living {
    folder: PathBuf,
    /// Number of each process in this namespace, by its name in the recording; `None` if it was not
    /// found.
    known: HashMap<PathBuf, Option<u32>>,
}

impl Living {
    /// Those of a folder that may still be recorded into.
    pub fn of(folder: &Path) -> Living {
        Living { folder: folder.to_owned(), known: HashMap::new() }
    }

    /// Their numbers in this namespace. Each process is searched for once.
    pub fn numbers(&mut self) -> Vec<u32> {
        let mut known = HashMap::new();
        for file in files(&self.folder, "syncline").unwrap_or_default() {
            let Ok(inode) = fs::metadata(&file).map(|meta| meta.ino()) else { continue };
            // If the first process of the file was found in this namespace, the machine's other
            // processes are not searched: one that is not found has usually ended.
            let mut is_here = false;
            for (process, own) in family::running(&file) {
                let find = || match numbers::maps(own, inode) {
                    Ok(true) => Some(own),
                    _ if is_here => None,
                    // We are not allowed to inspect that process. If it is the right one, the
                    // sampler reports that.
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        numbers::elsewhere(own, inode).or(Some(own))
                    }
                    _ => numbers::elsewhere(own, inode),
                };
                let here = self.known.get(&process).copied().unwrap_or_else(find);
                is_here |= process == file && here == Some(own);
                known.insert(process, here);
            }
        }
        self.known = known;
        self.known.values().copied().flatten().collect()
    }
}
