//! What belongs to the process: its file, its options, and the time that tracing has cost.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use syncline_trace::writer::{File, Start, modules};

use crate::clock;
use crate::options::Options;

/// See the top of this file.
pub struct Process {
    /// What was asked for.
    pub options: &'static Options,
    /// The file.
    pub file: File,
    /// When tracing began, in ticks.
    pub started: u64,
    /// What tracing has cost, in ticks.
    pub spent: AtomicU64,
    /// What inspecting has cost besides, whether anything was traced or not, in ticks.
    besides: AtomicU64,
    /// What it may have cost when that was last worked out, and when that was, in ticks.
    allowed: AtomicU64,
    allowed_at: AtomicU64,
    /// [`PER_PAIR`], in ticks.
    ticks_per_pair: u64,
    /// What one look at a thread's processor time takes, in nanoseconds.
    clock_cost: u64,
    /// No section finds room any more.
    full: AtomicBool,
    /// Sections traced within a budget, by call site; sites whose place is the same share it.
    sites: [AtomicU32; SITES],
    /// Threads by their number: the kernel's, and the file's plus 1 below it.
    threads: [AtomicU64; THREADS],
}

/// Threads that are found by number; of more, some are not known as holders.
const THREADS: usize = 4096;
/// Places for call sites.
const SITES: usize = 4096;
/// So often in a second what tracing may cost is worked out anew. It takes a system call, which in
/// each acquisition that asks would cost more than the sections that are traced.
const REFRESH: u64 = 1000;
/// What an acquisition with its release costs more when it is counted and not traced, and what an
/// allocation costs more together with its end, in nanoseconds: both as measured.
const PER_PAIR: u64 = 10;
/// However much of the budget these take, this part of it, as a divisor, is left for tracing: who
/// asks for a trace wants to see something.
const LEAST: u64 = 4;
const LOW_HALF: u64 = 0xffff_ffff;

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(null_mut());
static OPTIONS: AtomicPtr<Options> = AtomicPtr::new(null_mut());

const UNREAD: u32 = 0;
const BUSY: u32 = 1;
const READY: u32 = 2;
const ABSENT: u32 = 3;
static STAGE: AtomicU32 = AtomicU32::new(UNREAD);

/// Set once the program is left alone.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Says why the program is left alone from here on.
pub fn leave_alone(why: &str) {
    if let Some(process) = current() {
        crate::thread::flush_all(process);
        process.file.leave_alone(why);
        process.file.end(clock::now());
        ALONE.store(true, Ordering::Relaxed);
    }
}

/// The process; none if this is no inspection, its file can't be made, or it is left alone.
#[inline]
pub fn current() -> Option<&'static Process> {
    if ALONE.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: never freed.
    let process = unsafe { CURRENT.load(Ordering::Acquire).as_ref() };
    match process {
        Some(process) if process.file.is_ours() => Some(process),
        _ => begin(),
    }
}

/// Begins a process, or one that was forked.
#[cold]
fn begin() -> Option<&'static Process> {
    let stage = STAGE.load(Ordering::Acquire);
    if stage == ABSENT || stage == BUSY {
        return None;
    }
    // Whoever comes while it begins passes untraced: it may be a handler on this very thread.
    STAGE.compare_exchange(stage, BUSY, Ordering::AcqRel, Ordering::Relaxed).ok()?;
    let began = clock::of_thread();
    let process = syncline_interpose::preserving_errno(make);
    if let Some(process) = &process {
        // The end, which writes and takes down what was made, costs about as much.
        process.add_besides(2 * clock::of_thread().saturating_sub(began));
    }
    let stage = if process.is_some() { READY } else { ABSENT };
    if let Some(process) = process {
        CURRENT.store(Box::into_raw(process), Ordering::Release);
    }
    STAGE.store(stage, Ordering::Release);
    // SAFETY: as above.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|p| p.file.is_ours())
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
        folder: options.folder,
        max_size: options.max_size,
        clock: options.clock,
        ticks_per_second: options.ticks_per_second,
        started,
        started_realtime: clock::nanoseconds(libc::CLOCK_REALTIME),
        budget_permille: options.budget,
    });
    let file = file.ok()?;
    modules::note_loaded(file);
    let threads = [const { AtomicU64::new(0) }; THREADS];
    let sites = [const { AtomicU32::new(0) }; SITES];
    Some(Box::new(Process {
        options,
        file,
        started,
        full: AtomicBool::new(false),
        spent: AtomicU64::new(0),
        besides: AtomicU64::new(0),
        allowed: AtomicU64::new(0),
        allowed_at: AtomicU64::new(0),
        ticks_per_pair: PER_PAIR * options.ticks_per_second / 1_000_000_000,
        clock_cost: clock_cost(),
        sites,
        threads,
    }))
}

/// What a look at a thread's processor time takes, in nanoseconds: the least of some.
fn clock_cost() -> u64 {
    const LOOKS: usize = 8;
    let one = |_| {
        let before = clock::of_thread();
        clock::of_thread().saturating_sub(before)
    };
    (0..LOOKS).map(one).min().unwrap_or(0)
}

impl Process {
    /// Whether tracing has cost less than it may. Asked between two acquisitions, so it takes no
    /// more than the time stamp and two words, but for once in [`REFRESH`].
    #[inline]
    pub fn may_trace(&self, now: u64) -> bool {
        if self.options.budget == 0 {
            return true;
        }
        let at = self.allowed_at.load(Ordering::Relaxed);
        if now.saturating_sub(at) >= self.options.ticks_per_second / REFRESH {
            self.refresh(at, now);
        }
        self.spent.load(Ordering::Relaxed) < self.allowed.load(Ordering::Relaxed)
    }

    /// Works out what tracing may have cost up to now.
    #[cold]
    fn refresh(&self, at: u64, now: u64) {
        /// Time that the program spent without sections must not be saved up for long.
        const SAVED_SECONDS: u64 = 1;
        // One thread does; the others go by what is known.
        let (set, order) = (now.max(1), Ordering::Relaxed);
        if self.allowed_at.compare_exchange(at, set, order, order).is_err() {
            return;
        }
        let budget = u128::from(self.options.budget);
        let part = |ticks: u64| (u128::from(ticks) * budget / 1000) as u64;
        // Of the time that passed, or of the processor time that the program had in it if that is
        // less: a program that others keep from the processor must not be slowed down more.
        let passed = now.saturating_sub(self.started);
        let total = part(passed.min(self.to_ticks(clock::of_process())));
        let besides = self.besides.load(Ordering::Relaxed);
        let total = total.saturating_sub(besides).max(total / LEAST);
        let saved = part(self.options.ticks_per_second * SAVED_SECONDS);
        let spent = self.spent.load(Ordering::Relaxed);
        if spent + saved < total {
            // A cost that another thread adds at this moment may be lost: one section's.
            self.spent.store(total - saved, Ordering::Relaxed);
        }
        self.allowed.store(total, Ordering::Relaxed);
    }

    fn to_ticks(&self, nanoseconds: u64) -> u64 {
        let rate = u128::from(self.options.ticks_per_second);
        (u128::from(nanoseconds) * rate / 1_000_000_000) as u64
    }

    /// Notes what tracing a section has cost, in nanoseconds between two looks at the clock. The
    /// looks themselves cost as much as half a small section, and half of each lies outside.
    pub fn add_cost(&self, nanoseconds: u64) {
        let ticks = self.to_ticks(nanoseconds + self.clock_cost);
        self.spent.fetch_add(ticks, Ordering::Relaxed);
        self.file.add_cost(ticks);
    }

    /// Notes that a section found no room: tracing others would cost time for nothing.
    pub fn file_is_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether sections still find room.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.full.load(Ordering::Relaxed)
    }

    /// Notes what a thread's beginning has cost, in nanoseconds.
    pub fn add_besides(&self, nanoseconds: u64) {
        self.besides.fetch_add(self.to_ticks(nanoseconds), Ordering::Relaxed);
    }

    /// Notes that so many acquisitions, and as many calls of the allocator, passed by untraced.
    #[inline]
    pub fn passed_by(&self, acquisitions: u32, allocator: u32) {
        let pairs = u64::from(acquisitions) + u64::from(allocator / 2);
        self.besides.fetch_add(pairs * self.ticks_per_pair, Ordering::Relaxed);
    }

    /// How many sections of a call site were traced within a budget.
    pub fn traced_at(&self, site: u64) -> &AtomicU32 {
        let mixed = site.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.sites[(mixed >> 52) as usize % SITES]
    }

    /// Remembers a thread's number in the file.
    pub fn note_thread(&self, tid: u32, index: u32) {
        let entry = (u64::from(tid) << 32) | (u64::from(index) + 1);
        self.threads[tid as usize % THREADS].store(entry, Ordering::Relaxed);
    }

    /// A thread's number in the file, by the kernel's.
    pub fn thread(&self, tid: u32) -> Option<u32> {
        let entry = self.threads[tid as usize % THREADS].load(Ordering::Relaxed);
        (entry >> 32 == u64::from(tid) && tid != 0).then(|| (entry & LOW_HALF) as u32 - 1)
    }
}

/// Runs when the program starts.
extern "C" fn starts() {
    current();
}

/// Runs when the program has returned from `main` or called `exit`.
pub extern "C" fn ends() {
    // SAFETY: never freed.
    let process = unsafe { CURRENT.load(Ordering::Acquire).as_ref() };
    let alone = ALONE.load(Ordering::Relaxed);
    if let Some(process) = process.filter(|p| p.file.is_ours() && !alone) {
        crate::thread::flush_all(process);
        modules::note_loaded(process.file);
        process.file.end(clock::now());
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn() = starts;

#[used]
#[unsafe(link_section = ".fini_array")]
static ENDS: extern "C" fn() = ends;
