//! The shortest load: processes create, read, rename and remove files in folders of their own and
//! in a shared one, and each writes to a pipe and reads from it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

use super::processes::processes;

const PROCESSES: usize = 8;

/// Runs the load.
///
/// # Errors
/// A message that says what failed.
pub fn run(scale: u32) -> Result<(), String> {
    fs::create_dir_all("/tmp/shared").map_err(|error| error.to_string())?;
    processes(PROCESSES, &|number| work(number, scale))
}

fn work(number: usize, scale: u32) -> io::Result<()> {
    let own = format!("/tmp/{number}");
    fs::create_dir_all(&own)?;
    let (mut from, mut to) = pipe()?;
    for round in 0..20 * scale {
        for folder in [own.as_str(), "/tmp/shared"] {
            let path = format!("{folder}/{number}.{round}");
            let moved = format!("{folder}/moved.{number}");
            fs::write(&path, vec![b'x'; 6000])?;
            fs::rename(&path, &moved)?;
            assert_eq!(fs::read(&moved)?.len(), 6000);
            fs::read_dir(folder)?.for_each(drop);
            fs::remove_file(&moved)?;
        }
        let mut buffer = [0; 512];
        to.write_all(&buffer)?;
        from.read_exact(&mut buffer)?;
    }
    Ok(())
}

fn pipe() -> io::Result<(fs::File, fs::File)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptors are new and used nowhere else.
    let [from, to] = ends.map(|end| fs::File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    Ok((from, to))
}
