//! Programs that get more privileges when they start.
//!
//! For such a program the kernel sets `AT_SECURE`, and then the loader ignores our library. The
//! kernel sets it if the program runs as a user or group that differs from its starter's. For users
//! other than root, the kernel also sets it if the program gets capabilities. So root can record a
//! program that is setuid root, since nothing changes. If the file system or the process does not
//! allow a program to get privileges, the program gets none, and can be recorded.

use std::fs::{File, metadata};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getgid, getuid};

use crate::failure::{CANNOT_RECORD, Failure};

const SETUID: u32 = 0o4000;
/// The setgid bit, and the group's right to execute. Without that right the setgid bit changes no
/// group; it used to mean mandatory locking.
const SETGID_AND_EXECUTE: u32 = 0o2010;
const CAPABILITIES: &str = "security.capability";

/// Checks that this executable starts without other privileges.
///
/// # Errors
/// With [`CANNOT_RECORD`] and the reason.
pub fn check(path: &Path) -> Result<(), Failure> {
    let Ok(meta) = metadata(path) else {
        return Ok(());
    };
    let bits = meta.mode();
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let (gains, hint) = if bits & SETUID != 0 && meta.uid() != user {
        ("runs as another user (setuid)", "record as that user, or record a copy without this bit")
    } else if bits & SETGID_AND_EXECUTE == SETGID_AND_EXECUTE && meta.gid() != group {
        (
            "runs as another group (setgid)",
            "record in a shell of that group (`newgrp GROUP`), or record a copy without this bit",
        )
    } else if user != 0 && gains_capabilities(path) {
        ("gains capabilities", "record as root, or record a copy without capabilities")
    } else {
        return Ok(());
    };
    if forbidden(path) {
        return Ok(());
    }
    let name = path.display();
    let message =
        format!("can't load a library into {name}: it {gains}, so the loader ignores LD_PRELOAD");
    Err(Failure::message(CANNOT_RECORD, message).hint(hint))
}

/// Whether the file gives the program capabilities: they are permitted, or a flag makes them
/// effective at once.
fn gains_capabilities(path: &Path) -> bool {
    match xattr::get_deref(path, CAPABILITIES) {
        Ok(Some(value)) => gives(&value),
        _ => false,
    }
}

/// Whether this value of the kernel's `vfs_cap_data` gives a program capabilities. The value begins
/// with a word that holds the version and flags. For each 32 capabilities, two words follow: one of
/// permitted capabilities and one of inheritable ones.
fn gives(value: &[u8]) -> bool {
    let effective = value.first().is_some_and(|flags| flags & 1 != 0);
    let permitted = |pair: &[u8]| pair.iter().take(4).any(|&b| b != 0);
    effective || value.iter().as_slice().get(4..20).unwrap_or_default().chunks(8).any(permitted)
}

/// Whether the file system or this process does not allow programs to get privileges.
fn forbidden(path: &Path) -> bool {
    let nosuid = statvfs(path).is_ok_and(|fs| fs.flags().contains(FsFlags::ST_NOSUID));
    nosuid || no_new_privileges()
}

fn no_new_privileges() -> bool {
    let Ok(status) = File::open("/proc/self/status") else {
        return false;
    };
    BufReader::new(status)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|value| value.trim() == "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_count_when_effective_or_permitted() {
        let value = |flags: u8, permitted: u8, inheritable: u8| {
            let mut bytes = [0; 20];
            (bytes[0], bytes[3], bytes[4], bytes[8]) = (flags, 2, permitted, inheritable);
            bytes
        };
        assert!(gives(&value(1, 0, 0)));
        assert!(gives(&value(0, 1, 0)));
        assert!(!gives(&value(0, 0, 1)), "only for those who inherit them");
        assert!(!gives(&[]));
    }
}
