//! A process's own file, mapped for the rest of the process's life.
//!
//! The file is opened, sized, mapped, and closed again at once. If the descriptor stayed open and
//! the process became a daemon, it would close all its descriptors, and use this one's number for
//! another file. The whole file is mapped, so growing needs no descriptor.
//!
//! The file is sparse. A store to a page for which the file system has no room would end the
//! program with SIGBUS. So pages are made real first, with a call that reports an error instead
//! ([`populate`]).

use core::ffi::CStr;
use core::ptr::null_mut;

use rustix::fd::BorrowedFd;
use rustix::fs::{CWD, Mode, OFlags, ftruncate, openat, readlinkat_raw};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Resource, getpid, getrlimit};

use crate::folder::Folder;

const PAGE: usize = 4096;
/// The smallest size that is tried, if address space or file size is limited.
const SMALLEST: u64 = 16 << 20;

/// A new file, mapped.
#[derive(Debug)]
pub struct ProcessFile {
    /// The address of its first byte.
    pub base: *mut u8,
    /// Its size in bytes, all of them zero.
    pub size: u64,
}

impl ProcessFile {
    /// Creates and maps `PID.ENDING` in the folder, or `PID.N.ENDING` for a later program of the
    /// same process. The file has `wanted` bytes, or 16 MiB if that is more. If the limits don't
    /// allow that size, it is smaller, but at least 16 MiB. Its first `real` bytes have disk space.
    /// If the file system has no room for these bytes, an empty file is left behind as a sign of
    /// that.
    ///
    /// # Errors
    /// The system's error, if the file can't be made, or less than 16 MiB of it; [`Errno::NOSPC`]
    /// if there is no disk space for the first `real` bytes.
    pub fn create(
        folder: &Folder,
        ending: &'static str,
        wanted: u64,
        real: usize,
    ) -> Result<ProcessFile, Errno> {
        let pid = getpid().as_raw_nonzero().get() as u32;
        let created = folder.create(pid, ending)?;
        ProcessFile::of(created.file(), wanted, real).inspect_err(|&e| match e {
            Errno::NOSPC | Errno::DQUOT => {}
            _ => created.remove(),
        })
    }

    /// Maps an open, empty file, as [`ProcessFile::create`] maps the one that it makes.
    ///
    /// # Errors
    /// The system's error, if less than 16 MiB of the file can be mapped; [`Errno::NOSPC`] if there
    /// is no disk space for the first `real` bytes.
    pub fn of(file: BorrowedFd<'_>, wanted: u64, real: usize) -> Result<ProcessFile, Errno> {
        let mapped = map(file, wanted.max(SMALLEST))?;
        if !populate(mapped.base, mapped.base.wrapping_add(real)) {
            // SAFETY: the mapping was just made, and no other thread knows it.
            let _ = unsafe { munmap(mapped.base.cast(), mapped.size as usize) };
            let _ = ftruncate(file, 0);
            return Err(Errno::NOSPC);
        }
        Ok(mapped)
    }
}

/// Maps the file with `wanted` bytes, or with as many as the limit on file sizes allows; if that
/// fails, with a quarter as many, and so on.
fn map(file: BorrowedFd<'_>, wanted: u64) -> Result<ProcessFile, Errno> {
    let allowed = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let whole_pages = !(PAGE as u64 - 1);
    let mut size = wanted.min(allowed) & whole_pages;
    let mut error = Errno::FBIG;
    while size >= SMALLEST {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = ftruncate(file, size)
            .and_then(|()| unsafe { mmap(null_mut(), size as usize, access, flags, file, 0) });
        match mapped {
            Ok(base) => {
                // Without this, each first access would make the kernel read megabytes ahead, all
                // of them zeros without a block in the file system. SAFETY: the mapping is ours,
                // and the call changes no byte of it.
                let _ = unsafe { madvise(base, size as usize, Advice::Random) };
                return Ok(ProcessFile { base: base.cast(), size });
            }
            Err(e) => error = e,
        }
        size = (size / 4) & whole_pages;
    }
    Err(error)
}

/// Makes the pages of `[start, end)` of a mapped file real: gives them disk space. Returns `false`
/// if the file system has no room (`MADV_POPULATE_WRITE`, Linux 5.14; on older kernels a full disk
/// is not noticed in time).
pub fn populate(start: *mut u8, end: *mut u8) -> bool {
    let first = start as usize & !(PAGE - 1);
    let last = (end as usize).next_multiple_of(PAGE);
    // SAFETY: the range lies within the mapped file; the call changes no byte of it.
    let result = unsafe { madvise(first as *mut _, last - first, Advice::LinuxPopulateWrite) };
    matches!(result, Ok(()) | Err(Errno::INVAL))
}

/// Writes the program's arguments and its executable's path into fields of zeros. Each is cut so
/// that a zero byte ends it.
pub fn describe_program(arguments: &mut [u8], executable: &mut [u8]) {
    read_arguments(arguments);
    let end = executable.len() - 1;
    let _ = readlinkat_raw(CWD, c"/proc/self/exe", &mut executable[..end]);
}

/// Writes the program's current arguments into a field of zeros.
pub fn read_arguments(arguments: &mut [u8]) {
    read(c"/proc/self/cmdline", arguments);
}

fn read(path: &CStr, into: &mut [u8]) {
    let Ok(file) = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let end = into.len() - 1;
    let mut used = 0;
    while used < end {
        match rustix::io::read(&file, &mut into[used..end]) {
            Ok(0) => break,
            Ok(n) => used += n,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
}
