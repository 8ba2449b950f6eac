//! A thread's writer: whole records, one behind the other, in chunks of its own.

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::{null_mut, slice_from_raw_parts_mut};
use core::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{NoUninit, bytes_of, cast_slice};

use super::file::File;
use crate::layout::{
    CHUNK_MAGIC, ChunkHeader, CountRecord, ObjectRecord, RECORD_COUNT, RECORD_SECTION,
    RecordHeader, SectionRecord, StepRecord, SystemCallRecord, ThreadRecord, WordRecord,
};

/// The arrays of a section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Blocks of the heap that it touched.
    pub objects: &'a [ObjectRecord],
    /// Its address set, each word once, in any order.
    pub words: &'a [WordRecord],
    /// The instructions that it executed, each once, in any order.
    pub steps: &'a [StepRecord],
    /// Its system calls, each number once.
    pub system_calls: &'a [SystemCallRecord],
}

/// Appends a thread's records to the file. Belongs to that thread; no two calls at once, so not
/// in a signal handler that may have interrupted one.
#[derive(Debug)]
pub struct Writer {
    file: File,
    record: *mut ThreadRecord,
    index: u32,
    chunk: *mut [u8],
    used: usize,
    /// Not for two threads at once.
    not_sync: PhantomData<*mut ()>,
}

impl Writer {
    pub(super) fn new(file: File, record: *mut ThreadRecord, index: u32) -> Writer {
        let chunk = slice_from_raw_parts_mut(null_mut(), 0);
        Writer { file, record, index, chunk, used: 0, not_sync: PhantomData }
    }

    /// The thread's number in the file, by which [`SectionRecord::holder`] refers to it.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Corrects the bounds of the thread's stack.
    pub fn set_stack(&mut self, stack: Range<u64>) {
        if self.file.is_ours() {
            // SAFETY: the record is this thread's own, in the mapped file.
            unsafe {
                (*self.record).stack_low = stack.start;
                (*self.record).stack_high = stack.end;
            }
        }
    }

    /// The thread's name, and that it ended at this tick (0 if it goes on).
    pub fn set_name_and_end(&mut self, name: &[u8], ended: u64) {
        if self.file.is_ours() {
            // SAFETY: the record is this thread's own, in the mapped file.
            let record = unsafe { &mut *self.record };
            let n = name.len().min(record.name.len() - 1);
            record.name = [0; 24];
            record.name[..n].copy_from_slice(&name[..n]);
            record.ended = ended;
        }
    }

    /// Appends a section. The four counts of `section` are set here.
    ///
    /// False if there is no room for it, which is counted, or in a forked child.
    pub fn section(&mut self, section: &SectionRecord, contents: &Contents<'_>) -> bool {
        let mut section = *section;
        section.objects = contents.objects.len() as u32;
        section.words = contents.words.len() as u32;
        section.steps = contents.steps.len() as u32;
        section.system_calls = contents.system_calls.len() as u32;
        self.append(
            RECORD_SECTION,
            [
                bytes_of(&section),
                bytes(contents.objects),
                bytes(contents.words),
                bytes(contents.steps),
                bytes(contents.system_calls),
            ],
        )
    }

    /// Appends counts; the same lock and site may come again and adds up.
    ///
    /// False as for [`Writer::section`].
    pub fn count(&mut self, count: &CountRecord) -> bool {
        self.append(RECORD_COUNT, [bytes_of(count)])
    }

    fn append<const N: usize>(&mut self, kind: u32, parts: [&[u8]; N]) -> bool {
        if !self.file.is_ours() {
            return false;
        }
        let length = parts.iter().map(|p| p.len()).sum::<usize>() + size_of::<RecordHeader>();
        let Ok(length_field) = u32::try_from(length) else {
            self.file.count_dropped();
            return false;
        };
        let for_sections = kind == RECORD_SECTION;
        if self.chunk.len() - self.used < length && !self.next_chunk(length, for_sections) {
            self.file.count_dropped();
            return false;
        }
        let header = RecordHeader { kind, length: length_field };
        let start = self.used;
        self.put(bytes_of(&header));
        for part in parts {
            self.put(part);
        }
        debug_assert_eq!(self.used, start + length);
        // SAFETY: the chunk begins with its header, and this word is only stored by this thread.
        // Release, so that who reads it (Acquire, or with a read of the file) finds the records.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.chunk.cast::<ChunkHeader>()).used) }
            .store(self.used as u64, Ordering::Release);
        true
    }

    fn put(&mut self, bytes: &[u8]) {
        // SAFETY: `append` made sure of the room in the chunk, which is this thread's own.
        unsafe {
            let to = self.chunk.cast::<u8>().add(self.used);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        self.used += bytes.len();
    }

    fn next_chunk(&mut self, length: usize, for_sections: bool) -> bool {
        let chunk = self.file.chunk((length + size_of::<ChunkHeader>()) as u64, for_sections);
        if chunk.is_null() {
            return false;
        }
        let used = size_of::<ChunkHeader>();
        let size = chunk.len() as u64;
        let header =
            ChunkHeader { magic: CHUNK_MAGIC, thread: self.index, size, used: used as u64 };
        // SAFETY: the chunk is new, real, ours, and begins at a page.
        unsafe { chunk.cast::<ChunkHeader>().write(header) };
        self.chunk = chunk;
        self.used = used;
        true
    }
}

fn bytes<T: NoUninit>(array: &[T]) -> &[u8] {
    cast_slice(array)
}
