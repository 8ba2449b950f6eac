//! The mapped file: what is where, and how records and room in it are claimed.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{Advice, madvise};
use syncline_interpose::populate;
use syncline_recording::layout::{
    Header, ModuleRecord, Region, Row, StackRecord, ThreadRecord, UNIT,
};

use crate::recorder::room::Watermark;
use crate::recorder::shelf::Shelf;

/// The mapped file and how far it is real.
pub struct Mapped {
    base: *mut u8,
    modules: Watermark,
    threads: Watermark,
    stacks: Watermark,
    arena: Watermark,
    full: AtomicBool,
}

// SAFETY: the mapping stays for the life of the process, and is written to as the layout
// says: atomically, or by one thread only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// A file that was mapped here, with a header filled in.
    pub fn new(base: *mut u8) -> Mapped {
        Mapped {
            base,
            modules: Watermark::new(),
            threads: Watermark::new(),
            stacks: Watermark::new(),
            arena: Watermark::new(),
            full: AtomicBool::new(false),
        }
    }

    /// The first page.
    pub fn header(&self) -> *mut Header {
        self.base.cast()
    }

    /// A place in the file.
    pub fn at(&self, offset: u64) -> *mut u8 {
        self.base.wrapping_add(offset as usize)
    }

    /// A unit of the arena.
    pub fn unit(&self, unit: u64) -> *mut u8 {
        // SAFETY: the header is mapped, and this field is not written any more.
        self.at(unsafe { (*self.header()).arena_offset } + unit * UNIT)
    }

    /// Claims the next record of the modules; null if there is none left.
    pub fn new_module(&self) -> *mut ModuleRecord {
        // SAFETY: the header is mapped.
        unsafe { self.claim(&raw mut (*self.header()).modules, &self.modules).0.cast() }
    }

    /// Claims the next thread record, with its index; null if there is none left.
    pub fn new_thread(&self) -> (*mut ThreadRecord, u32) {
        // SAFETY: the header is mapped.
        let (record, index) =
            unsafe { self.claim(&raw mut (*self.header()).threads, &self.threads) };
        (record.cast(), index)
    }

    /// Claims the next stack record, with its number; null if there is none left.
    pub fn new_stack(&self) -> (*mut StackRecord, u32) {
        // SAFETY: the header is mapped.
        let (record, number) =
            unsafe { self.claim(&raw mut (*self.header()).stacks, &self.stacks) };
        (record.cast(), number)
    }

    /// # Safety
    /// `region` is one of the header's.
    unsafe fn claim(&self, region: *mut Region, real: &Watermark) -> (*mut u8, u32) {
        // SAFETY: `count` and `dropped` are only touched atomically, and the other fields
        // are not written any more.
        let (count, dropped, offset, size, capacity) = unsafe {
            (
                AtomicU32::from_ptr(&raw mut (*region).count),
                AtomicU32::from_ptr(&raw mut (*region).dropped),
                (*region).offset,
                u64::from((*region).record_size),
                (*region).capacity,
            )
        };
        let limit = (u64::from(capacity) * size).next_multiple_of(4096);
        let claimed = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            let needed = (u64::from(n) + 1) * size;
            let room = n < capacity && self.reach(real, offset, needed, limit);
            room.then_some(n + 1)
        });
        match claimed {
            Ok(index) => (self.at(offset + u64::from(index) * size), index),
            Err(_) => {
                dropped.fetch_add(1, Ordering::Relaxed);
                (null_mut(), 0)
            }
        }
    }

    /// Hands out pages of the arena, by their first unit; none if there is no room.
    pub fn new_pages(&self, bytes: u64) -> Option<u64> {
        // SAFETY: `arena_used` is only touched atomically; the others stay as they are.
        let (used, capacity, offset) = unsafe {
            let h = self.header();
            (AtomicU64::from_ptr(&raw mut (*h).arena_used), (*h).arena_capacity, (*h).arena_offset)
        };
        let units = bytes.next_multiple_of(4096) / UNIT;
        let limit = capacity * UNIT;
        let claimed = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let end = used + units;
            let room = end <= capacity && self.reach(&self.arena, offset, end * UNIT, limit);
            room.then_some(end)
        });
        if claimed.is_err() {
            self.full.store(true, Ordering::Relaxed);
        }
        claimed.ok()
    }

    /// Room for a table of rows, zeroed and real, by its first unit; none if there is none.
    pub fn new_table(&self, shelf: &Shelf, log2: u32) -> Option<u64> {
        let bytes = size_of::<Row>() << log2;
        let used_before = shelf.take(log2).filter(|&unit| {
            let start = self.unit(unit);
            populate(start, start.wrapping_add(bytes))
        });
        used_before.or_else(|| self.new_pages(bytes as u64))
    }

    /// Returns a table's room to the file system and, if that worked, to the shelf.
    ///
    /// # Safety
    /// Nobody writes to the table any more. Whoever still looks at a row in it reads zero.
    pub unsafe fn give_back(&self, shelf: &Shelf, table: *mut Row, log2: u32) {
        let arena = self.unit(0).addr();
        // SAFETY: whole pages of the mapped file, which are not in use.
        let removed =
            unsafe { madvise(table.cast(), size_of::<Row>() << log2, Advice::LinuxRemove) };
        if removed.is_ok() {
            shelf.put(log2, (table.addr() - arena) as u64 / UNIT);
        }
    }

    /// Whether the arena had no room when it was last asked for some. Who asks for much asks
    /// here first: a try costs time, and would be made again at every operation.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Makes a region real up to `needed` bytes. A full file system is noted and not asked
    /// again.
    fn reach(&self, real: &Watermark, offset: u64, needed: u64, limit: u64) -> bool {
        // SAFETY: the header is mapped and real, and the word is only touched atomically.
        let disk_full = unsafe { AtomicU32::from_ptr(&raw mut (*self.header()).disk_full) };
        if disk_full.load(Ordering::Relaxed) != 0 && !real.has_reached(needed) {
            return false;
        }
        let reached = real.reach(self.at(offset), needed, limit);
        if !reached {
            disk_full.store(1, Ordering::Relaxed);
        }
        reached
    }
}
