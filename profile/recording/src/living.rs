//! The processes of a recording that run, by the numbers by which this process calls them.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::folder::files;
use crate::{family, numbers};

/// The processes of a recording that run.
#[derive(Debug)]
pub struct Living {
    folder: PathBuf,
    /// Each by its name in the recording, with its number here; `None` if it was not found.
    known: HashMap<PathBuf, Option<u32>>,
}

impl Living {
    /// Those of a folder, in which programs may still be recorded.
    pub fn of(folder: &Path) -> Living {
        Living { folder: folder.to_owned(), known: HashMap::new() }
    }

    /// Their numbers here. Each process is looked for once.
    pub fn numbers(&mut self) -> Vec<u32> {
        let mut known = HashMap::new();
        for file in files(&self.folder, "syncline").unwrap_or_default() {
            let Ok(inode) = fs::metadata(&file).map(|meta| meta.ino()) else { continue };
            // All processes are looked through only where the first one is in another namespace: most that are
            // not found have ended.
            let mut is_here = false;
            for (process, own) in family::running(&file) {
                let find = || match numbers::maps(own, inode) {
                    Ok(true) => Some(own),
                    _ if is_here => None,
                    // This process is not allowed to inspect that process. If it is the right one,
                    // the sampler reports that.
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
