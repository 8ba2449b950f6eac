//! Creates a process's file.

use core::ptr::null_mut;
use core::sync::atomic::{Ordering, fence};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use rustix::process::{getpid, getppid};
use syncline_interpose::{Folder, ProcessFile, describe_program};
use syncline_recording::layout::{BYTE_ORDER, ModuleRecord, Region};

use super::file::File;
use crate::layout::{CHUNK, HEADER_SIZE, Header, MAGIC, ThreadRecord, VERSION};

const MODULES: u32 = 1024;
/// The number of thread records. A record is not reused when its thread has ended, because sections
/// are compared by thread.
const THREADS: u32 = 65_536;
const EM_X86_64: u32 = 62;

/// The folder, the size limit and the header's fields of a new file.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The folder in which the file is made.
    pub folder: &'a Folder,
    /// The most bytes that the file may have.
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
    /// [`Header::only_some`]
    pub only_some: bool,
}

impl File {
    /// Makes and maps this process's file.
    ///
    /// # Errors
    /// The system's error, if the file can't be created with at least 16 MiB, or if memory can't be
    /// mapped.
    pub fn create(start: &Start<'_>) -> Result<File, Errno> {
        // SAFETY: this makes a new mapping at an address of the kernel's choice.
        let alive = unsafe {
            mmap_anonymous(null_mut(), 4096, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }?;
        // SAFETY: the page was just mapped, and no other thread knows it.
        unsafe {
            madvise(alive, 4096, Advice::LinuxWipeOnFork)?;
            alive.cast::<u32>().write(1);
        }
        let file = ProcessFile::create(start.folder, "trace", start.max_size, HEADER_SIZE)?;
        // SAFETY: the first page is mapped, allocated and zero, and no other thread knows it yet.
        unsafe { fill_header(file.base.cast(), file.size, start) };
        Ok(File::new(file.base, alive.cast()))
    }
}

/// # Safety
/// `header` is the mapped, zeroed first page, known to no other thread.
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
    h.only_some = start.only_some.into();
    h.pid = getpid().as_raw_nonzero().get() as u32;
    h.parent = getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32);
    h.file_size = size;
    let mut next = HEADER_SIZE as u64;
    h.modules = Region::after::<ModuleRecord>(&mut next, MODULES);
    h.threads = Region::after::<ThreadRecord>(&mut next, THREADS);
    h.arena_offset = next;
    h.arena_capacity = (size - next) / CHUNK * CHUNK;
    describe_program(&mut h.arguments, &mut h.executable);
    // This fence pairs with nothing in this process. It ensures that a reader of the file which
    // sees the magic also sees the stores before the fence.
    fence(Ordering::Release);
    h.magic = MAGIC;
}
