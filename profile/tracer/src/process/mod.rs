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

/// See the top of this file.
pub struct Process {
    /// The inspection's options.
    pub options: &'static Options,
    /// The trace's file of this process.
    pub file: File,
    /// When tracing began, in ticks.
    pub started: u64,
    /// What tracing has taken of the budget, in ticks. It is raised when too much unused budget has
    /// been saved up.
    pub spent: AtomicU64,
    /// All that tracing has cost, in ticks.
    cost: AtomicU64,
    /// The costs of inspecting other than tracing, in ticks.
    besides: AtomicU64,
    /// What tracing may have cost when that was last computed, and the time of that computation, in
    /// ticks.
    allowed: AtomicU64,
    allowed_at: AtomicU64,
    /// The nanoseconds that one reading of a thread's processor time takes.
    clock_cost: u64,
    /// Whether the file has no room for further sections.
    full: AtomicBool,
    /// The locks that threads wait for.
    pub waits: Waits,
    /// Parts of stacks that sections wrote to.
    pub stacks: Stacks,
    /// Sections traced within a budget, by call site and by lock; those with the same slot share it.
    sites: [AtomicU32; PLACES],
    locks: [AtomicU32; PLACES],
    /// Threads, by the kernel's number: this number in the high half, and the number in the file
    /// plus 1 in the low half.
    threads: [AtomicU64; THREADS],
}

/// The number of slots for threads. Of the threads that share a slot, only the one that began last is
/// recognised as a holder.
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

/// The process, which is begun if necessary; `None` if this is no inspection, its file can't be
/// made, another call is beginning it, or it is left alone.
#[inline]
pub fn current() -> Option<&'static Process> {
    if aside::is_closed() {
        return None;
    }
    existing().or_else(begin)
}

/// The process; `None` if it has not begun, as a forked child at first.
#[inline]
pub fn existing() -> Option<&'static Process> {
    // SAFETY: never freed.
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
    // A call that arrives meanwhile is not traced and does not wait: it may come from a signal
    // handler on this very thread.
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
        // The end, which writes the counts and the files that are loaded, costs about as much.
        process.add_besides(2 * clock::of_thread().saturating_sub(began));
        Some(process)
    });
    let process = process.flatten();
    let stage = if process.is_some() { READY } else { ABSENT };
    if let Some(process) = process {
        let process = Box::into_raw(process);
        // SAFETY: never freed.
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
    // SAFETY: stored above or earlier, and never freed.
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
    /// Notes that the file had no room for a section: tracing others would be a waste of time.
    pub fn file_is_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether the file still has room for sections.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.full.load(Ordering::Relaxed)
    }

    /// The count of sections of a call site that were traced within a budget.
    pub fn traced_at(&self, site: u64) -> &AtomicU32 {
        &self.sites[place(site)]
    }

    /// The count of sections of a lock that were traced within a budget.
    pub fn traced_of(&self, lock: u64) -> &AtomicU32 {
        &self.locks[place(lock)]
    }

    /// Remembers a thread's number in the file.
    pub fn note_thread(&self, tid: u32, index: u32) {
        let entry = (u64::from(tid) << 32) | (u64::from(index) + 1);
        self.threads[tid as usize % THREADS].store(entry, Ordering::Relaxed);
    }

    /// A thread's number in the file, by the kernel's number; `None` if it is unknown.
    pub fn thread(&self, tid: u32) -> Option<u32> {
        let entry = self.threads[tid as usize % THREADS].load(Ordering::Relaxed);
        (entry >> 32 == u64::from(tid) && tid != 0).then(|| (entry & LOW_HALF) as u32 - 1)
    }
}
