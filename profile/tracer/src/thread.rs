//! What is kept for a thread: its writer, its stack, and counts of its acquisitions.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use syncline_trace::layout::CountRecord;
use syncline_trace::writer::Writer;

use crate::engine::context::Context;
use crate::process::{Process, WATCHED};
use crate::{aside, clock, select, tls};

pub mod often;
mod rows;

use rows::{More, Place, Row, Rows};

/// One acquisition in so many has its time held measured.
const TIMED: u32 = 32;

/// What a thread draws of the acquisitions of a watched lock.
#[derive(Clone, Copy, Default)]
pub struct Draws {
    /// Acquisitions to let pass before the next one is drawn.
    pub next: u32,
    /// How many there were.
    pub seen: u32,
    /// The most that one of them has stood for.
    pub most: u32,
    /// Whether the budget allowed the last one.
    pub may_trace: bool,
}

/// A thread.
pub struct Thread {
    /// Where it writes.
    pub writer: Writer,
    /// The process that it was seen in.
    pub process: &'static Process,
    /// Lowest address of its stack and one past the highest; 0 while they are not known.
    pub stack: (u64, u64),
    /// The kernel's number.
    pub tid: u32,
    /// Set while this is being changed, against handlers of signals.
    pub busy: bool,
    /// Acquisitions to let pass before the budget is asked.
    pub countdown: u32,
    /// How many have passed since.
    pub passed: u32,
    /// And how many of them were looked at.
    pub looked_at: u32,
    /// The most acquisitions that one of them has stood for.
    pub most: u32,
    /// For each of the locks that are watched, which is traced next.
    pub draws: [Draws; WATCHED],
    /// When its counts are to be written next, in ticks.
    write_at: u64,
    /// Calls of the allocator when it was last asked, wrapping around.
    pub allocator: u32,
    /// What it said last.
    pub may_trace: bool,
    /// Acquisitions to let pass before one has its time held measured.
    clock_in: u32,
    /// Of the lock whose time held is being measured ([`tls::timed`]): since when, and its row.
    timed: (u64, usize),
    random: u64,
    rows: Rows,
    /// A context that this thread may still be about to leave: see [`Thread::retire`].
    retired: *mut Context,
    next: *mut Thread,
}

static THREADS: AtomicPtr<Thread> = AtomicPtr::new(null_mut());

/// This thread; none if it can't be recorded.
#[inline]
pub fn current() -> Option<&'static mut Thread> {
    let process = crate::process::current()?;
    match existing() {
        Some(thread) if core::ptr::eq(thread.process, process) => Some(thread),
        _ => begin(process),
    }
}

/// [`tls::thread`] while a thread begins: what a handler does meanwhile is not counted.
const BEGINNING: usize = 1;

/// This thread, if it is known already.
#[inline]
pub fn existing() -> Option<&'static mut Thread> {
    match tls::thread() {
        0 | BEGINNING => None,
        // SAFETY: this thread's own, and never freed.
        thread => Some(unsafe { &mut *(thread as *mut Thread) }),
    }
}

#[cold]
fn begin(process: &'static Process) -> Option<&'static mut Thread> {
    if tls::thread() == BEGINNING {
        return None;
    }
    let before = tls::thread();
    tls::set_thread(BEGINNING);
    let thread = aside::work(|| make(process)).flatten();
    tls::set_thread(thread.as_ref().map_or(before, |t| (&raw const **t).addr()));
    thread
}

fn make(process: &'static Process) -> Option<&'static mut Thread> {
    let began = clock::of_thread();
    let thread = Box::leak(Thread::new(process)?);
    let me: *mut Thread = thread;
    let mut first = THREADS.load(Ordering::Relaxed);
    loop {
        thread.next = first;
        // Release: with the Acquire of `flush_all`.
        match THREADS.compare_exchange(first, me, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    at_end(me);
    crate::engine::warm_up(thread.tid);
    process.add_besides(clock::of_thread().saturating_sub(began));
    thread.busy = false;
    Some(thread)
}

/// Has the thread's counts written when it ends.
fn at_end(thread: *mut Thread) {
    ENDS.notice(thread.cast());
}

syncline_interpose::thread_ends!(
    /// By which the ends of threads are noticed.
    ENDS, ended
);

unsafe extern "C" fn ended(thread: *mut c_void) {
    // SAFETY: set above, and never freed.
    unsafe {
        let thread = &mut *thread.cast::<Thread>();
        // What later destructors lock is not counted: another thread may have the table then.
        thread.busy = true;
        tls::set_timed(0);
        aside::work(|| {
            thread.flush();
            thread.name_and_end(clock::now());
            thread.give_back_context();
            core::mem::replace(&mut thread.rows, Rows::none()).give_back();
        });
    }
}

/// In a process that begins: threads that are known are those of the one that it was forked from.
pub fn forget_all() {
    THREADS.store(null_mut(), Ordering::Relaxed);
}

/// Writes the counts of all threads, at the process's end.
pub fn flush_all(process: &Process) {
    let mut at = THREADS.load(Ordering::Acquire);
    // SAFETY: threads are never freed. Those that still run may count on meanwhile: an operation
    // or two may be missing.
    while let Some(thread) = unsafe { at.as_mut() } {
        // One that has ended has no rows, and has said all.
        if core::ptr::eq(thread.process, process) && !thread.rows.is_none() {
            // It may be writing at this moment, and so not where it writes.
            let mut writer = thread.writer.beside();
            for (row, more) in thread.rows.used() {
                write_row(&mut writer, row, more);
            }
            thread.name_and_end(0);
        }
        at = thread.next;
    }
}

impl Thread {
    fn new(process: &'static Process) -> Option<Box<Thread>> {
        // SAFETY: a plain call.
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let writer = process.file.thread(tid, 0..0, clock::now())?;
        process.note_thread(tid, writer.index());
        Some(Box::new(Thread {
            writer,
            process,
            stack: (0, 0),
            tid,
            busy: true,
            countdown: 1,
            passed: 0,
            looked_at: 0,
            most: 1,
            draws: [Draws::default(); WATCHED],
            write_at: 0,
            allocator: 0,
            may_trace: true,
            clock_in: 1,
            timed: (0, 0),
            random: clock::now() | 1,
            rows: Rows::take()?,
            retired: null_mut(),
            next: null_mut(),
        }))
    }

    /// A number from 0 to `below` - 1.
    pub fn random(&mut self, below: u32) -> u32 {
        random(&mut self.random, below)
    }

    /// For how many acquisitions at a call site the next one stands; 0 if it is passed over.
    #[inline]
    pub fn stands_for(&mut self, site: u64) -> u32 {
        if self.process.options.budget == 0 {
            return 1;
        }
        let state = &mut self.random;
        often::stands_for(site, |below| random(state, below))
    }

    /// The row of a lock and a call site.
    #[inline]
    pub fn row(&mut self, lock: u64, site: u64, op: u32) -> usize {
        match self.rows.find(lock, site) {
            Place::At(place) => place,
            Place::Free(place) | Place::Taken(place) => self.new_row(place, lock, site, op),
        }
    }

    #[cold]
    fn new_row(&mut self, place: usize, lock: u64, site: u64, op: u32) -> usize {
        let Some((row, more)) = self.rows.at(place) else { return place };
        self.rows.use_row(place);
        if row.lock.load(Ordering::Relaxed) != 0 {
            aside::allowed(|| write_row(&mut self.writer, row, more));
            if self.timed.1 == place {
                tls::set_timed(0);
            }
        }
        // What was added since its last owner's counts were written belongs to no lock.
        row.acquisitions.store(0, Ordering::Relaxed);
        more.counts().into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
        // No lock while it changes: the process may end meanwhile, and another thread write it.
        row.lock.store(0, Ordering::Relaxed);
        row.site.store(site, Ordering::Relaxed);
        row.op.store(op, Ordering::Relaxed);
        row.rare.set(true);
        let options = self.process.options;
        let is_selected = || aside::work(|| select::is_selected(options, lock, site));
        let selected = options.places.is_empty() || is_selected().unwrap_or(false);
        row.selected.set(selected);
        if selected && !options.places.is_empty() {
            let expected = aside::work(|| select::expected_wait(options, lock, site));
            self.process.expect_wait(lock, site, expected.unwrap_or(0));
        }
        row.lock.store(lock, Ordering::Release);
        place
    }

    /// Has the row of a lock and a call site brought near.
    #[inline]
    pub fn prefetch(&self, lock: u64, site: u64) {
        self.rows.prefetch(lock, site);
    }

    /// Whether the sections of a row are to be traced.
    pub fn is_selected(&self, row: usize) -> bool {
        self.rows.at(row).is_some_and(|(row, _)| row.selected.get())
    }

    /// Whether a row's site may have had few sections traced.
    pub fn is_rare(&self, row: usize) -> bool {
        self.rows.at(row).is_some_and(|(row, _)| row.rare.get())
    }

    /// Its site has had enough of them.
    pub fn not_rare(&self, row: usize) {
        if let Some((row, _)) = self.rows.at(row) {
            row.rare.set(false);
        }
    }

    /// Whether the hold of one that stands for so many is to be measured: at random, one in [`TIMED`].
    #[inline]
    pub fn is_time_for_a_clock(&mut self, acquisitions: u32) -> bool {
        self.clock_in = self.clock_in.saturating_sub(acquisitions);
        if self.clock_in > 0 {
            return false;
        }
        self.clock_in = 1 + self.random(2 * TIMED);
        tls::timed() == 0
    }

    /// Counts so many acquisitions, of which one waited so long; 0 if it did not wait.
    #[inline]
    pub fn acquired(&self, row: usize, acquisitions: u32, waited: u64) {
        let Some((row, more)) = self.rows.at(row) else { return };
        add(&row.acquisitions, acquisitions.into());
        if waited > 0 {
            add(&more.contended, 1);
            add(&more.waited, waited);
        }
    }

    /// Counts a traced section.
    pub fn traced(&self, row: usize) {
        if let Some((_, more)) = self.rows.at(row) {
            add(&more.traced, 1);
        }
    }

    /// Measures how long a lock is held from now on.
    pub fn time(&mut self, lock: usize, row: usize) {
        self.timed = (clock::now(), row);
        tls::set_timed(lock);
    }

    /// Ends what [`Thread::time`] began.
    pub fn timed(&mut self) {
        tls::set_timed(0);
        let (since, row) = self.timed;
        if let Some((_, more)) = self.rows.at(row) {
            add(&more.held, clock::now().saturating_sub(since));
            add(&more.held_samples, 1);
        }
    }

    /// Writes what was counted since the last time.
    pub fn flush(&mut self) {
        for (row, more) in self.rows.used() {
            write_row(&mut self.writer, row, more);
        }
    }

    /// Writes what was counted if that was not done for long, lest all of it is lost with a process
    /// that is killed: at most the last fifth of its time.
    #[inline]
    pub fn keep_written(&mut self, now: u64) {
        if now >= self.write_at && !self.busy {
            self.write(now);
        }
    }

    #[cold]
    fn write(&mut self, now: u64) {
        /// The first time is after this part of a second.
        const FIRST: u64 = 10;
        /// Each next one when this part of the time that has passed has passed again.
        const AGAIN: u64 = 4;
        if self.write_at != 0 {
            aside::work(|| {
                let began = clock::of_thread();
                self.flush();
                self.process.add_besides(clock::of_thread().saturating_sub(began));
            });
        }
        let passed = now.saturating_sub(self.process.started);
        self.write_at = now + (passed / AGAIN).max(self.process.options.ticks_per_second / FIRST);
    }

    fn name_and_end(&mut self, now: u64) {
        let mut path = format!("/proc/self/task/{}/comm\0", self.tid);
        let name = crate::files::read(&mut path);
        self.writer.set_name_and_end(name.trim_ascii_end(), now);
    }

    /// Learns the bounds of the stack that the thread runs on.
    pub fn learn_stack(&mut self, pointer: u64) {
        if self.is_on_stack(pointer) {
            return;
        }
        let first = self.stack == (0, 0);
        let found = aside::work(|| crate::files::mapping_around(pointer)).flatten();
        self.stack = found.unwrap_or((pointer, pointer));
        if first {
            self.writer.set_stack(self.stack.0..self.stack.1);
        }
    }

    /// Whether an address lies in the stack that is known.
    fn is_on_stack(&self, pointer: u64) -> bool {
        pointer.wrapping_sub(self.stack.0) < self.stack.1 - self.stack.0
    }

    /// Keeps a context in which tracing has stopped from other threads: this one has yet to leave it,
    /// by its stack and its registers.
    pub fn retire(&mut self, context: &mut Context) {
        self.give_back_context();
        self.retired = context;
    }

    /// Gives such a context back where the program locks next. On its own stack, that is: a handler
    /// of a signal may have interrupted the leaving, and be on the context's stack or on another.
    #[inline]
    pub fn has_left(&mut self, pointer: u64) {
        if !self.retired.is_null() && self.is_on_stack(pointer) {
            self.give_back_context();
        }
    }

    fn give_back_context(&mut self) {
        // SAFETY: contexts stay mapped, and this one is lent to this thread.
        if let Some(context) = unsafe { self.retired.as_mut() } {
            context.give_back();
            self.retired = null_mut();
        }
    }
}

/// Writes what was counted in a row since the last time.
fn write_row(writer: &mut Writer, row: &Row, more: &More) {
    let take = |cell: &AtomicU64| cell.swap(0, Ordering::Relaxed);
    let lock = row.lock.load(Ordering::Acquire);
    let acquisitions = take(&row.acquisitions);
    if lock == 0 || acquisitions == 0 {
        return;
    }
    writer.count(&CountRecord {
        lock,
        site: row.site.load(Ordering::Relaxed),
        acquisitions,
        contended: take(&more.contended),
        traced: take(&more.traced),
        waited_ticks: take(&more.waited),
        held_ticks: take(&more.held),
        held_samples: take(&more.held_samples),
        op: row.op.load(Ordering::Relaxed),
        reserved: 0,
    });
}

/// A number from 0 to `below` - 1 (xorshift64*, Vigna 2016).
fn random(state: &mut u64, below: u32) -> u32 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let high = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
    ((high * u64::from(below)) >> 32) as u32
}

/// Adds to a counter that only this thread writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}
