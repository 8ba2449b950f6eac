//! A row of locks of one kind, and the loops in which threads use them.
//!
//! Each lock gets its own loops, into which the compiler inlines the lock as into a user's code.
//! Only the call of a whole loop goes through a pointer. The loops of the C locks are in
//! `programs/ck_locks.c`, and are equal line by line.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::work::{Work, busy, now};

/// The operations of a lock that are measured.
pub trait Lock: Default + Send + Sync {
    /// Whether readers can share the lock.
    const SHARED: bool = false;

    /// The data that a thread keeps from one acquisition to the next: its queue node, or nothing.
    type Thread: Default;

    /// Runs a section while holding the lock exclusively.
    fn with<R: Send>(&self, thread: &mut Self::Thread, section: impl FnOnce() -> R + Send) -> R;

    /// Runs a section while holding the lock as a reader.
    #[inline(always)]
    fn share<R: Send>(&self, thread: &mut Self::Thread, section: impl FnOnce() -> R + Send) -> R {
        self.with(thread, section)
    }
}

/// A row of locks of one type, which the trait hides.
pub trait Arena: Send + Sync {
    /// Acquires and releases the first lock this many times.
    fn pairs(&self, count: u64);
    /// Acquires the first lock as a reader and releases it this many times.
    fn read_pairs(&self, count: u64);
    /// Uses the locks until the stop flag is set.
    fn work(&self, work: &mut Work);
    /// The number of sections that have written, as the counters under the locks show it.
    fn counted(&self) -> u64;
}

/// A lock with its protected data, on lines of their own.
#[derive(Default)]
#[repr(C, align(128))]
struct Cell<L> {
    lock: L,
    count: Count,
}

/// A counter that holders write.
#[derive(Default)]
struct Count(UnsafeCell<u64>);

// SAFETY: the counter is accessed only by holders of its lock, or after all threads have ended.
unsafe impl Sync for Count {}

impl Count {
    #[inline(always)]
    fn add_one(&self) {
        // SAFETY: the caller holds the lock. The accesses are volatile, as in C, so that no store
        // is optimized away.
        unsafe { self.0.get().write_volatile(self.0.get().read_volatile() + 1) };
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        // SAFETY: the caller holds the lock, at least as a reader, or all threads have ended.
        unsafe { self.0.get().read_volatile() }
    }
}

/// The stop flag, in a form that can be sent with a section that runs on another thread.
struct Flag(*const AtomicBool);

// SAFETY: the flag outlives the threads of a run.
unsafe impl Send for Flag {}

impl Flag {
    #[inline(always)]
    fn is_set(&self) -> bool {
        // SAFETY: as above.
        unsafe { &*self.0 }.load(Relaxed)
    }
}

struct Row<L>(Vec<Cell<L>>);

/// A row of this many new locks of one type.
pub fn row<L: Lock + 'static>(locks: usize) -> Box<dyn Arena> {
    Box::new(Row::<L>((0..locks).map(|_| Cell::default()).collect()))
}

/// Does nothing, but makes the compiler assume that all shared memory is accessed here.
#[inline(always)]
pub fn barrier() {
    // SAFETY: there is no instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

impl<L: Lock> Arena for Row<L> {
    fn pairs(&self, count: u64) {
        let lock = &self.0[0].lock;
        let mut thread = L::Thread::default();
        for _ in 0..count {
            lock.with(&mut thread, barrier);
        }
    }

    fn read_pairs(&self, count: u64) {
        let lock = &self.0[0].lock;
        let mut thread = L::Thread::default();
        for _ in 0..count {
            lock.share(&mut thread, barrier);
        }
    }

    fn work(&self, work: &mut Work) {
        let section_loops = work.section;
        let mut thread = L::Thread::default();
        loop {
            let random = work.next_random();
            let cell = &self.0[(random as u32 & work.mask) as usize];
            let writes = !L::SHARED || ((random >> 40 & 1023) as u32) < work.writes;
            let sampled = work.is_sampled();
            let start = if sampled { now() } else { 0 };
            let stop = Flag(work.stop());
            let end = if writes {
                cell.lock.with(&mut thread, move || {
                    let end = if sampled { now() } else { 0 };
                    let stopped = stop.is_set();
                    if !stopped {
                        cell.count.add_one();
                        if section_loops != 0 {
                            busy(section_loops);
                        }
                    }
                    (!stopped).then_some(end)
                })
            } else {
                cell.lock.share(&mut thread, move || {
                    let end = if sampled { now() } else { 0 };
                    let stopped = stop.is_set();
                    if !stopped {
                        cell.count.read();
                        if section_loops != 0 {
                            busy(section_loops);
                        }
                    }
                    (!stopped).then_some(end)
                })
            };
            let Some(end) = end else {
                return;
            };
            work.done += 1;
            work.written += u64::from(writes);
            if sampled {
                work.keep(end - start);
            }
            if work.outside != 0 {
                busy((((random >> 32) * (2 * u64::from(work.outside))) >> 32) as u32);
            }
        }
    }

    fn counted(&self) -> u64 {
        self.0.iter().map(|cell| cell.count.read()).sum()
    }
}

/// A row of locks of a C library: its memory, and the pointers through which its loops are called.
pub struct Foreign {
    pub cells: *mut u8,
    pub layout: std::alloc::Layout,
    pub locks: usize,
    pub pairs: unsafe extern "C" fn(*mut u8, u64),
    pub read_pairs: unsafe extern "C" fn(*mut u8, u64),
    pub work: unsafe extern "C" fn(*mut u8, *mut Work),
    pub counted: unsafe extern "C" fn(*const u8, usize) -> u64,
}

// SAFETY: the loops are written to be run by several threads at a time.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout, and no thread uses it any more.
        unsafe { std::alloc::dealloc(self.cells, self.layout) };
    }
}

// SAFETY of the calls below: the functions belong to the library that has initialized the cells.
impl Arena for Foreign {
    fn pairs(&self, count: u64) {
        // SAFETY: as above.
        unsafe { (self.pairs)(self.cells, count) };
    }
    fn read_pairs(&self, count: u64) {
        // SAFETY: as above.
        unsafe { (self.read_pairs)(self.cells, count) };
    }
    fn work(&self, work: &mut Work) {
        // SAFETY: as above.
        unsafe { (self.work)(self.cells, ptr::from_mut(work)) };
    }
    fn counted(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (self.counted)(self.cells, self.locks) }
    }
}
