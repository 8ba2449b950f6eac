//! A process's own file, mapped for the rest of its life.
//!
//! The file is opened, sized, mapped and closed again at once: a descriptor that stayed
//! open would be closed by the first daemon that closes all it has, and its number used
//! again for something else. With the whole file mapped, growing needs no descriptor.
//!
//! It is sparse. A store into a page that the file system then can't provide would end the
//! program with SIGBUS, so pages are made real first ([`populate`]), with a call that reports
//! an error instead.

use core::ffi::CStr;
use core::ptr::null_mut;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ftruncate, openat, readlinkat_raw, unlinkat};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::{Resource, getpid, getrlimit};

const PAGE: usize = 4096;
/// Sizes to try, smallest last, where address space or file size is limited.
const SMALLEST: u64 = 16 << 20;
/// Bytes of the longest path that the kernel takes.
const LONGEST_PATH: usize = 4096;
/// Two numbers, an ending and a zero byte take less.
const NAME_ROOM: usize = 64;

/// A new file, mapped.
#[derive(Debug)]
pub struct ProcessFile {
    path: Path,
    /// Its first byte.
    pub base: *mut u8,
    /// Its bytes, all of them zero.
    pub size: u64,
}

impl ProcessFile {
    /// Makes and maps `FOLDER/PID.ENDING`, or `FOLDER/PID.N.ENDING` for what the same process
    /// ran later: of so many bytes, or fewer where less is allowed, and with the first
    /// `real` of them real.
    ///
    /// # Errors
    /// The system's, if the file can't be made, or less than 16 MiB of it.
    pub fn create(
        folder: &[u8],
        ending: &'static str,
        wanted: u64,
        real: usize,
    ) -> Result<ProcessFile, Errno> {
        let mut path = Path::new(folder, ending)?;
        let (base, size) = path.map(wanted.max(SMALLEST))?;
        if !populate(base, base.wrapping_add(real)) {
            path.remove();
            return Err(Errno::NOSPC);
        }
        Ok(ProcessFile { path, base, size })
    }

    /// Takes the file's name away: the mapping stays.
    pub fn remove(&self) {
        self.path.remove();
    }
}

/// Makes the pages of `[start, end)` of a mapped file real. False if the file system has no room
/// (`MADV_POPULATE_WRITE`, Linux 5.14; on older kernels a full disk is not noticed in time).
pub fn populate(start: *mut u8, end: *mut u8) -> bool {
    let first = start as usize & !(PAGE - 1);
    let last = (end as usize).next_multiple_of(PAGE);
    // SAFETY: the range lies within the mapped file; the call changes no byte of it.
    let result = unsafe { madvise(first as *mut _, last - first, Advice::LinuxPopulateWrite) };
    matches!(result, Ok(()) | Err(Errno::INVAL))
}

/// Puts the program's arguments and its executable's path into fields of zeros, each cut so that
/// a zero byte ends it.
pub fn describe_program(arguments: &mut [u8], executable: &mut [u8]) {
    read(c"/proc/self/cmdline", arguments);
    let end = executable.len() - 1;
    let _ = readlinkat_raw(CWD, c"/proc/self/exe", &mut executable[..end]);
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

/// The path, without an allocation.
#[derive(Debug)]
struct Path {
    bytes: [u8; LONGEST_PATH + NAME_ROOM],
    folder: usize,
    ending: &'static str,
}

impl Path {
    fn new(folder: &[u8], ending: &'static str) -> Result<Path, Errno> {
        let mut bytes = [0; LONGEST_PATH + NAME_ROOM];
        let start = bytes.get_mut(..folder.len()).filter(|start| start.len() <= LONGEST_PATH);
        start.ok_or(Errno::NAMETOOLONG)?.copy_from_slice(folder);
        Ok(Path { bytes, folder: folder.len(), ending })
    }

    fn name(&mut self, pid: u32, n: u32) -> &CStr {
        let mut end = self.folder;
        let mut push = |part: &[u8]| {
            self.bytes[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        };
        push(b"/");
        decimal(pid, &mut push);
        if n > 0 {
            push(b".");
            decimal(n, &mut push);
        }
        push(b".");
        push(self.ending.as_bytes());
        push(b"\0");
        self.current()
    }

    fn current(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Creates the file, as large as the limits on this process allow, and maps it.
    fn map(&mut self, wanted: u64) -> Result<(*mut u8, u64), Errno> {
        let pid = getpid().as_raw_nonzero().get() as u32;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mut n = 0;
        let file = loop {
            match openat(CWD, self.name(pid, n), flags, Mode::from_raw_mode(0o644)) {
                Ok(file) => break file,
                Err(Errno::EXIST) if n < 100_000 => n += 1,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        };
        let allowed = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let whole_pages = !(PAGE as u64 - 1);
        let mut size = wanted.min(allowed) & whole_pages;
        let mut error = Errno::FBIG;
        while size >= SMALLEST {
            let flags = MapFlags::SHARED | MapFlags::NORESERVE;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping at an address of the kernel's choice.
            let mapped = ftruncate(&file, size)
                .and_then(|()| unsafe { mmap(null_mut(), size as usize, access, flags, &file, 0) });
            match mapped {
                Ok(base) => {
                    // Or else each first touch would make the kernel read megabytes ahead, of
                    // zeros that the file system keeps no block for.
                    // SAFETY: the mapping is ours, and the call changes no byte of it.
                    let _ = unsafe { madvise(base, size as usize, Advice::Random) };
                    return Ok((base.cast(), size));
                }
                Err(e) => error = e,
            }
            size = (size / 4) & whole_pages;
        }
        self.remove();
        Err(error)
    }

    fn remove(&self) {
        let _ = unlinkat(CWD, self.current(), AtFlags::empty());
    }
}

/// Pushes a number's decimal digits.
fn decimal(mut n: u32, push: &mut impl FnMut(&[u8])) {
    let mut digits = [0; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return push(&digits[start..]);
        }
    }
}
