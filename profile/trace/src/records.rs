//! Reads the records of a file. Offsets and lengths are checked against the file's size before they
//! are used.

use bytemuck::Zeroable;
use syncline_recording::Error;
use syncline_recording::source::Source;

use crate::layout::{CHUNK, CHUNK_MAGIC, ChunkHeader, Header, RecordHeader};

/// A complete record.
pub struct Record<'a> {
    /// The index of the thread that wrote it.
    pub thread: u32,
    /// Whether it is the first record of its chunk.
    pub is_first: bool,
    /// Its kind, as in [`RecordHeader::kind`].
    pub kind: u32,
    /// Its bytes without the header.
    pub bytes: &'a [u8],
}

/// Calls `each` for every complete record.
pub fn for_each(
    source: &Source<'_>,
    header: &Header,
    mut each: impl FnMut(Record<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let used = header.arena_used.min(header.arena_capacity);
    let mut at = 0;
    while at < used {
        let offset = header.arena_offset.checked_add(at);
        let offset = offset.ok_or_else(|| source.damaged("an offset is out of range"))?;
        if offset >= source.size() {
            return Err(source.damaged("it ends before its last record"));
        }
        // The length comes from the file and may be any number, so the addition could overflow.
        at = chunk(source, offset, &mut each)?.saturating_add(at);
    }
    Ok(())
}

/// Reads one chunk, and returns its length.
fn chunk(
    source: &Source<'_>,
    offset: u64,
    each: &mut impl FnMut(Record<'_>) -> Result<(), Error>,
) -> Result<u64, Error> {
    let chunk = source.records::<ChunkHeader>(offset, 1, "chunks")?[0];
    if chunk.magic == ChunkHeader::zeroed().magic {
        return Ok(CHUNK);
    }
    let aligned = chunk.size != 0 && chunk.size.is_multiple_of(CHUNK);
    let header = size_of::<ChunkHeader>() as u64;
    if chunk.magic != CHUNK_MAGIC
        || !aligned
        || !(header..=chunk.size).contains(&chunk.used)
        || !chunk.used.is_multiple_of(8)
    {
        return Err(source.damaged("a chunk has an impossible header"));
    }
    // The records are read as words, so that they are aligned.
    let words = ((chunk.used - header) / 8) as usize;
    let words: Vec<u64> = source.records(offset + header, words, "records")?;
    let mut rest: &[u8] = bytemuck::cast_slice(&words);
    let mut is_first = true;
    while let Some((first, _)) = rest.split_at_checked(size_of::<RecordHeader>()) {
        let record: RecordHeader = bytemuck::pod_read_unaligned(first);
        let length = record.length as usize;
        let whole = length >= first.len() && length.is_multiple_of(8) && length <= rest.len();
        if !whole {
            return Err(source.damaged("a record has an impossible length"));
        }
        let bytes = &rest[first.len()..length];
        each(Record { thread: chunk.thread, is_first, kind: record.kind, bytes })?;
        is_first = false;
        rest = &rest[length..];
    }
    Ok(chunk.size)
}
