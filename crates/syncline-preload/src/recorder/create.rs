//! What a process's file begins with.

use core::sync::atomic::{Ordering, fence};

use rustix::process::getppid;
use rustix::time::ClockId;
use syncline_interpose::{ProcessFile, describe_program};
use syncline_recording::layout::{
    BYTE_ORDER, HEADER_SIZE, Header, MAGIC, ModuleRecord, PROCESS_RUNNING, Region, StackRecord,
    ThreadRecord, UNIT, VERSION,
};

use crate::clock;
use crate::count::sampling::SAMPLE_PERIOD;
use crate::options::{self, Options};
use crate::recorder::file::Mapped;

const MODULES: u32 = 1024;
const THREADS: u32 = 4096;
/// Stacks in a file of the default size; smaller files get fewer.
const STACKS: u32 = 65_536;
const EM_X86_64: u32 = 62;

/// Makes and maps this process's file; none if nothing is to be recorded, or the file can't
/// be had.
pub fn create() -> Option<Mapped> {
    let options = options::get()?;
    let file =
        ProcessFile::create(&options.folder, "syncline", options.max_size, HEADER_SIZE).ok()?;
    // SAFETY: the first page is mapped, real and zero, and nobody else knows it yet.
    unsafe { fill_header(file.base.cast(), file.size, options) };
    Some(Mapped::new(file.base))
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
    h.sample_period = if options.timeline { 1 } else { SAMPLE_PERIOD };
    h.timeline = u32::from(options.timeline);
    h.file_size = size;
    let mut next = HEADER_SIZE as u64;
    let stacks = STACKS.min((size / 4 / size_of::<StackRecord>() as u64) as u32);
    h.modules = Region::after::<ModuleRecord>(&mut next, MODULES);
    h.threads = Region::after::<ThreadRecord>(&mut next, THREADS);
    h.stacks = Region::after::<StackRecord>(&mut next, stacks);
    h.stacks.count = 1;
    h.arena_offset = next;
    // The arena's first page stays unused, so that a unit is never 0.
    h.arena_used = 4096 / UNIT;
    h.arena_capacity = (size - next) / UNIT;
    describe_program(&mut h.arguments, &mut h.executable);
    fence(Ordering::Release);
    h.magic = MAGIC;
}
