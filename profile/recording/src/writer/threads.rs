//! The records of threads: claimed, filled in, taken over from threads that have ended.

use core::iter::successors;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::file::File;
use crate::layout::{FOUND, THREAD_EXITED, THREAD_RUNNING, ThreadRecord};
use crate::schedstat::Times;

/// The number of records that a process gets.
const RECORDS: u32 = 4096;

/// What is known of a thread when it begins.
#[derive(Clone, Copy, Debug)]
pub struct ThreadStart {
    /// [`ThreadRecord::start_function`]
    pub function: u64,
    /// [`ThreadRecord::creator`]
    pub creator: u32,
    /// [`ThreadRecord::created_at`]
    pub created_at: u32,
    /// [`ThreadRecord::tid`]
    pub tid: u32,
    /// [`ThreadRecord::started`]
    pub started: u64,
    /// [`ThreadRecord::name`]
    pub name: [u8; 24],
    /// Its processor time so far, if it was [`FOUND`].
    pub before: Option<Times>,
}

impl File {
    /// Claims a record for a thread with this start function, with its index: a fresh one or, when none is
    /// left, that of an ended thread with the same function. `None` if there is none; that is
    /// counted.
    ///
    /// It is to be filled in with [`File::begin_thread`].
    pub fn claim_thread(&self, function: u64) -> Option<(*mut ThreadRecord, u32)> {
        let header = self.header();
        // SAFETY: the header is mapped, and the word is only touched atomically.
        let own =
            unsafe { AtomicU32::from_ptr(&raw mut (*header).own_threads).load(Ordering::Relaxed) };
        let (count, region) = self.threads();
        if count < region.capacity
            && own < RECORDS
            && let Some(fresh) = self.new_thread()
        {
            return Some(fresh);
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let page = self.page();
        for _ in 0..count {
            let index = NEXT.fetch_add(1, Ordering::Relaxed) % count;
            let record = self.thread_record(index);
            // SAFETY: within the region. Acquire pairs with the Release in `end_thread`: we go on
            // with the tables of the thread that ended.
            let taken = unsafe {
                (*record).process == page
                    && (*record).start_function == function
                    && AtomicU32::from_ptr(&raw mut (*record).state)
                        .compare_exchange(
                            THREAD_EXITED,
                            THREAD_RUNNING,
                            Ordering::Acquire,
                            Ordering::Relaxed,
                        )
                        .is_ok()
            };
            if taken {
                return Some((record, index));
            }
        }
        if count == region.capacity || own == RECORDS {
            // SAFETY: as above; the word is only added to atomically. If there was a record and no
            // room for it, that was counted when it was requested.
            unsafe {
                let dropped = AtomicU32::from_ptr(&raw mut (*header).threads.dropped);
                dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        None
    }

    /// Fills a record in; from then on readers see the thread.
    ///
    /// # Safety
    /// The record, and its index, were claimed for this thread from this file.
    pub unsafe fn begin_thread(&self, record: *mut ThreadRecord, index: u32, start: &ThreadStart) {
        // SAFETY: by this function's own condition.
        unsafe {
            // First a write: in a child, a read of the file's page would be a page fault of its own.
            (&raw mut (*record).last_seen).write_volatile(start.started);
            if (*record).lifetimes > 0 {
                (*record).earlier_ticks += (*record).ended.saturating_sub((*record).started);
                (*record).seen_cpu_at = 0;
                (*record).left_cpu_ns = 0;
            } else {
                (*record).start_function = start.function;
                self.link(record, index);
            }
            (*record).lifetimes += 1;
            (*record).creator = start.creator;
            if let Some(before) = start.before {
                (*record).creator = FOUND;
                (*record).cpu_ns -= before.cpu_ns as i64;
                (*record).ready_ns -= before.ready_ns as i64;
            }
            (*record).created_at = start.created_at;
            (*record).tid = start.tid;
            (*record).started = start.started;
            (*record).ended = 0;
            (*record).name = start.name;
            // Release: readers of the file take a record whose state says that it is there.
            AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_RUNNING, Ordering::Release);
        }
    }

    /// Notes how long the threads that live were on a processor and ready for one: the process ends, and
    /// they can't note it themselves. `times` takes the kernel's number of a thread, and when it
    /// began.
    pub fn note_living(&self, times: impl Fn(u32, u64) -> Option<Times>) {
        for record in self.own_records() {
            // SAFETY: a record of this process. Acquire pairs with the Release in `begin_thread`: the
            // number is there. The two words are this function's own, except if a thread begins
            // just now.
            unsafe {
                let state = AtomicU32::from_ptr(&raw mut (*record).state).load(Ordering::Acquire);
                if state != THREAD_RUNNING {
                    continue;
                }
                let tid = AtomicU32::from_ptr(&raw mut (*record).tid).load(Ordering::Relaxed);
                let started =
                    AtomicU64::from_ptr(&raw mut (*record).started).load(Ordering::Relaxed);
                let Some(times) = times(tid, started) else { continue };
                let store = |word: *mut u64, ns: u64| {
                    AtomicU64::from_ptr(word).store(ns, Ordering::Relaxed);
                };
                store(&raw mut (*record).left_ready_ns, times.ready_ns);
                store(&raw mut (*record).left_cpu_ns, times.cpu_ns);
            }
        }
    }

    /// The record of the thread with this index, which is one of the region's ([`File::threads`]).
    pub fn thread_record(&self, index: u32) -> *mut ThreadRecord {
        let (_, region) = self.threads();
        let offset = region.offset + u64::from(index) * u64::from(region.record_size);
        self.at(offset).cast()
    }

    /// The records of this process's threads, the latest first: the file may have those of a thousand
    /// other processes.
    fn own_records(&self) -> impl Iterator<Item = *mut ThreadRecord> {
        // The header's and the records' links are indices plus 1; 0 is none.
        let record = |number: u32| number.checked_sub(1).map(|index| self.thread_record(index));
        // SAFETY: the header is mapped. Acquire pairs with the Release in `link`: the record's own link is
        // there, and does not change.
        let latest = unsafe {
            AtomicU32::from_ptr(&raw mut (*self.header()).latest_thread).load(Ordering::Acquire)
        };
        // SAFETY: as above.
        successors(record(latest), move |&of| record(unsafe { (*of).previous }))
    }

    /// Writes the process into a new record, and links it from the process's header.
    ///
    /// # Safety
    /// Same requirement as [`File::begin_thread`].
    unsafe fn link(&self, record: *mut ThreadRecord, index: u32) {
        let header = self.header();
        // SAFETY: by this function's own condition; the header is mapped, and its words are only touched
        // atomically.
        unsafe {
            (*record).process = self.page();
            AtomicU32::from_ptr(&raw mut (*header).own_threads).fetch_add(1, Ordering::Relaxed);
            let latest = AtomicU32::from_ptr(&raw mut (*header).latest_thread);
            let after = |previous: u32| {
                (*record).previous = previous;
                Some(index + 1)
            };
            // Release: readers of the file that find this record find the one before it.
            let _ = latest.fetch_update(Ordering::Release, Ordering::Relaxed, after);
        }
    }
}

/// Says that a thread has ended. Its record may be another thread's at once.
///
/// # Safety
/// The record is this thread's own, and so was all that hangs on it.
pub unsafe fn end_thread(record: *mut ThreadRecord) {
    // SAFETY: by this function's own condition. Release pairs with the Acquire in `claim_thread`.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_EXITED, Ordering::Release);
    }
}
