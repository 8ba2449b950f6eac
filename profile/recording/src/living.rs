//! Finds the running processes of a recording, and their numbers in this process's namespace.

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
    /// The number of each process in this namespace, by the process's name in the recording; `None`
    /// if the process was not found.
    known: HashMap<PathBuf, Option<u32>>,
}

impl Living {
    /// The running processes of the recording in this folder. None has been searched for yet.
    pub fn of(folder: &Path) -> Living {
        Living { folder: folder.to_owned(), known: HashMap::new() }
    }

    /// The numbers of all running processes in this namespace. Each process is searched for only
    /// once.
    pub fn numbers(&mut self) -> Vec<u32> {
        let mut known = HashMap::new();
        for file in files(&self.folder, "syncline").unwrap_or_default() {
            let Ok(inode) = fs::metadata(&file).map(|meta| meta.ino()) else { continue };
            // If the first process of the file was found in this namespace, its children are not
            // searched for in other namespaces. A child that is not found has usually ended.
            let mut is_here = false;
            for (process, own) in family::running(&file) {
                let find = || match numbers::maps(own, inode) {
                    Ok(true) => Some(own),
                    _ if is_here => None,
                    // This user may not inspect the process of that number. If no other process
                    // fits, it is taken to be the right one. (The sampler reports that it may not
                    // inspect it.)
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
