//! The library's state for each thread, and how a thread gets it.
//!
//! [`ThreadState`] is private memory of the process; the counters themselves are in the file. A
//! thread gets a state when it is created or, if its creation was not seen, at its first operation.
//! The state goes back after the thread has run its last destructor.

mod adding;
pub mod attach;
pub mod call;
pub mod held;
pub mod paths;
pub mod pending;
pub mod records;
pub mod rows;
pub mod usage;

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use rustix::thread::gettid;
use syncline_interpose::Mark;
use syncline_recording::layout::{Row, ThreadRecord};
use syncline_recording::schedstat::Times;
use syncline_recording::writer::{LOCKS, Log, PLACES, Recent, Room, Table, Tail};

use crate::thread::held::Held;
use crate::thread::pending::Pending;
use crate::thread::usage::{at_end, of_other};
use crate::tls;

/// The number of threads that can be recorded at a time.
const LIVE_THREADS: usize = 16_384;

/// A thread's working memory. In addition to the row, the fast path touches an entry of `recent`,
/// and the count and an entry of `held`.
///
/// Only its owner uses it, except for the fields that other threads read. After a fork all of it is
/// zero, and the missing table sends the thread to [`attach`].
#[repr(C, align(64))]
pub struct ThreadState {
    /// Its rows by place, in the file. Missing while the thread counts nothing.
    pub places: Table,
    /// The highest address of the stack, from which depths are counted.
    pub stack_high: Cell<usize>,
    /// The locks that it holds. Other threads read this to find the holder of a lock.
    pub held: Held,

    /// The calls whose operations were sampled last.
    pub recent: Recent,

    /// Its rows by lock and place, in the file.
    pub locks: Table,

    /// Index of the thread's record. Others read it, together with the held locks.
    pub index: AtomicU32,
    /// Set while the state is changed in several steps. A signal handler that finds it set lets its
    /// operation pass uncounted.
    pub busy: Mark,
    /// The thread's record, in the file.
    pub record: Cell<*mut ThreadRecord>,
    /// Nanoseconds of processor time that the thread had used when its recording began.
    pub cpu_before: Cell<u64>,
    /// How often the destructor of the thread-specific key has run.
    pub destructor_runs: Cell<u32>,
    /// Its latest wait, if that is not counted yet.
    pub pending: Pending,
    /// The position of its next wait or nest record.
    pub tail: Tail,
    /// The log of events, in the file.
    pub log: Log,
    /// How often the thread has woken others.
    pub notices: Cell<u32>,
    /// When the thread last yielded, or last failed to get a lock by a try.
    pub polled_at: Cell<u64>,
    /// The C library's handle of the thread. Others read it to find the thread that they joined.
    pub handle: AtomicUsize,
    /// The function that the thread is to run, from its creation to its start.
    pub start: Cell<Start>,
    /// Links free states; see [`Threads`].
    next_free: AtomicU32,
}

impl ThreadState {
    /// Whether its thread is recorded. Otherwise the state has no thread, or the thread has not
    /// started yet.
    #[inline(always)]
    pub fn is_attached(&self) -> bool {
        self.places.is_there()
    }

    /// Goes on with the tables of the thread's record, or makes a first table of places. False if
    /// there is no room for that.
    ///
    /// # Safety
    /// The state and its record are the calling thread's own.
    unsafe fn take_over_tables(&self, room: Room<'_>) -> bool {
        let record = self.record.get();
        self.recent.clear();
        // SAFETY: by this function's own condition.
        unsafe {
            self.places.take_over(&PLACES, Some(room), (*record).places);
            self.locks.take_over(&LOCKS, Some(room), (*record).table);
            self.places.is_there() || self.places.begin(&PLACES, room, record).is_some()
        }
    }

    /// Leaves the tables to the next thread with this record.
    fn leave_tables(&self, room: Option<Room<'_>>) {
        self.recent.clear();
        self.places.leave(&PLACES, room);
        self.locks.leave(&LOCKS, room);
    }

    /// Updates the pointers to rows that have moved.
    fn rows_moved(&self, to: impl Fn(*mut Row) -> *mut Row) {
        self.recent.clear();
        self.held.relocate(&to);
        self.pending.relocate(to);
    }
}

// SAFETY: fields that are not atomic are touched only by the thread that owns the state, except
// `held`, whose words others read atomically. The state changes owners through `Threads`, and
// through the creation of a thread.
unsafe impl Sync for ThreadState {}

/// The calling thread's state; `None` before its first operation, and after its last destructor.
#[inline(always)]
pub fn state() -> Option<&'static ThreadState> {
    // SAFETY: the word is 0, or was set from such a reference in `set_state`.
    unsafe { (tls::state_address() as *const ThreadState).as_ref() }
}

/// Sets what [`state`] returns.
pub fn set_state(state: Option<&'static ThreadState>) {
    tls::set_state_address(state.map_or(0, |state| (&raw const *state).addr()));
}

/// How long a thread of this process was on a processor, and ready for one. `tid` is its number,
/// and `started` is when its recording began. `None` if that can't be read. The calling thread must
/// not be in a sandbox.
pub fn times_of(tid: u32, started: u64) -> Option<Times> {
    match state() {
        Some(state) if gettid().as_raw_nonzero().get() as u32 == tid => {
            Some(at_end(started, state.cpu_before.get()))
        }
        _ => of_other(tid),
    }
}

/// How a thread was created.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Start {
    pub function: *mut c_void,
    pub argument: *mut c_void,
    /// Index of the thread that created it.
    pub creator: u32,
    /// Stack of the call that created it.
    pub created_at: u32,
    /// The size of its stack in bytes.
    pub stack_size: usize,
}

impl Start {
    /// The value for a thread whose creation was not seen.
    pub const UNKNOWN: Start = Start {
        function: null_mut(),
        argument: null_mut(),
        creator: u32::MAX,
        created_at: 0,
        stack_size: 0,
    };
}

/// The states of all threads. It begins as all zero.
#[repr(C, align(64))]
pub struct Threads {
    /// In the low half, the index of the first free state plus one. In the high half, a count of
    /// changes, so that a compare-and-swap does not mistake an old list for the new one.
    free: AtomicU64,
    /// How many states were ever given out.
    used: AtomicU32,
    states: [ThreadState; LIVE_THREADS],
}

impl Threads {
    /// The offset at which the first state ends.
    pub const FIRST_ENDS: usize = offset_of!(Threads, states) + size_of::<ThreadState>();

    /// Takes a state; `None` if all are taken.
    pub fn take(&self) -> Option<&ThreadState> {
        let mut free = self.free.load(Ordering::Acquire);
        while free as u32 != 0 {
            let place = free as u32 as usize - 1;
            let next = self.states[place].next_free.load(Ordering::Relaxed);
            let changed = ((free >> 32) + 1) << 32 | u64::from(next);
            // Acquire pairs with the Release in `give_back`: what the last owner wrote to the state
            // comes before what the new one writes.
            match self.free.compare_exchange_weak(
                free,
                changed,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(&self.states[place]),
                Err(now) => free = now,
            }
        }
        let all = LIVE_THREADS as u32;
        let claim = |used: u32| (used < all).then_some(used + 1);
        let place = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()?;
        Some(&self.states[place as usize])
    }

    /// Gives a state back. Its owner must not use it any more.
    pub fn give_back(&self, state: &ThreadState) {
        let offset = (&raw const *state).addr() - self.states.as_ptr().addr();
        let place = offset / size_of::<ThreadState>();
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            self.states[place].next_free.store(free as u32, Ordering::Relaxed);
            let changed = ((free >> 32) + 1) << 32 | (place as u64 + 1);
            match self.free.compare_exchange_weak(
                free,
                changed,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    /// How many states were ever given out.
    pub fn used_so_far(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// From now on gives out only states from index `used` on; false if too few of these are left.
    pub fn go_on_from(&self, used: u32) -> bool {
        self.used.store(used, Ordering::Relaxed);
        (used as usize) < LIVE_THREADS / 2
    }

    /// The states that were ever given out. Only the fields that other threads may read may be
    /// used.
    pub fn used(&self) -> &[ThreadState] {
        let used = self.used.load(Ordering::Acquire) as usize;
        &self.states[..used.min(LIVE_THREADS)]
    }
}
