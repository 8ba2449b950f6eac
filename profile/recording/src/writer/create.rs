//! Creates a process's file.

use core::sync::atomic::{Ordering, fence};

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use syncline_interpose::{Folder, ProcessFile, describe_program};

use super::family::Family;
use super::file::File;
use super::number::{own_number, parents_number};
use crate::layout::{
    BYTE_ORDER, HEADER_SIZE, Header, MAGIC, ModuleRecord, PROCESS_RUNNING, Region, StackRecord,
    ThreadRecord, UNIT, VERSION,
};

/// The most module records. Files of less than 256 MiB get fewer module and thread records, and
/// files of less than 32 MiB also fewer stack records. (The thread records are for many processes;
/// their indices have 16 bits.)
const MODULES: u32 = 16_384;
const THREADS: u32 = 65_535;
const STACKS: u32 = 65_536;
const EM_X86_64: u32 = 62;

/// What a new file begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The folder of the recording.
    pub folder: &'a Folder,
    /// An empty file to be used; if `None`, a file is made in the folder.
    pub file: Option<BorrowedFd<'a>>,
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
    /// [`Header::sample_period`]
    pub sample_period: u32,
    /// [`Header::timeline`]
    pub timeline: bool,
    /// [`Header::attached`]
    pub attached: bool,
}

impl File {
    /// Makes and maps this process's file.
    ///
    /// # Errors
    /// The system's error, if the file can't be created with at least 16 MiB, or if memory can't be
    /// mapped.
    pub fn create(start: &Start<'_>) -> Result<File, Errno> {
        let family = Family::begin()?;
        let file = match start.file {
            Some(file) => ProcessFile::of(file, start.max_size, HEADER_SIZE)?,
            None => ProcessFile::create(start.folder, "syncline", start.max_size, HEADER_SIZE)?,
        };
        // SAFETY: the first page is mapped and zero, has disk space, and no other thread knows it
        // yet.
        unsafe { fill_header(file.base.cast(), file.size, start) };
        Ok(File::new(file.base.cast(), file.base.cast(), family))
    }
}

/// # Safety
/// `header` is the mapped, zeroed first page, not known to any other thread.
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
    h.state = PROCESS_RUNNING;
    h.pid = own_number();
    h.parent = parents_number();
    h.sample_period = start.sample_period;
    h.timeline = u32::from(start.timeline);
    h.attached = u32::from(start.attached);
    h.file_size = size;
    let mut next = HEADER_SIZE as u64;
    let of_file = |share: u64, record: usize| (size / share / record as u64) as u32;
    let modules = MODULES.min(of_file(32, size_of::<ModuleRecord>()));
    let threads = THREADS.min(of_file(16, size_of::<ThreadRecord>()));
    let stacks = STACKS.min(of_file(4, size_of::<StackRecord>()));
    h.modules = Region::after::<ModuleRecord>(&mut next, modules);
    h.threads = Region::after::<ThreadRecord>(&mut next, threads);
    h.stacks = Region::after::<StackRecord>(&mut next, stacks);
    h.live = 1;
    h.stacks.count = 1;
    h.arena_offset = next;
    // The arena's first page stays unused, so that no record has the unit 0.
    h.arena_used = 4096 / UNIT;
    h.arena_capacity = (size - next) / UNIT;
    describe_program(&mut h.arguments, &mut h.executable);
    fence(Ordering::Release);
    h.magic = MAGIC;
}
