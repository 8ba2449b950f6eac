//! The list of all known threads. A thread is added to it at its first acquisition, and finds its
//! own entry through thread-local storage.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::counts::write_row;
use super::rows::Rows;
use super::state::Thread;
use crate::process::{self, Process};
use crate::{aside, clock, engine, files, tls};

static THREADS: AtomicPtr<Thread> = AtomicPtr::new(null_mut());

/// The state of the calling thread, which is made if necessary; `None` if the thread can't be
/// recorded.
#[inline]
pub fn current() -> Option<&'static mut Thread> {
    let process = process::current()?;
    match existing() {
        Some(thread) if core::ptr::eq(thread.process, process) => Some(thread),
        _ => begin(process),
    }
}

/// The value of [`tls::thread`] while a thread's state is being made. It keeps acquisitions of a
/// signal handler that runs meanwhile from being counted.
const BEGINNING: usize = 1;

/// The state of the calling thread; `None` if it has not been made yet.
#[inline]
pub fn existing() -> Option<&'static mut Thread> {
    match tls::thread() {
        0 | BEGINNING => None,
        // SAFETY: the state is this thread's own, and never freed.
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
    // Acquire (also that of a failed exchange below) pairs with the Release of the exchange, so
    // that the field that `known_of` reads is visible.
    let mut first = THREADS.load(Ordering::Acquire);
    loop {
        thread.next = known_of(process, first);
        // Release pairs with the Acquire in `flush_all` and the one above.
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

/// The list that begins with `first`, if that is a thread of this process; otherwise an empty list.
/// (In a forked child, all threads of the list are the parent's at first.)
fn known_of(process: &Process, first: *mut Thread) -> *mut Thread {
    // SAFETY: threads are never freed, and the field `process` does not change.
    let is_ours = !first.is_null() && core::ptr::eq(unsafe { (*first).process }, process);
    if is_ours { first } else { null_mut() }
}

/// Arranges that a thread's counts are written when the thread ends.
fn at_end(thread: *mut Thread) {
    ENDS.notice(thread.cast());
}

syncline_interpose::thread_ends!(
    /// Calls `ended` when a thread ends.
    ENDS, ended
);

unsafe extern "C" fn ended(thread: *mut c_void) {
    // SAFETY: `at_end` has passed the address of this thread's state, which is never freed.
    unsafe {
        let thread = &mut *thread.cast::<Thread>();
        // Acquisitions by destructors that run later are not counted, since another thread may have
        // the table of rows by then.
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

/// Writes the counts of all threads of a process, at the end of tracing.
pub fn flush_all(process: &Process) {
    let mut at = THREADS.load(Ordering::Acquire);
    // SAFETY: threads are never freed. (Threads that still run go on counting meanwhile, so an
    // acquisition or two may be missing.)
    while let Some(thread) = unsafe { at.as_mut() } {
        // A thread that has ended has no rows any more; it has written everything itself.
        if core::ptr::eq(thread.process, process) && !thread.rows.is_none() {
            // The thread may be writing at this moment, so another writer, with a position of its
            // own, is used.
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
    /// Writes the thread's name and `now`, the time of its end, which is 0 if the thread still
    /// runs.
    fn name_and_end(&mut self, now: u64) {
        let mut path = format!("/proc/self/task/{}/comm\0", self.tid);
        let name = files::read(&mut path);
        self.writer.set_name_and_end(name.trim_ascii_end(), now);
    }
}
