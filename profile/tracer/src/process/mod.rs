//! The state of the process: its file, its options, and the time that tracing has cost.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use syncline_trace::writer::{File, Start, modules};

use crate::options::Options;
use crate::{aside, clock, sandbox};

pub mod budget;
mod stacks;
mod waits;

use stacks::Stacks;
pub use waits::WATCHED;
use waits::Waits;

/// The state of the process, as the top of this file describes it.
pub struct Process {
    /// The inspection's options.
    pub options: &'static Options,
    /// The file of this process in the trace.
    pub file: File,
    /// When tracing began, in ticks.
    pub started: u64,
    /// How much of the budget tracing has used up, in ticks. It is also raised when too much unused
    /// budget has been saved up.
    pub spent: AtomicU64,
    /// The sum of what tracing has cost, in ticks.
    cost: AtomicU64,
    /// The sum of the library's other costs, such as counting, in ticks.
    besides: AtomicU64,
    /// How much tracing may have cost up to the last computation of the budget, in ticks.
    /// `allowed_at` is the time of that computation.
    allowed: AtomicU64,
    allowed_at: AtomicU64,
    /// How many nanoseconds one reading of a thread's processor time takes.
    clock_cost: u64,
    /// Whether the file has no room for further sections.
    full: AtomicBool,
    /// How long threads wait for which locks.
    pub waits: Waits,
    /// The parts of other threads' stacks that sections wrote to.
    pub stacks: Stacks,
    /// The number of sections traced within a budget, by call site and by lock ([`place`] is the
    /// index). Of a lock's sections, those that were drawn count, except while its family was
    /// watched. Sites or locks of the same slot share a count.
    sites: [AtomicU32; PLACES],
    locks: [AtomicU32; PLACES],
    /// The threads' numbers in the file, by the kernel's thread number. A word has the kernel's
    /// number in the high half, and the number in the file plus 1 in the low half.
    threads: [AtomicU64; THREADS],
}

/// The number of slots for threads. If threads share a slot, only the thread that began last is
/// recognised as the holder of a lock.
const THREADS: usize = 4096;
/// The number of slots for call sites, and for locks.
const PLACES: usize = 4096;
const LOW_HALF: u64 = 0xffff_ffff;

fn place(address: u64) -> usize {
    let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 52) as usize % PLACES
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(null_mut());
static OPTIONS: AtomicPtr<Options> = AtomicPtr::new(null_mut());

const UNREAD: u32 = 0;
const BUSY: u32 = 1;
const READY: u32 = 2;
const ABSENT: u32 = 3;
static STAGE: AtomicU32 = AtomicU32::new(UNREAD);

/// The state of the process, which is made if necessary. `None` if the program is not inspected, if
/// the process's file can't be made, if another call is making the state at this moment, or if the
/// process is left alone.
#[inline]
pub fn current() -> Option<&'static Process> {
    if aside::is_closed() {
        return None;
    }
    existing().or_else(begin)
}

/// The state of the process. `None` if it has not been made, which is also true at first in a
/// forked child.
#[inline]
pub fn existing() -> Option<&'static Process> {
    // SAFETY: the state of a process is never freed.
    let process = unsafe { CURRENT.load(Ordering::Acquire).as_ref() };
    process.filter(|process| process.file.is_ours())
}

/// Begins tracing in a process, or in a forked child.
#[cold]
fn begin() -> Option<&'static Process> {
    let stage = STAGE.load(Ordering::Acquire);
    if stage == ABSENT || stage == BUSY {
        return None;
    }
    // A call that arrives meanwhile is not traced. It must not wait for this one, since it may come
    // from a signal handler that interrupted this very thread.
    STAGE.compare_exchange(stage, BUSY, Ordering::AcqRel, Ordering::Relaxed).ok()?;
    if stage == UNREAD {
        sandbox::begin();
        if sandbox::is_inherited() {
            aside::close();
        }
    }
    let process = aside::work(|| {
        let began = clock::of_thread();
        let process = make()?;
        // The end of tracing, which writes the counts and the list of loaded files, costs about as
        // much, so the cost is doubled.
        process.add_besides(2 * clock::of_thread().saturating_sub(began));
        Some(process)
    });
    let process = process.flatten();
    let stage = if process.is_some() { READY } else { ABSENT };
    if let Some(process) = process {
        let process = Box::into_raw(process);
        // SAFETY: the state of a process is never freed.
        aside::report_to(unsafe { &(*process).file });
        CURRENT.store(process, Ordering::Release);
    }
    STAGE.store(stage, Ordering::Release);
    existing()
}

fn make() -> Option<Box<Process>> {
    if OPTIONS.load(Ordering::Acquire).is_null() {
        let options = Options::from_environment()?;
        clock::choose(options.clock == syncline_recording::layout::CLOCK_MONOTONIC);
        OPTIONS.store(Box::into_raw(Box::new(options)), Ordering::Release);
    }
    // SAFETY: the pointer was stored above or earlier, and the options are never freed.
    let options = unsafe { &*OPTIONS.load(Ordering::Acquire) };
    let started = clock::now();
    let file = File::create(&Start {
        folder: &options.folder,
        max_size: options.max_size,
        clock: options.clock,
        ticks_per_second: options.ticks_per_second,
        started,
        started_realtime: clock::nanoseconds(libc::CLOCK_REALTIME),
        budget_permille: options.budget,
        only_some: !options.places.is_empty(),
    });
    let file = file.ok()?;
    modules::note_loaded(file);
    let threads = [const { AtomicU64::new(0) }; THREADS];
    let [sites, locks] = [const { [const { AtomicU32::new(0) }; PLACES] }; 2];
    Some(Box::new(Process {
        options,
        file,
        started,
        full: AtomicBool::new(false),
        spent: AtomicU64::new(0),
        cost: AtomicU64::new(0),
        besides: AtomicU64::new(0),
        allowed: AtomicU64::new(0),
        allowed_at: AtomicU64::new(0),
        clock_cost: clock::cost_of_look(),
        waits: Waits::none(),
        stacks: Stacks::none(),
        sites,
        locks,
        threads,
    }))
}

impl Process {
    /// Notes that the file had no room for a section, so that no more are traced.
    pub fn file_is_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether the file still has room for sections.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.full.load(Ordering::Relaxed)
    }

    /// How many sections of a call site were traced within a budget.
    pub fn traced_at(&self, site: u64) -> &AtomicU32 {
        &self.sites[place(site)]
    }

    /// How many sections of a lock were drawn within a budget while its family was not watched.
    pub fn traced_of(&self, lock: u64) -> &AtomicU32 {
        &self.locks[place(lock)]
    }

    /// Remembers that the thread with the kernel's number `tid` has the number `index` in the file.
    pub fn note_thread(&self, tid: u32, index: u32) {
        let entry = (u64::from(tid) << 32) | (u64::from(index) + 1);
        self.threads[tid as usize % THREADS].store(entry, Ordering::Relaxed);
    }

    /// The number in the file of the thread with the kernel's number `tid`; `None` if that is
    /// unknown.
    pub fn thread(&self, tid: u32) -> Option<u32> {
        let entry = self.threads[tid as usize % THREADS].load(Ordering::Relaxed);
        (entry >> 32 == u64::from(tid) && tid != 0).then(|| (entry & LOW_HALF) as u32 - 1)
    }
}
