//! What the library keeps for each thread, and how a thread comes to have it.
//!
//! [`ThreadState`] is private memory of the process; the counters themselves are in the
//! file. A state is given out when a thread is created, or when a thread that nobody saw
//! created does its first operation, and goes back when the thread has run its last
//! destructor.

pub mod attach;
pub mod held;
pub mod rows;
pub mod table;

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use syncline_recording::layout::{Row, ThreadRecord};

use crate::thread::held::Held;
use crate::thread::table::Order;

/// One uncontended acquisition in this many is timed, on average: a power of two.
///
/// Two readings of the time stamp counter cost some 20 ns; spread over this many they add
/// less than half a nanosecond to each, mispredicted branches included.
pub const HOLD_SAMPLE_PERIOD: u32 = 128;

/// Threads that can be recorded at one time.
const LIVE_THREADS: usize = 16_384;

/// A thread's working memory. The first line is all that the fast path touches besides the
/// row and the place of the held lock.
///
/// All zero after a fork, when `table` being null sends the thread to [`attach`].
#[repr(C, align(64))]
pub struct ThreadState {
    /// The table of rows, in the file; null while the thread has none.
    pub table: *mut Row,
    /// Rows of the table, less one.
    pub mask: u64,
    /// Highest address of the stack, from which depths are counted.
    pub stack_high: usize,
    /// In which order the rows stand.
    pub order: Order,
    /// The locks that it holds. Others read it, to find who holds a lock.
    pub held: Held,

    /// The thread's record, in the file.
    pub record: *mut ThreadRecord,
    /// Its index.
    pub index: u32,
    /// Rows in use.
    pub rows: u32,
    /// Set while the state is being changed in steps: a signal handler that comes then
    /// finds it so and lets its operation pass uncounted.
    pub busy: AtomicU32,
    /// Next free wait record, and the end of the page that it is in.
    pub wait_next: u64,
    pub wait_end: u64,
    /// How often the destructor of the thread-specific key has run.
    pub destructor_runs: u32,
    /// What the thread is to run, from its creation to its start.
    pub start: Start,
    /// Links free states; see [`Threads`].
    next_free: AtomicU32,
}

/// How a thread was created.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Start {
    pub function: *mut c_void,
    pub argument: *mut c_void,
    /// Index of the creator.
    pub creator: u32,
    /// Stack of the creation.
    pub created_at: u32,
    /// Bytes of its stack.
    pub stack_size: usize,
}

/// The states of all threads. All zero is its first state.
#[repr(C, align(64))]
pub struct Threads {
    /// Number of the first free state plus one in the low half; in the high half a count
    /// of changes, so that a compare-and-swap does not mistake an old list for the new.
    free: AtomicU64,
    /// States that were ever given out.
    used: AtomicU32,
    states: [ThreadState; LIVE_THREADS],
}

impl Threads {
    /// Takes a state; null if all are taken.
    pub fn take(&self) -> *mut ThreadState {
        let mut free = self.free.load(Ordering::Acquire);
        while free as u32 != 0 {
            let place = free as u32 as usize - 1;
            let next = self.states[place].next_free.load(Ordering::Relaxed);
            let changed = ((free >> 32) + 1) << 32 | u64::from(next);
            // Acquire pairs with the Release in `give_back`: what the last owner wrote to
            // the state comes before what we write.
            match self.free.compare_exchange_weak(
                free,
                changed,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return self.at(place),
                Err(now) => free = now,
            }
        }
        let all = LIVE_THREADS as u32;
        let claim = |used: u32| (used < all).then_some(used + 1);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim) {
            Ok(place) => self.at(place as usize),
            Err(_) => core::ptr::null_mut(),
        }
    }

    /// Gives a state back. Its owner must not use it any more.
    pub fn give_back(&self, state: *mut ThreadState) {
        let place = (state as usize - self.states.as_ptr() as usize) / size_of::<ThreadState>();
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

    /// The states that were ever given out, to be looked at through their atomic parts.
    pub fn used(&self) -> &[ThreadState] {
        let used = self.used.load(Ordering::Acquire) as usize;
        &self.states[..used.min(LIVE_THREADS)]
    }

    fn at(&self, place: usize) -> *mut ThreadState {
        (&raw const self.states[place]).cast_mut()
    }
}
