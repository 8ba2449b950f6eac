//! Claims records for threads, fills them in, and takes over records of threads that have ended.

use core::iter::successors;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::file::File;
use crate::layout::{FOUND, THREAD_EXITED, THREAD_RUNNING, ThreadRecord};
use crate::schedstat::Times;

/// A process gets at most this many records.
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
    /// If the thread is [`FOUND`], its times before it was recorded.
    pub before: Option<Times>,
}

impl File {
    /// Claims a record for a thread with this start function, and returns the record and its index.
    /// It is an unused record or, if there is none, that of a thread of this process that has ended
    /// and had the same start function. `None` if there is neither, which is counted.
    ///
    /// The caller has to fill it in with [`File::begin_thread`].
    pub fn claim_thread(&self, function: u64) -> Option<(*mut ThreadRecord, u32)> {
        let header = self.header();
        // SAFETY: the header is mapped, and the word is only accessed atomically.
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
            // SAFETY: the record lies in the region. Acquire pairs with the Release in
            // `end_thread`, since this thread continues the tables of the thread that has ended.
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
        if count == region.capacity || own >= RECORDS {
            // SAFETY: as above; the word is only changed atomically. (If there was an unused record
            // without disk space, `new_thread` has already counted that.)
            unsafe {
                let dropped = AtomicU32::from_ptr(&raw mut (*header).threads.dropped);
                dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        None
    }

    /// Fills a record in. From then on, readers find the thread.
    ///
    /// # Safety
    /// The record was claimed from this file for this thread, and `index` is its index.
    pub unsafe fn begin_thread(&self, record: *mut ThreadRecord, index: u32, start: &ThreadStart) {
        // SAFETY: by this function's own condition.
        unsafe {
            // The first access is a write: in a forked child, a read would be a page fault of its
            // own.
            (&raw mut (*record).last_seen).write_volatile(start.started);
            if (*record).lifetimes > 0 {
                (*record).earlier_ticks += (*record).ended.saturating_sub((*record).started);
                (*record).seen_cpu_at = 0;
                (*record).left_cpu_ns = 0;
                (*record).left_ready_ns = 0;
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
            // Release: a reader of the file that finds this state finds the rest of the record.
            AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_RUNNING, Ordering::Release);
        }
    }

    /// Notes how long the living threads were on a processor and ready for one. Called when the
    /// process or the recording ends, since the threads can't note that themselves any more.
    /// `times` gets the kernel's number of a thread and when the thread began.
    pub fn note_living(&self, times: impl Fn(u32, u64) -> Option<Times>) {
        for record in self.own_records() {
            // SAFETY: this is a record of this process. Acquire pairs with the Release in
            // `begin_thread`, so the thread's number is filled in. Only this function writes the
            // two words, except that a thread that begins at this moment may set them to 0.
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

    /// The record with this index, which must be below the number of records in use
    /// ([`File::threads`]).
    pub fn thread_record(&self, index: u32) -> *mut ThreadRecord {
        let (_, region) = self.threads();
        let offset = region.offset + u64::from(index) * u64::from(region.record_size);
        self.at(offset).cast()
    }

    /// The records of this process's threads, the latest first. The other records of the file,
    /// perhaps those of a thousand processes, are not read.
    fn own_records(&self) -> impl Iterator<Item = *mut ThreadRecord> {
        // The links in the header and in the records are indices plus 1; 0 means that there is no
        // further record.
        let record = |number: u32| number.checked_sub(1).map(|index| self.thread_record(index));
        // SAFETY: the header is mapped. Acquire pairs with the Release in `link`, so the record's
        // own link is filled in, and it does not change.
        let latest = unsafe {
            AtomicU32::from_ptr(&raw mut (*self.header()).latest_thread).load(Ordering::Acquire)
        };
        // SAFETY: as above.
        successors(record(latest), move |&of| record(unsafe { (*of).previous }))
    }

    /// Notes in a new record which process it belongs to, and links it into the list of the
    /// process's records.
    ///
    /// # Safety
    /// Same requirement as [`File::begin_thread`].
    unsafe fn link(&self, record: *mut ThreadRecord, index: u32) {
        let header = self.header();
        // SAFETY: by this function's own condition. The header is mapped, and its words are only
        // accessed atomically.
        unsafe {
            (*record).process = self.page();
            AtomicU32::from_ptr(&raw mut (*header).own_threads).fetch_add(1, Ordering::Relaxed);
            let latest = AtomicU32::from_ptr(&raw mut (*header).latest_thread);
            let after = |previous: u32| {
                (*record).previous = previous;
                Some(index + 1)
            };
            // Release: a reader of the file that finds this record also finds its link to the
            // previous one.
            let _ = latest.fetch_update(Ordering::Release, Ordering::Relaxed, after);
        }
    }
}

/// Notes that a thread has ended. Another thread may take over its record at once.
///
/// # Safety
/// The record is this thread's own, and the thread no longer uses it or its tables and log.
pub unsafe fn end_thread(record: *mut ThreadRecord) {
    // SAFETY: by this function's own condition. Release pairs with the Acquire in `claim_thread`.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*record).state).store(THREAD_EXITED, Ordering::Release);
    }
}
