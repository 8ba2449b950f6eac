//! The shortest load: processes that make, read, rename and remove files in folders of their own and in
//! one that they share, and send each other bytes through pipes.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

const PROCESSES: usize = 8;

/// Runs it.
///
/// # Errors
/// In words.
pub fn run(scale: u32) -> Result<(), String> {
    fs::create_dir_all("/tmp/shared").map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    for number in 0..PROCESSES {
        // SAFETY: this process has one thread, so its child may do what it likes.
        match unsafe { libc::fork() } {
            -1 => return Err(format!("fork: {}", io::Error::last_os_error())),
            0 => {
                let failed = work(number, scale).is_err();
                // SAFETY: ends this process and nothing else.
                unsafe { libc::_exit(failed.into()) };
            }
            child => children.push(child),
        }
    }
    let mut failed = 0;
    for child in children {
        let mut status = 0;
        // SAFETY: the status is this function's own.
        unsafe { libc::waitpid(child, &mut status, 0) };
        failed += u32::from(status != 0);
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} processes failed")) }
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
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new descriptors that nobody else knows.
    let [from, to] = ends.map(|end| fs::File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    Ok((from, to))
}
