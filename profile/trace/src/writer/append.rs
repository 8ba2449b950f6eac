//! The writer of a thread, which appends complete records to chunks of its own.

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::{null_mut, slice_from_raw_parts_mut};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{bytes_of, cast_slice};

use super::file::File;
use crate::layout::{
    CHUNK_MAGIC, ChunkHeader, CountRecord, RECORD_COUNT, RECORD_SECTION, RECORD_STACK,
    RecordHeader, SectionRecord, StackRecord, ThreadRecord,
};
use crate::packed::{Contents, Writing};

/// By how many bytes a section may be longer if it is written as the first of a chunk, and not
/// relative to another section. Five numbers depend on that other section (`Before`), and each has
/// at most ten bytes. So this is enough.
const LONGER_IF_FIRST: usize = 60;

/// Appends the records of a thread to the file. Only that thread may use it. Calls must not
/// overlap, so a signal handler that may have interrupted a call must not use it.
#[derive(Debug)]
pub struct Writer {
    file: File,
    record: *mut ThreadRecord,
    index: u32,
    chunk: *mut [u8],
    used: usize,
    /// The state of the chunk, relative to which sections are written.
    writing: Writing,
    /// This pointer makes the type neither `Send` nor `Sync`.
    not_sync: PhantomData<*mut ()>,
}

impl File {
    /// Makes a writer for a new thread; `None` if there is no room for the thread's record, or if
    /// this is a forked child.
    ///
    /// `started` is when the thread was first seen, in ticks. [`Writer::set_stack`] can correct the
    /// stack's bounds later.
    pub fn thread(self, tid: u32, stack: Range<u64>, started: u64) -> Option<Writer> {
        let (record, index) = self.thread_record()?;
        // SAFETY: the record was claimed for this thread, and is zero. Readers ignore it until
        // `tid` is stored, which happens after the other fields, with Release.
        unsafe {
            (*record).stack_low = stack.start;
            (*record).stack_high = stack.end;
            (*record).started = started;
            AtomicU32::from_ptr(&raw mut (*record).tid).store(tid, Ordering::Release);
        }
        Some(Writer::new(self, record, index))
    }
}

impl Writer {
    fn new(file: File, record: *mut ThreadRecord, index: u32) -> Writer {
        let chunk = slice_from_raw_parts_mut(null_mut(), 0);
        Writer {
            file,
            record,
            index,
            chunk,
            used: 0,
            writing: Writing::new(),
            not_sync: PhantomData,
        }
    }

    /// The thread's index in the file, by which [`SectionRecord::holder`] refers to it.
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

    /// Notes the thread's name, and when it ended in ticks (0 if it still runs).
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

    /// Makes another writer of this thread's records, with a chunk of its own. It is for code that
    /// writes records of the thread while the thread itself may be writing.
    pub fn beside(&self) -> Writer {
        Writer::new(self.file, self.record, self.index)
    }

    /// Appends a section. The lengths of the four arrays are taken from `contents` and not from the
    /// record.
    ///
    /// Returns false if there is no room for it, in which case a dropped record is counted, or if
    /// this is a forked child.
    pub fn section(&mut self, section: &SectionRecord, contents: &Contents<'_>) -> bool {
        if !self.file.is_ours() {
            return false;
        }
        let written = match self.write(section, contents) {
            Ok(written) => written,
            Err(length) => {
                let most = length.saturating_add(LONGER_IF_FIRST + size_of::<RecordHeader>());
                if !self.next_chunk(most, true) {
                    self.file.count_dropped();
                    return false;
                }
                let Ok(written) = self.write(section, contents) else { return false };
                written
            }
        };
        self.finish(RECORD_SECTION, written)
    }

    /// Writes a section to the chunk. Returns the number of its bytes, or, if there is no room, the
    /// most bytes that it would take.
    fn write(&mut self, section: &SectionRecord, contents: &Contents<'_>) -> Result<usize, usize> {
        let at = self.used + size_of::<RecordHeader>();
        let mut none: [u8; 0] = [];
        let chunk = if self.chunk.is_null() { &raw mut none[..] } else { self.chunk };
        // SAFETY: the chunk is empty, or it is mapped and its pages are allocated. Only this writer
        // writes to it, and no thread reads past the complete records.
        let chunk = unsafe { &mut *chunk };
        self.writing.write(chunk, at, section, contents)
    }

    /// Appends counts. If there are several records of one lock and site, the reader adds them up.
    ///
    /// The result is that of [`Writer::section`].
    pub fn count(&mut self, count: &CountRecord) -> bool {
        self.plain(RECORD_COUNT, &[bytes_of(count)])
    }

    /// Appends a part of a stack. `words` are its words from the record's first address on.
    ///
    /// The result is that of [`Writer::section`].
    pub fn stack(&mut self, stack: &StackRecord, words: &[u64]) -> bool {
        self.plain(RECORD_STACK, &[bytes_of(stack), cast_slice(words)])
    }

    /// Appends a record of this kind, whose bytes are the parts one after the other.
    fn plain(&mut self, kind: u32, parts: &[&[u8]]) -> bool {
        if !self.file.is_ours() {
            return false;
        }
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let length = bytes + size_of::<RecordHeader>();
        if self.room().len() < bytes && !self.next_chunk(length, false) {
            self.file.count_dropped();
            return false;
        }
        let mut room = &mut self.room()[..bytes];
        for part in parts {
            let (here, rest) = room.split_at_mut(part.len());
            here.copy_from_slice(part);
            room = rest;
        }
        self.finish(kind, bytes)
    }

    /// The unused part of the chunk, without the space for the next record's header.
    fn room(&mut self) -> &mut [u8] {
        let start = self.used + size_of::<RecordHeader>();
        let Some(length) = self.chunk.len().checked_sub(start) else { return &mut [] };
        // SAFETY: the chunk is this thread's own, its pages are allocated and were zero, and this
        // part of it has no record yet.
        unsafe { core::slice::from_raw_parts_mut(self.chunk.cast::<u8>().add(start), length) }
    }

    /// Turns the bytes that were written to [`Writer::room`] into a record; returns false if they
    /// are too many for one.
    fn finish(&mut self, kind: u32, written: usize) -> bool {
        // The chunk's size is a multiple of 8, so there is room for the padding.
        let length = (written + size_of::<RecordHeader>()).next_multiple_of(8);
        let Ok(length_field) = u32::try_from(length) else {
            self.file.count_dropped();
            return false;
        };
        let header = RecordHeader { kind, length: length_field };
        // SAFETY: there is room for the header before the bytes that were written; a record begins
        // at a multiple of 8.
        unsafe { self.chunk.cast::<u8>().add(self.used).cast::<RecordHeader>().write(header) };
        self.used += length;
        // SAFETY: the chunk begins with its header, and only this writer stores this word. Release,
        // so that a reader that finds the word (with Acquire, or through the file) finds the
        // records.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.chunk.cast::<ChunkHeader>()).used) }
            .store(self.used as u64, Ordering::Release);
        true
    }

    fn next_chunk(&mut self, length: usize, for_sections: bool) -> bool {
        let chunk = self.file.chunk((length + size_of::<ChunkHeader>()) as u64, for_sections);
        if chunk.is_null() {
            return false;
        }
        if !self.chunk.is_null() {
            self.file.let_go(self.chunk);
        }
        let used = size_of::<ChunkHeader>();
        let size = chunk.len() as u64;
        let header =
            ChunkHeader { magic: CHUNK_MAGIC, thread: self.index, size, used: used as u64 };
        // SAFETY: the chunk is new, its pages are allocated, no other thread has it, and it begins
        // with a page, so it is aligned.
        unsafe { chunk.cast::<ChunkHeader>().write(header) };
        self.chunk = chunk;
        self.used = used;
        self.writing = Writing::new();
        true
    }
}
