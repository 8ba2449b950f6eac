//! Makes a process's file: opened, sized, mapped and closed again at once, as a recording's is.
//! A descriptor that stayed open would be closed by the first daemon that closes all it has.

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, fence};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ftruncate, openat, unlinkat};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};
use rustix::process::{Resource, getpid, getppid, getrlimit};
use syncline_recording::layout::{BYTE_ORDER, ModuleRecord, Region};

use super::file::{File, populate};
use crate::layout::{CHUNK, HEADER_SIZE, Header, MAGIC, ThreadRecord, VERSION};

const MODULES: u32 = 1024;
/// A record is not used again, since threads are compared with other threads only.
const THREADS: u32 = 65_536;
const EM_X86_64: u32 = 62;
/// Less is not worth a file, in bytes.
const SMALLEST: u64 = 16 << 20;
/// Longest path of a file.
const PATH: usize = 4096;

/// What a new file begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The folder of the trace, absolute.
    pub folder: &'a [u8],
    /// Bytes that the file may become.
    pub max_size: u64,
    /// [`Header::clock`]
    pub clock: u32,
    /// [`Header::ticks_per_second`]
    pub ticks_per_second: u64,
    /// [`Header::started`]
    pub started: u64,
    /// [`Header::started_realtime`]
    pub started_realtime: u64,
    /// [`Header::budget_permille`]
    pub budget_permille: u32,
}

impl File {
    /// Makes and maps this process's file.
    ///
    /// # Errors
    /// The system's, if the file can't be made, or less than 16 MiB of it.
    pub fn create(start: &Start<'_>) -> Result<File, Errno> {
        let mut path = Path::new(start.folder)?;
        let (base, size) = path.map(start.max_size.max(SMALLEST) & !4095)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let alive = unsafe {
            mmap_anonymous(null_mut(), 4096, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        // SAFETY: the page was just mapped, and nobody else knows it.
        let alive = alive.and_then(|page| unsafe {
            madvise(page, 4096, Advice::LinuxWipeOnFork)?;
            page.cast::<u32>().write(1);
            Ok(page)
        });
        let room = populate(base, base.wrapping_add(HEADER_SIZE));
        let (Ok(alive), true) = (alive, room) else {
            path.remove();
            return Err(alive.err().unwrap_or(Errno::NOSPC));
        };
        // SAFETY: the first page is mapped, real and zero, and nobody else knows it yet.
        unsafe { fill_header(base.cast(), size, start) };
        Ok(File::new(base, alive.cast()))
    }
}

/// # Safety
/// `header` is the mapped, zeroed first page, known to nobody else.
unsafe fn fill_header(header: *mut Header, size: u64, start: &Start<'_>) {
    // SAFETY: by this function's own condition.
    let h = unsafe { &mut *header };
    h.version = VERSION;
    h.byte_order = BYTE_ORDER;
    h.machine = EM_X86_64;
    h.clock = start.clock;
    h.ticks_per_second = start.ticks_per_second;
    h.started = start.started;
    h.started_realtime = start.started_realtime;
    h.budget_permille = start.budget_permille;
    h.pid = getpid().as_raw_nonzero().get() as u32;
    h.parent = getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32);
    h.file_size = size;
    let mut next = HEADER_SIZE as u64;
    h.modules = region::<ModuleRecord>(MODULES, &mut next);
    h.threads = region::<ThreadRecord>(THREADS, &mut next);
    h.arena_offset = next;
    h.arena_capacity = (size - next) / CHUNK * CHUNK;
    read_proc(c"/proc/self/cmdline", &mut h.arguments);
    let executable = &mut h.executable[..1023];
    let _ = rustix::fs::readlinkat_raw(CWD, c"/proc/self/exe", executable);
    // Pairs with nothing in this process: a reader of the file that sees the magic is to see
    // what was stored before it.
    fence(Ordering::Release);
    h.magic = MAGIC;
}

fn region<T>(capacity: u32, next: &mut u64) -> Region {
    let record_size = size_of::<T>() as u32;
    let offset = *next;
    *next += (u64::from(capacity) * u64::from(record_size)).next_multiple_of(4096);
    Region { offset, record_size, capacity, count: 0, dropped: 0 }
}

/// Reads a file of /proc into a field, leaving a zero byte at its end.
fn read_proc(path: &CStr, into: &mut [u8]) {
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

/// The path of a process's file, as long as it is being made.
struct Path {
    bytes: [u8; PATH],
    folder: usize,
}

impl Path {
    fn new(folder: &[u8]) -> Result<Path, Errno> {
        let mut bytes = [0; PATH];
        // Two numbers, the ending and a zero byte take less.
        if folder.len() + 64 > PATH {
            return Err(Errno::NAMETOOLONG);
        }
        bytes[..folder.len()].copy_from_slice(folder);
        Ok(Path { bytes, folder: folder.len() })
    }

    /// Appends `/PID.trace`, or `/PID.N.trace` for what the same process ran later.
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
        push(b".trace\0");
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
        let mut size = wanted.min(allowed) & !4095;
        let mut error = Errno::FBIG;
        while size >= SMALLEST {
            let flags = MapFlags::SHARED | MapFlags::NORESERVE;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping at an address of the kernel's choice.
            let mapped = ftruncate(&file, size)
                .and_then(|()| unsafe { mmap(null_mut(), size as usize, access, flags, &file, 0) });
            match mapped {
                Ok(base) => {
                    // No reading ahead of zeros that the file system keeps no block for.
                    // SAFETY: the mapping is ours, and the call changes no byte of it.
                    let _ = unsafe { madvise(base, size as usize, Advice::Random) };
                    return Ok((base.cast(), size));
                }
                Err(e) => error = e,
            }
            size = (size / 4) & !4095;
        }
        self.remove();
        Err(error)
    }

    fn remove(&self) {
        let _ = unlinkat(CWD, self.current(), AtFlags::empty());
    }
}

/// A number's decimal digits, without an allocation.
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
