//! The list of all known threads: a thread is added, finds its own entry, and ends.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::counts::write_row;
use super::rows::Rows;
use super::state::Thread;
use crate::process::{self, Process};
use crate::{aside, clock, engine, files, tls};

static THREADS: AtomicPtr<Thread> = AtomicPtr::new(null_mut());

/// This thread; `None` if it can't be recorded.
#[inline]
pub fn current() -> Option<&'static mut Thread> {
    let process = process::current()?;
    match existing() {
        Some(thread) if core::ptr::eq(thread.process, process) => Some(thread),
        _ => begin(process),
    }
}

/// The value of [`tls::thread`] while a thread begins: acquisitions of a signal handler that runs
/// meanwhile are not counted.
const BEGINNING: usize = 1;

/// This thread; `None` if it is not known yet.
#[inline]
pub fn existing() -> Option<&'static mut Thread> {
    match tls::thread() {
        0 | BEGINNING => None,
        // SAFETY: the entry is this thread's own, and never freed.
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
    // Acquire, like a failed exchange below, with the Release of the exchange: the field that
    // `known_of` reads is visible.
    let mut first = THREADS.load(Ordering::Acquire);
    loop {
        thread.next = known_of(process, first);
        // Release, with the Acquire of `flush_all` and the one above.
        match THREADS.compare_exchange(first, me, Ordering::Release, Ordering::Acquire) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    at_end(me);
    engine::cache::warm_up(thread.tid);
    process.add_besides(clock::of_thread().saturating_sub(began));
    thread.busy = false;
    Some(thread)
}

/// The list that begins with `first` if that is a thread of this process, otherwise an empty one: in a
/// forked child, all threads are the parent's at first.
fn known_of(process: &Process, first: *mut Thread) -> *mut Thread {
    // SAFETY: threads are never freed, and the field `process` does not change.
    let is_ours = !first.is_null() && core::ptr::eq(unsafe { (*first).process }, process);
    if is_ours { first } else { null_mut() }
}

/// Arranges that the thread's counts are written when it ends.
fn at_end(thread: *mut Thread) {
    ENDS.notice(thread.cast());
}

syncline_interpose::thread_ends!(
    /// Runs `ended` when a thread ends.
    ENDS, ended
);

unsafe extern "C" fn ended(thread: *mut c_void) {
    // SAFETY: set above, and never freed.
    unsafe {
        let thread = &mut *thread.cast::<Thread>();
        // Acquisitions of later destructors are not counted: another thread may have the table by
        // then.
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

/// Writes the counts of all threads, at the end of tracing.
pub fn flush_all(process: &Process) {
    let mut at = THREADS.load(Ordering::Acquire);
    // SAFETY: threads are never freed. Threads that still run go on counting meanwhile, so an
    // operation or two may be missing.
    while let Some(thread) = unsafe { at.as_mut() } {
        // A thread that has ended has no rows, and has written everything.
        if core::ptr::eq(thread.process, process) && !thread.rows.is_none() {
            // The thread may be writing at this moment, so a writer with a position of its own is
            // used.
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
    /// Writes the thread's name, and the time of its end; 0 if it still runs.
    fn name_and_end(&mut self, now: u64) {
        let mut path = format!("/proc/self/task/{}/comm\0", self.tid);
        let name = files::read(&mut path);
        self.writer.set_name_and_end(name.trim_ascii_end(), now);
    }
}
