//! The mapped file of a process: where its parts are, and how records and space in it are claimed.

use core::ffi::c_void;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::family::Family;
use super::number::own_number;
use super::watermark::Watermark;
use crate::layout::{
    HEADER_SIZE, Header, ModuleRecord, PROCESS_EXITED, PROCESS_LEFT, Region, StackRecord,
    ThreadRecord, UNIT,
};

/// A process's file, mapped for the rest of the process's life or until [`File::unmap`].
pub struct File {
    /// The file's first page, which has its first header.
    first: *mut Header,
    /// This process's header: the first one, or a child's.
    own: *mut Header,
    family: &'static Family,
}

// SAFETY: the mapping stays for the life of the process, unless `unmap` is called, whose caller is
// responsible for threads that still use it. Each word is written either atomically or by one
// thread only.
unsafe impl Sync for File {}

impl File {
    /// A file that is mapped. `first` is its first header, which must be filled in, and `own` is
    /// the header of this process.
    pub(super) fn new(first: *mut Header, own: *mut Header, family: &'static Family) -> File {
        File { first, own, family }
    }

    /// This process's header.
    #[inline]
    pub fn header(&self) -> *mut Header {
        self.own
    }

    /// The file's first header, which may be another process's.
    pub(super) fn first(&self) -> *mut Header {
        self.first
    }

    /// The words in the file that have the number of times that the logs were taken, and when that
    /// was last done.
    pub(super) fn window(&self) -> (*mut u32, *mut u64) {
        // SAFETY: the header is mapped.
        unsafe { (&raw mut (*self.first).window, &raw mut (*self.first).window_began) }
    }

    /// The memory, outside of the file, that the processes of this file share.
    pub(super) fn family(&self) -> &'static Family {
        self.family
    }

    /// The page of this process's header.
    #[inline]
    pub fn page(&self) -> u32 {
        ((self.own.addr() - self.first.addr()) / HEADER_SIZE) as u32
    }

    /// The thread records of all processes of the file: how many are in use, and their region.
    pub fn threads(&self) -> (u32, Region) {
        // SAFETY: the header is mapped. `count` is only accessed atomically, and the other fields
        // of the region that are used do not change.
        let (count, region) = unsafe {
            let region = &raw mut (*self.first).threads;
            (AtomicU32::from_ptr(&raw mut (*region).count).load(Ordering::Relaxed), *region)
        };
        (count.min(region.capacity), region)
    }

    /// A pointer to this offset of the file.
    #[inline]
    pub fn at(&self, offset: u64) -> *mut u8 {
        self.first.cast::<u8>().wrapping_add(offset as usize)
    }

    /// A pointer to a unit of the arena.
    #[inline]
    pub fn unit(&self, unit: u64) -> *mut u8 {
        // SAFETY: the header is mapped, and this field does not change any more.
        self.at(unsafe { (*self.header()).arena_offset } + unit * UNIT)
    }

    /// Claims the next module record; returns it and its index, or `None` if there is no room.
    pub(super) fn new_module(&self) -> Option<(*mut ModuleRecord, u32)> {
        let claimed = self.claim(offset_of!(Header, modules), &self.family.real.modules);
        claimed.map(|(record, index)| (record.cast(), index))
    }

    /// Claims the next thread record; returns it and its index, or `None` if there is no room.
    pub(super) fn new_thread(&self) -> Option<(*mut ThreadRecord, u32)> {
        let claimed = self.claim(offset_of!(Header, threads), &self.family.real.threads);
        claimed.map(|(record, index)| (record.cast(), index))
    }

    /// Claims the next stack record; returns it and its number, or `None` if there is no room.
    pub(super) fn new_stack(&self) -> Option<(*mut StackRecord, u32)> {
        let claimed = self.claim(offset_of!(Header, stacks), &self.family.real.stacks);
        claimed.map(|(record, number)| (record.cast(), number))
    }

    /// Claims a record of the region whose offset in a header is `region`. If no record is left, or
    /// there is no disk space for one, that is counted in this process's header.
    fn claim(&self, region: usize, real: &Watermark) -> Option<(*mut u8, u32)> {
        let of = |header: *mut Header| header.wrapping_byte_add(region).cast::<Region>();
        let (region, own) = (of(self.first), of(self.own));
        // SAFETY: both headers are mapped. `count` and `dropped` are only accessed atomically, and
        // the other fields do not change any more.
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
            Ok(index) => Some((self.at(offset + u64::from(index) * size), index)),
            Err(_) => {
                dropped.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// How many units of the arena have been handed out, and how many it has in all.
    pub(super) fn arena(&self) -> (u64, u64) {
        // SAFETY: `arena_used` is only accessed atomically, and `arena_capacity` does not change.
        unsafe {
            let h = self.first;
            let used = AtomicU64::from_ptr(&raw mut (*h).arena_used).load(Ordering::Relaxed);
            (used, (*h).arena_capacity)
        }
    }

    /// Claims whole pages of the arena for this many bytes. Returns their first unit, or `None` if
    /// there is no room.
    pub(super) fn new_pages(&self, bytes: u64) -> Option<u64> {
        // SAFETY: `arena_used` is only accessed atomically, and the other fields do not change.
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

    /// Whether there has ever been no room in the arena for a request. Callers that need much space
    /// check this first, because a request takes time and would otherwise be repeated at every
    /// operation.
    pub(super) fn is_full(&self) -> bool {
        self.family.real.full.load(Ordering::Relaxed)
    }

    /// Adds `n` to the counter at this offset of this process's header.
    pub fn count(&self, counter: usize, n: u64) {
        if n != 0 {
            let counter = self.header().wrapping_byte_add(counter).cast();
            // SAFETY: the header is mapped, and its counters are only added to atomically.
            unsafe { AtomicU64::from_ptr(counter).fetch_add(n, Ordering::Relaxed) };
        }
    }

    /// Whether the calling process is the one whose header this is. A child of `vfork` is not,
    /// although it runs in its parent's memory.
    pub fn is_of_this_process(&self) -> bool {
        // SAFETY: the header is mapped, and its process does not change.
        unsafe { (*self.header()).pid == own_number() }
    }

    /// Whether the process already ran when its recording began.
    pub fn was_attached_to(&self) -> bool {
        // SAFETY: the header is mapped, and the field is not written any more.
        unsafe { (*self.header()).attached != 0 }
    }

    /// Notes that the process ends at this time. Does nothing if the header is not that of the
    /// calling process, which may be a child of `vfork`.
    pub fn end(&self, ticks: u64) {
        self.end_as(PROCESS_EXITED, ticks);
    }

    /// Notes that recording ends at this time, and that the process goes on.
    pub fn leave(&self, ticks: u64) {
        self.end_as(PROCESS_LEFT, ticks);
    }

    fn end_as(&self, state: u32, ticks: u64) {
        if !self.is_of_this_process() {
            return;
        }
        let header = self.header();
        // SAFETY: the header is mapped, and both words are only written atomically.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*header).ended).store(ticks, Ordering::Relaxed);
            AtomicU32::from_ptr(&raw mut (*header).state).store(state, Ordering::Release);
            self.family.left(header);
        }
    }

    /// Unmaps the file and the memory shared with other processes, and maps zeros in place of the
    /// parts that were in use. A thread that was inside the recorder when recording ended then
    /// writes to these zeros and no longer to the file.
    ///
    /// # Safety
    /// No thread has read a word of the file that it will still use as a pointer or an offset.
    pub unsafe fn unmap(&self) -> Result<(), Errno> {
        // SAFETY: the header is mapped.
        let (used, size) = unsafe {
            let h = self.first;
            ((*h).arena_offset + (*h).arena_used * UNIT, (*h).file_size)
        };
        let used = used.next_multiple_of(4096).min(size) as usize;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        let base: *mut c_void = self.first.cast();
        // SAFETY: the mappings are those of this file, and by this function's own condition no
        // thread uses what it has read there as a pointer or an offset. All zero is a valid family.
        unsafe {
            mmap_anonymous(base, used, access, flags)?;
            let family: *const Family = self.family;
            mmap_anonymous(family.cast_mut().cast(), size_of::<Family>(), access, flags)?;
            munmap(base.wrapping_byte_add(used), size as usize - used)
        }
    }

    /// Makes sure that the first `needed` bytes of the region at `offset` have disk space, and
    /// returns whether they have. If the file system is full, that is noted, and no further attempt
    /// is made.
    fn reach(&self, real: &Watermark, offset: u64, needed: u64, limit: u64) -> bool {
        let disk_full = [self.first, self.own].map(|header| {
            // SAFETY: both headers are mapped and have disk space, and the word is only accessed
            // atomically.
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
