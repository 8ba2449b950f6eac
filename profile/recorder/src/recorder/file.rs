//! The mapped file: what is where, and how records and room in it are claimed.

use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{Advice, madvise};
use syncline_interpose::populate;
use syncline_recording::layout::{
    HEADER_SIZE, Header, ModuleRecord, Region, Row, StackRecord, ThreadRecord, UNIT,
};

use crate::recorder::family::Family;
use crate::recorder::room::Watermark;
use crate::recorder::shelf::Shelf;

/// How far the parts of a file are real. All zero is nothing.
pub struct Real {
    modules: Watermark,
    threads: Watermark,
    stacks: Watermark,
    arena: Watermark,
    full: AtomicBool,
}

/// The mapped file.
pub struct Mapped {
    /// Its first page.
    first: *mut Header,
    /// This process's header: the first, or a child's.
    own: *mut Header,
    family: &'static Family,
}

// SAFETY: the mapping stays for the life of the process, and is written to as the layout
// says: atomically, or by one thread only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// A file that was mapped here, with its first header filled in, and the header of this process.
    pub fn new(first: *mut Header, own: *mut Header, family: &'static Family) -> Mapped {
        Mapped { first, own, family }
    }

    /// This process's header.
    pub fn header(&self) -> *mut Header {
        self.own
    }

    /// The file's first header, which may be another process's.
    pub fn first(&self) -> *mut Header {
        self.first
    }

    /// What this process shares with those that write to the same file.
    pub fn family(&self) -> &'static Family {
        self.family
    }

    /// The page of this process's header.
    pub fn page(&self) -> u32 {
        ((self.own.addr() - self.first.addr()) / HEADER_SIZE) as u32
    }

    /// All threads of the file: how many records are in use, and the region.
    pub fn threads(&self) -> (u32, Region) {
        // SAFETY: the header is mapped; `count` is only touched atomically, and what else is of use
        // does not change.
        let (count, region) = unsafe {
            let region = &raw mut (*self.first).threads;
            (AtomicU32::from_ptr(&raw mut (*region).count).load(Ordering::Relaxed), *region)
        };
        (count.min(region.capacity), region)
    }

    /// A place in the file.
    pub fn at(&self, offset: u64) -> *mut u8 {
        self.first.cast::<u8>().wrapping_add(offset as usize)
    }

    /// A unit of the arena.
    pub fn unit(&self, unit: u64) -> *mut u8 {
        // SAFETY: the header is mapped, and this field is not written any more.
        self.at(unsafe { (*self.header()).arena_offset } + unit * UNIT)
    }

    /// Claims the next record of the modules, with its index; null if there is none left.
    pub fn new_module(&self) -> (*mut ModuleRecord, u32) {
        let (record, index) = self.claim(offset_of!(Header, modules), &self.family.real.modules);
        (record.cast(), index)
    }

    /// Claims the next thread record, with its index; null if there is none left.
    pub fn new_thread(&self) -> (*mut ThreadRecord, u32) {
        let (record, index) = self.claim(offset_of!(Header, threads), &self.family.real.threads);
        (record.cast(), index)
    }

    /// Claims the next stack record, with its number; null if there is none left.
    pub fn new_stack(&self) -> (*mut StackRecord, u32) {
        let (record, number) = self.claim(offset_of!(Header, stacks), &self.family.real.stacks);
        (record.cast(), number)
    }

    /// Claims a record of the file's region whose place in a header this is. That there was none is
    /// noted in this process's header.
    fn claim(&self, region: usize, real: &Watermark) -> (*mut u8, u32) {
        let of = |header: *mut Header| header.wrapping_byte_add(region).cast::<Region>();
        let (region, own) = (of(self.first), of(self.own));
        // SAFETY: both headers are mapped; `count` and `dropped` are only touched atomically, and the
        // other fields are not written any more.
        let (count, dropped, offset, size, capacity) = unsafe {
            (
                AtomicU32::from_ptr(&raw mut (*region).count),
                AtomicU32::from_ptr(&raw mut (*own).dropped),
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

    /// Units of the arena that were handed out, and that there are.
    pub fn arena(&self) -> (u64, u64) {
        // SAFETY: `arena_used` is only touched atomically; the other stays as it is.
        unsafe {
            let h = self.first;
            let used = AtomicU64::from_ptr(&raw mut (*h).arena_used).load(Ordering::Relaxed);
            (used, (*h).arena_capacity)
        }
    }

    /// Hands out pages of the arena, by their first unit; none if there is no room.
    pub fn new_pages(&self, bytes: u64) -> Option<u64> {
        // SAFETY: `arena_used` is only touched atomically; the others stay as they are.
        let (used, capacity, offset) = unsafe {
            let h = self.first;
            (AtomicU64::from_ptr(&raw mut (*h).arena_used), (*h).arena_capacity, (*h).arena_offset)
        };
        let units = bytes.next_multiple_of(4096) / UNIT;
        let limit = capacity * UNIT;
        let claimed = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let end = used + units;
            let room =
                end <= capacity && self.reach(&self.family.real.arena, offset, end * UNIT, limit);
            room.then_some(end)
        });
        if claimed.is_err() {
            self.family.real.full.store(true, Ordering::Relaxed);
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
        self.family.real.full.load(Ordering::Relaxed)
    }

    /// Makes a region real up to `needed` bytes. A full file system is noted and not asked
    /// again.
    fn reach(&self, real: &Watermark, offset: u64, needed: u64, limit: u64) -> bool {
        let disk_full = [self.first, self.own].map(|header| {
            // SAFETY: both headers are mapped and real, and the word is only touched atomically.
            unsafe { AtomicU32::from_ptr(&raw mut (*header).disk_full) }
        });
        let known = disk_full[0].load(Ordering::Relaxed) != 0 && !real.has_reached(needed);
        let reached = !known && real.reach(self.at(offset), needed, limit);
        if !reached {
            disk_full.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        }
        reached
    }
}
