//! The mapped file of a process: where its parts are, and how records and chunks are claimed.

use core::ptr::{null_mut, slice_from_raw_parts_mut};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{Advice, madvise};
use syncline_interpose::populate;
use syncline_recording::layout::{ModuleRecord, Region};

use crate::layout::{CHUNK, Header, ThreadRecord};

/// The arena's size divided by this is reserved for counts and parts of stacks. Counts and parts of
/// stacks are few and small. Without counts, the number of sections from which the traced ones were
/// drawn would be unknown.
const KEPT: u64 = 16;

/// A process's file, mapped for the rest of the process's life. All copies of this value refer to
/// the same file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    base: *mut u8,
    /// A word that is 1 in the process that made the file. The kernel clears it in a forked child.
    alive: *const u32,
}

// SAFETY: the mappings stay for the life of the process. Each part of the file is either accessed
// atomically or written by only one thread.
unsafe impl Send for File {}
// SAFETY: as above.
unsafe impl Sync for File {}

impl File {
    pub(super) fn new(base: *mut u8, alive: *const u32) -> File {
        File { base, alive }
    }

    /// Whether this process made the file; false in a forked child.
    pub fn is_ours(self) -> bool {
        // SAFETY: the page stays mapped. No thread writes to it; only the kernel clears it in a
        // forked child.
        unsafe { self.alive.read_volatile() != 0 }
    }

    fn header(self) -> *mut Header {
        self.base.cast()
    }

    fn at(self, offset: u64) -> *mut u8 {
        self.base.wrapping_add(offset as usize)
    }

    /// Claims a thread record, and returns it and its index; `None` if there is no room for it, or
    /// if this is a forked child.
    pub(super) fn thread_record(self) -> Option<(*mut ThreadRecord, u32)> {
        // SAFETY: the region is one of the header's.
        let (record, index) = unsafe { self.claim(&raw mut (*self.header()).threads)? };
        Some((record.cast(), index))
    }

    /// Adds a module; returns false if there is no room, or if this is a forked child.
    pub fn module(self, module: &ModuleRecord) -> bool {
        // SAFETY: the region is the header's, and the record is claimed for this module. Its first
        // word is only stored to atomically once the record may be visible.
        unsafe {
            let Some((record, _)) = self.claim(&raw mut (*self.header()).modules) else {
                return false;
            };
            let record = record.cast::<ModuleRecord>();
            record.write(ModuleRecord { start: 0, ..*module });
            let start = AtomicU64::from_ptr(&raw mut (*record).start);
            // Release pairs with the Acquire in `modules`, and with the reading in
            // `Trace::open_within`, which takes the word before the others: if they find the word,
            // the others are filled in.
            start.store(module.start, Ordering::Release);
        }
        true
    }

    /// The modules that were added so far, without those that are still being added.
    pub fn modules(self) -> impl Iterator<Item = ModuleRecord> {
        // SAFETY: `count` is only accessed atomically, and the other fields do not change any more.
        let (offset, count) = unsafe {
            let region = &raw mut (*self.header()).modules;
            let count = AtomicU32::from_ptr(&raw mut (*region).count).load(Ordering::Acquire);
            ((*region).offset, count.min((*region).capacity))
        };
        let records: *mut ModuleRecord = self.at(offset).cast();
        // SAFETY: the records lie in the mapped file, and any bytes are a valid record. The word is
        // only stored to atomically once the record may be visible; Acquire pairs with the Release
        // in `module`: if it finds the word, the others are filled in.
        (0..count as usize).filter_map(move |i| unsafe {
            let record = records.add(i);
            let start = AtomicU64::from_ptr(&raw mut (*record).start).load(Ordering::Acquire);
            (start != 0).then(|| record.read())
        })
    }

    /// Adds ticks to the cost of tracing.
    pub fn add_cost(self, ticks: u64) {
        // SAFETY: the word is only accessed atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header()).cost_ticks) }
            .fetch_add(ticks, Ordering::Relaxed);
    }

    /// Stores the other cost of inspecting (`besides`), the process's processor time, and the time
    /// at which these were read, all in ticks.
    pub fn set_processor_time(self, besides: u64, processor: u64, now: u64) {
        // SAFETY: the words are only accessed atomically.
        let words = unsafe {
            let h = self.header();
            [&raw mut (*h).besides_ticks, &raw mut (*h).processor_ticks, &raw mut (*h).alive]
                .map(|word| AtomicU64::from_ptr(word))
        };
        for (word, value) in words.into_iter().zip([besides, processor, now]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Stores the reason why the program is left alone, unless one is stored already.
    pub fn leave_alone(self, why: &str) {
        // SAFETY: the field lies in the mapped header. A reader that sees only a part of the
        // sentence still sees text.
        unsafe {
            let field = &raw mut (*self.header()).left_alone;
            if (*field)[0] == 0 {
                let n = why.len().min((*field).len() - 1);
                (&mut (*field))[..n].copy_from_slice(&why.as_bytes()[..n]);
            }
        }
    }

    /// Notes when the process ends, in ticks.
    pub fn end(self, ticks: u64) {
        if self.is_ours() {
            // SAFETY: the word is only accessed atomically.
            unsafe { AtomicU64::from_ptr(&raw mut (*self.header()).ended) }
                .store(ticks, Ordering::Relaxed);
        }
    }

    pub(super) fn count_dropped(self) {
        // SAFETY: the word is only accessed atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header()).dropped) }
            .fetch_add(1, Ordering::Relaxed);
    }

    /// # Safety
    /// `region` is one of the header's.
    unsafe fn claim(self, region: *mut Region) -> Option<(*mut u8, u32)> {
        if !self.is_ours() {
            return None;
        }
        // SAFETY: `count` and `dropped` are only accessed atomically, and the other fields do not
        // change any more.
        let (count, dropped, offset, size, capacity) = unsafe {
            (
                AtomicU32::from_ptr(&raw mut (*region).count),
                AtomicU32::from_ptr(&raw mut (*region).dropped),
                (*region).offset,
                u64::from((*region).record_size),
                (*region).capacity,
            )
        };
        let place = |n: u32| self.at(offset + u64::from(n) * size);
        let claimed = count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
            (n < capacity && populate(place(n), place(n + 1))).then_some(n + 1)
        });
        match claimed {
            Ok(n) => Some((place(n), n)),
            Err(_) => {
                dropped.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Claims a chunk of at least this many bytes, which are zero and have disk space. If there is
    /// no room, the result is null and empty. A chunk for sections is not taken from the room that
    /// is reserved for other records.
    pub(super) fn chunk(self, bytes: u64, for_sections: bool) -> *mut [u8] {
        let none = slice_from_raw_parts_mut(null_mut(), 0);
        let size = bytes.next_multiple_of(CHUNK);
        // SAFETY: these words are only accessed atomically, and the others do not change any more.
        let (used, full, capacity, offset) = unsafe {
            let h = self.header();
            (
                AtomicU64::from_ptr(&raw mut (*h).arena_used),
                AtomicU32::from_ptr(&raw mut (*h).disk_full),
                (*h).arena_capacity,
                (*h).arena_offset,
            )
        };
        if full.load(Ordering::Relaxed) != 0 {
            return none;
        }
        let claimed = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let kept = if for_sections { capacity / KEPT } else { 0 };
            used.checked_add(size).filter(|&end| end <= capacity - kept)
        });
        let Ok(start) = claimed else { return none };
        let start = self.at(offset + start);
        if !populate(start, start.wrapping_add(size as usize)) {
            full.store(1, Ordering::Relaxed);
            return none;
        }
        slice_from_raw_parts_mut(start, size as usize)
    }

    /// Removes a full chunk from the process's memory. Its data stays in the file.
    pub(super) fn let_go(self, chunk: *mut [u8]) {
        // SAFETY: these are whole pages of a shared mapping of a file, so they are only read from
        // the file again if they are accessed. If the kernel refuses, the pages stay in memory.
        let _ = unsafe { madvise(chunk.cast(), chunk.len(), Advice::LinuxDontNeed) };
    }
}
