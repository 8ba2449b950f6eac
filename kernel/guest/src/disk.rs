//! A disk for the guest: an empty ext4 file system, made by `mke2fs` without privileges.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Size of the disk in bytes.
const SIZE: u64 = 256 << 20;

/// Makes the disk.
///
/// # Errors
/// [`Error::Missing`] without `mke2fs`; [`Error::Image`] with what `mke2fs` printed, if it fails;
/// [`Error::Io`] if the file can't be written or `mke2fs` can't be run.
pub fn make(path: &Path) -> Result<(), Error> {
    File::create(path)?.set_len(SIZE)?;
    let mut command = Command::new("/sbin/mke2fs");
    command.args(["-q", "-F", "-t", "ext4"]).arg(path).stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { program: "mke2fs", package: "e2fsprogs" },
        _ => error.into(),
    })?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(Error::Image(format!("mke2fs can't make a disk: {}", why.trim())))
        }
    }
}
