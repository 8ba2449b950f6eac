//! What a process's file begins with.

use core::ffi::{CStr, c_char};
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

use rustix::process::getppid;
use rustix::time::ClockId;
use syncline_interpose::{ProcessFile, describe_program, read_arguments};
use syncline_recording::layout::{
    BYTE_ORDER, HEADER_SIZE, Header, MAGIC, ModuleRecord, PROCESS_RUNNING, Region, StackRecord,
    ThreadRecord, UNIT, VERSION,
};

use crate::clock;
use crate::count::sampling::SAMPLE_PERIOD;
use crate::options::{self, Options};
use crate::recorder::family::{self, Family};
use crate::recorder::file::Mapped;

/// Records in a file of the default size; smaller files get fewer. Those of threads are for many
/// processes, and have numbers of 16 bits.
const MODULES: u32 = 16_384;
const THREADS: u32 = 65_535;
const STACKS: u32 = 65_536;
const EM_X86_64: u32 = 62;

/// The program's arguments in its memory, and their bytes.
static ARGUMENTS: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static ARGUMENTS_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Remembers where the program's arguments are.
///
/// # Safety
/// They are those of `main`, which lie one behind the other.
pub unsafe fn remember_arguments(count: usize, arguments: *const *const c_char) {
    // SAFETY: by this function's own condition.
    unsafe {
        if count > 0 {
            let (first, last) = (*arguments, *arguments.wrapping_add(count - 1));
            let end = last.addr() + CStr::from_ptr(last).to_bytes_with_nul().len();
            ARGUMENTS_LENGTH.store(end.saturating_sub(first.addr()), Ordering::Relaxed);
            ARGUMENTS.store(first.cast_mut().cast(), Ordering::Relaxed);
        }
    }
}

/// Puts the arguments into a field that has the parent's: most children have the same, but a server
/// may write there what a child does.
pub fn describe_arguments(field: &mut [u8]) {
    let (at, length) = (&ARGUMENTS, ARGUMENTS_LENGTH.load(Ordering::Relaxed));
    let at = at.load(Ordering::Relaxed);
    let compared = length.min(field.len() - 1);
    // SAFETY: where the arguments of `main` were, which stay mapped as the stack does.
    let is_same =
        !at.is_null() && unsafe { slice::from_raw_parts(at, compared) } == &field[..compared];
    if !is_same {
        field.fill(0);
        read_arguments(field);
    }
}

/// Makes and maps this process's file, or begins in its parent's; none if nothing is to be recorded,
/// or the file can't be had.
pub fn create() -> Option<Mapped> {
    let options = options::get()?;
    if let Some(joined) = family::inherited().and_then(|parent| family::join(parent, options)) {
        return Some(joined);
    }
    let family = Family::begin()?;
    let file =
        ProcessFile::create(&options.folder, "syncline", options.max_size, HEADER_SIZE).ok()?;
    // SAFETY: the first page is mapped, real and zero, and nobody else knows it yet.
    unsafe { fill_header(file.base.cast(), file.size, options) };
    Some(Mapped::new(file.base.cast(), file.base.cast(), family))
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
    // The arena's first page stays unused, so that a unit is never 0.
    h.arena_used = 4096 / UNIT;
    h.arena_capacity = (size - next) / UNIT;
    describe_program(&mut h.arguments, &mut h.executable);
    fence(Ordering::Release);
    h.magic = MAGIC;
}
