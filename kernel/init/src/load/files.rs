//! Creates, renames, reads and removes files in 64 directories of ext4, with one process more than
//! there are processors.

use std::io;
use std::{fs, thread};

use super::processes::processes;
use crate::machine;

const FOLDERS: usize = 64;
const DISK: &str = "/dev/nvme0n1";

/// Mounts the disk and makes the folders; this part is not recorded.
///
/// # Errors
/// A message that says what failed.
pub fn prepare() -> Result<(), String> {
    let failed = |error: io::Error| format!("can't mount {DISK}: {error}");
    fs::create_dir_all("/disk").map_err(failed)?;
    machine::mount(DISK, "ext4", "/disk").map_err(failed)?;
    for folder in 0..FOLDERS {
        fs::create_dir_all(format!("/disk/{folder}")).map_err(failed)?;
    }
    Ok(())
}

/// Runs the load.
///
/// # Errors
/// A message that says what failed.
pub fn run(scale: u32) -> Result<(), String> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    processes(processors + 1, &|number| work(number, scale))
}

fn work(number: usize, scale: u32) -> io::Result<()> {
    for round in 0..100 * scale as usize {
        let folder = format!("/disk/{}", (7 * number + round) % FOLDERS);
        let other = format!("/disk/{}", (13 * number + round) % FOLDERS);
        let (path, moved) = (format!("{folder}/{number}.new"), format!("{other}/{number}.moved"));
        fs::write(&path, vec![b'x'; 5000])?;
        fs::rename(&path, &moved)?;
        assert_eq!(fs::read(&moved)?.len(), 5000);
        fs::read_dir(&other)?.for_each(drop);
        fs::remove_file(&moved)?;
    }
    Ok(())
}
