//! A process's side of the recording: its mapped file, and the state that goes with it.
//!
//! Everything that belongs to one process and its file lies in one private mapping that the kernel
//! *wipes* in a forked child (`MADV_WIPEONFORK`): this structure, and the state of each thread. So
//! a child finds it empty, however it was forked, and its next operation starts over: with a header
//! of its own in its parent's file, or with a file of its own. It can't count in its parent's name,
//! and no mark of ours stays set, since all these words are zero.
//!
//! ```text
//! FRESH --begin--> STARTING --the file is mapped--> READY --recording ends--> OFF
//!                     `------it can't be had------> OFF
//! ```
//!
//! The recorder begins before the process tries its first lock. From a lock's acquisition to the
//! return into the program, nothing is called that a program can replace or that takes a lock; the
//! documentation of the crate says what follows from that.

pub mod children;
pub mod create;
pub mod stacks;
mod waiters;

use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{Advice, madvise, munmap};
use syncline_interpose::preserving_errno;
use syncline_recording::layout::Header;
use syncline_recording::writer::{File, Room, Shelf};

extern crate alloc;
use alloc::boxed::Box;

use crate::alloc::{has_room, map_anonymous};
use crate::clock;
use crate::recorder::waiters::Waiters;
use crate::thread::usage::is_sandboxed;
use crate::thread::{Threads, times_of};
use crate::unwind::{self, Modules};

const FRESH: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;
const OFF: u32 = 3;

/// The state of one process's recording. It begins as all zero.
#[repr(C, align(4096))]
pub struct Recorder {
    stage: AtomicU32,
    /// Number of operations, of a signal handler or of another thread, that came while the file was
    /// being made.
    early: AtomicU64,
    file: AtomicPtr<File>,
    /// Set while a thread adds a module to the unwinder.
    modules_busy: AtomicU32,
    /// How many threads wait for events.
    pub waiters: Waiters,
    /// Tables that threads have outgrown.
    shelf: Shelf,
    /// The threads' states. The first one ends in the second page.
    pub threads: Threads,
}

/// A child that lives for a moment touches only these two pages of its private memory.
const _: () = assert!(offset_of!(Recorder, threads) + Threads::FIRST_ENDS <= 2 * 4096);

/// The address of the recorder. The pointer survives a fork, but the kernel wipes the memory that
/// it points to.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(null_mut());

/// The recorder, if it has a file; begins one if that was not tried yet.
pub fn get() -> Option<&'static Recorder> {
    let recorder = mapped()?;
    // A load first: when recording has ended, or could not begin, every operation comes here, and
    // an exchange would take the cache line away from the other threads each time.
    match recorder.stage.load(Ordering::Acquire) {
        READY => return Some(recorder),
        OFF => return None,
        _ => {}
    }
    let (fresh, starting) = (FRESH, STARTING);
    match recorder.stage.compare_exchange(fresh, starting, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => recorder.begin(),
        Err(READY) => Some(recorder),
        Err(_) => None,
    }
}

/// Notes that an operation of the calling thread could not be recorded.
pub fn count_missed() {
    // SAFETY: the mapping is never removed.
    let Some(recorder) = (unsafe { RECORDER.load(Ordering::Acquire).as_ref() }) else { return };
    match recorder.stage.load(Ordering::Acquire) {
        READY => recorder.file().count(offset_of!(Header, dropped_operations), 1),
        STARTING => _ = recorder.early.fetch_add(1, Ordering::Relaxed),
        _ => {}
    }
}

/// The recorder, if it already has a file.
pub fn existing() -> Option<&'static Recorder> {
    // SAFETY: the mapping is never removed.
    let recorder = unsafe { RECORDER.load(Ordering::Acquire).as_ref()? };
    (recorder.stage.load(Ordering::Acquire) == READY).then_some(recorder)
}

/// The recorder's memory, which is mapped at the first call.
fn mapped() -> Option<&'static Recorder> {
    let known = RECORDER.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: the mapping is never removed.
        return Some(unsafe { &*known });
    }
    let fresh = map_anonymous(size_of::<Recorder>())?;
    // SAFETY: the mapping is ours. On a kernel that can't wipe (before 4.14) a child would
    // write into its parent's file, so there we don't record.
    let wiped = unsafe { madvise(fresh.cast(), size_of::<Recorder>(), Advice::LinuxWipeOnFork) };
    let fresh = fresh.cast::<Recorder>();
    let won = wiped.is_ok()
        && RECORDER
            .compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
    if !won {
        // SAFETY: no other thread has seen this mapping.
        let _ = unsafe { munmap(fresh.cast(), size_of::<Recorder>()) };
    }
    // SAFETY: the mapping is never removed, and all zero is a valid recorder.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// Bytes of our own memory that a recording needs at least.
const NEEDED: usize = 2 << 20;

impl Recorder {
    /// Begins the recording. The caller has set the stage to [`STARTING`].
    fn begin(&'static self) -> Option<&'static Recorder> {
        let file = if has_room(NEEDED) { create::create() } else { None };
        let Some(file) = file else {
            self.stage.store(OFF, Ordering::Release);
            return None;
        };
        let file: &File = Box::leak(Box::new(file));
        self.file.store((&raw const *file).cast_mut(), Ordering::Relaxed);
        self.stage.store(READY, Ordering::Release);
        unwind::begin(file);
        // Only now, after the file has its modules.
        create::leave_to_children(file);
        let early = self.early.load(Ordering::Relaxed);
        file.count(offset_of!(Header, interrupted_operations), early);
        Some(self)
    }

    /// The mapped file.
    pub fn file(&self) -> &File {
        // SAFETY: written before READY was stored with Release, and only a recorder that was found
        // READY with Acquire is handed out. Freed only while no thread runs code of this library.
        unsafe { &*self.file.load(Ordering::Relaxed) }
    }

    /// Notes the processor time of the living threads.
    fn note_living(&self) {
        let file = self.file();
        if file.is_of_this_process() && !is_sandboxed() {
            preserving_errno(|| file.note_living(times_of));
        }
    }

    /// Where unwinding records the process's modules.
    pub fn modules(&self) -> Modules<'_> {
        Modules { file: self.file(), busy: &self.modules_busy }
    }

    /// The space in the file for threads' tables and logs.
    pub fn room(&self) -> Room<'_> {
        Room { file: self.file(), shelf: &self.shelf }
    }
}

/// Adds one to the counter at this offset of the header, if there is a file.
pub fn count(counter: usize) {
    if let Some(recorder) = existing() {
        recorder.file().count(counter, 1);
    }
}

/// Begins in a process that already runs, and in which nothing is left of an earlier recording.
pub fn begin_again() -> Option<&'static Recorder> {
    let recorder = mapped()?;
    recorder.stage.store(FRESH, Ordering::Release);
    get()
}

/// Counts the release of a lock whose acquisition was not seen, because it came before the
/// recording. Does nothing unless the recorder was attached to the running process.
pub fn count_acquired_before() {
    let Some(recorder) = existing() else { return };
    let file = recorder.file();
    if file.was_attached_to() {
        file.count(offset_of!(Header, acquired_before), 1);
    }
}

/// Notes that recording ends while the process goes on. From here on, no thread finds a recorder.
pub fn process_is_left() {
    if let Some(recorder) = existing() {
        recorder.note_living();
        recorder.file().leave(clock::now());
        recorder.stage.store(OFF, Ordering::Release);
    }
}

/// Forgets everything that the ended recording has made, as a fork would. A thread that still has a
/// state of that recording finds the state empty, and takes another one in the next recording.
/// States are not used again, because the threads that had them still point to them. When half of
/// all states have been used, the next recording gets a new recorder.
///
/// # Safety
/// No thread runs code of this library. Threads may wait in system calls that the C library makes
/// for it.
pub unsafe fn rest() {
    // SAFETY: the mapping is never removed.
    let Some(recorder) = (unsafe { RECORDER.load(Ordering::Acquire).as_ref() }) else { return };
    let file = recorder.file.load(Ordering::Relaxed);
    let used = recorder.threads.used_so_far();
    // SAFETY: by this function's own condition. All zero is a recorder's initial state.
    unsafe {
        let at: *mut Recorder = (&raw const *recorder).cast_mut();
        let _ = madvise(at.cast(), size_of::<Recorder>(), Advice::LinuxDontNeed);
        recorder.stage.store(OFF, Ordering::Release);
        if let Some(file) = file.as_ref() {
            let _ = file.unmap();
        }
    }
    if recorder.threads.go_on_from(used) {
        return;
    }
    RECORDER.store(null_mut(), Ordering::Release);
}

/// Notes that the process ends, and the processor time of the threads that still live.
pub fn process_ends() {
    if let Some(recorder) = existing() {
        recorder.note_living();
        recorder.file().end(clock::now());
    }
}
