//! Makes a process's file.
//!
//! The file is opened, sized, mapped and closed again at once: a descriptor that stayed
//! open would be closed by the first daemon that closes all it has, and its number used
//! again for something else. With the whole file mapped, growing needs no descriptor.

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, fence};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ftruncate, openat, unlinkat};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::{Resource, getppid, getrlimit};
use rustix::time::ClockId;
use syncline_recording::layout::{
    BYTE_ORDER, HEADER_SIZE, Header, MAGIC, ModuleRecord, PROCESS_RUNNING, Region, StackRecord,
    ThreadRecord, UNIT, VERSION,
};

use crate::clock;
use crate::count::sampling::HOLD_SAMPLE_PERIOD;
use crate::options::{self, Options};
use crate::recorder::file::Mapped;
use crate::recorder::room::populate;

const MODULES: u32 = 1024;
const THREADS: u32 = 4096;
/// Stacks in a file of the default size; smaller files get fewer.
const STACKS: u32 = 65_536;
const EM_X86_64: u32 = 62;
/// Sizes to try, smallest last, where address space or file size is limited.
const SMALLEST: u64 = 16 << 20;

/// Makes and maps this process's file; none if nothing is to be recorded, or the file can't
/// be had.
pub fn create() -> Option<Mapped> {
    let options = options::get()?;
    let mut path = Path::new(options.folder());
    let (base, size) = path.map(options.max_size.max(SMALLEST) & !4095)?;
    if !populate(base, base.wrapping_add(HEADER_SIZE)) {
        path.remove();
        return None;
    }
    // SAFETY: the first page is mapped, real and zero, and nobody else knows it yet.
    unsafe { fill_header(base.cast(), size, options) };
    Some(Mapped::new(base))
}

/// # Safety
/// `header` is the mapped, zeroed first page, known to nobody else.
unsafe fn fill_header(header: *mut Header, size: u64, options: &Options) {
    // SAFETY: by this function's own condition.
    let h = unsafe { &mut *header };
    h.version = VERSION;
    h.byte_order = BYTE_ORDER;
    h.machine = EM_X86_64;
    h.clock = options.clock;
    h.ticks_per_second = options.ticks_per_second;
    h.started = clock::process_started();
    let age = clock::to_nanoseconds(clock::now() - h.started);
    h.started_realtime = clock::nanoseconds(ClockId::Realtime) - age;
    h.state = PROCESS_RUNNING;
    h.pid = clock::process();
    h.parent = getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32);
    h.hold_sample_period = if options.timeline { 1 } else { HOLD_SAMPLE_PERIOD };
    h.timeline = u32::from(options.timeline);
    h.file_size = size;
    let mut next = HEADER_SIZE as u64;
    let stacks = STACKS.min((size / 4 / size_of::<StackRecord>() as u64) as u32);
    h.modules = region::<ModuleRecord>(MODULES, &mut next);
    h.threads = region::<ThreadRecord>(THREADS, &mut next);
    h.stacks = region::<StackRecord>(stacks, &mut next);
    h.stacks.count = 1;
    h.arena_offset = next;
    // The arena's first page stays unused, so that a unit is never 0.
    h.arena_used = 4096 / UNIT;
    h.arena_capacity = (size - next) / UNIT;
    read_proc(c"/proc/self/cmdline", &mut h.arguments);
    let executable = &mut h.executable[..1023];
    let _ = rustix::fs::readlinkat_raw(CWD, c"/proc/self/exe", executable);
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
    bytes: Box<[u8]>,
    folder: usize,
}

impl Path {
    fn new(folder: &[u8]) -> Path {
        let mut path = Path { bytes: vec![0; folder.len() + 64].into(), folder: folder.len() };
        path.bytes[..folder.len()].copy_from_slice(folder);
        path
    }

    /// Appends `/PID.syncline`, or `/PID.N.syncline` for what the same process ran later.
    fn name(&mut self, pid: u64, n: u64) -> &CStr {
        let mut end = self.folder;
        let mut push = |part: &[u8]| {
            self.bytes[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        };
        push(b"/");
        push(Decimal::new(pid).digits());
        if n > 0 {
            push(b".");
            push(Decimal::new(n).digits());
        }
        push(b".syncline\0");
        self.current()
    }

    fn current(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Creates the file, as large as the limits on this process allow, and maps it.
    fn map(&mut self, wanted: u64) -> Option<(*mut u8, u64)> {
        let pid = u64::from(clock::process());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mut n = 0;
        let file = loop {
            match openat(CWD, self.name(pid, n), flags, Mode::from_raw_mode(0o644)) {
                Ok(file) => break file,
                Err(Errno::EXIST) if n < 100_000 => n += 1,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        };
        let allowed = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let mut size = wanted.min(allowed) & !4095;
        while size >= SMALLEST {
            let flags = MapFlags::SHARED | MapFlags::NORESERVE;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping at an address of the kernel's choice.
            let mapped = ftruncate(&file, size).ok().and_then(|()| unsafe {
                mmap(null_mut(), size as usize, access, flags, &file, 0).ok()
            });
            if let Some(base) = mapped {
                // Or else each first touch would make the kernel read megabytes ahead, of
                // zeros that the file system keeps no block for.
                // SAFETY: the mapping is ours, and the call changes no byte of it.
                let _ = unsafe { madvise(base, size as usize, Advice::Random) };
                return Some((base.cast(), size));
            }
            size = (size / 4) & !4095;
        }
        self.remove();
        None
    }

    fn remove(&self) {
        let _ = unlinkat(CWD, self.current(), AtFlags::empty());
    }
}

/// A number's decimal digits, without an allocation.
struct Decimal {
    bytes: [u8; 20],
    start: usize,
}

impl Decimal {
    fn new(mut n: u64) -> Decimal {
        let mut decimal = Decimal { bytes: [0; 20], start: 20 };
        loop {
            decimal.start -= 1;
            decimal.bytes[decimal.start] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                return decimal;
            }
        }
    }

    fn digits(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}
