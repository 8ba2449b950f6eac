//! The segment: the file that all ranks map.
//!
//! ```text
//!   0      MAGIC, ranks, bytes of a part
//!   24     for each rank, the identity of its process: the process's number (0 before it has
//!          joined), its start time, and a hash of the namespaces in which both are counted
//!   ...    the parts, each from the beginning of a page
//! ```
//!
//! The file is a `memfd` and has no name in a file system. Other processes open the file in
//! `/proc`, by the launcher's descriptor. So nothing is left when a job is killed. Any other file
//! with this layout can be used in its place.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use thiserror::Error as ThisError;

use crate::available::available_memory;
use crate::fabric::Position;
use crate::process::Process;

/// "synfab", for Syncline's fabric, and the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"synfab02");
const PAGE: usize = 4096;
/// The value of a rank's process number when a process has claimed the rank and has not written its
/// identity yet, or can't.
const CLAIMED: u64 = u64::MAX;
/// The size of the header's fields before the ranks' processes, in bytes.
const FIXED: usize = 24;
/// Size of a rank's process record, in bytes.
const RECORD: usize = 24;

/// Why ranks could not be made or started, or why a process could not join.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The segment could not be made, opened or mapped.
    #[error("the ranks' segment: {0}")]
    Io(#[from] io::Error),
    /// The process of a rank could not be started.
    #[error("a rank can't be started: {0}")]
    Start(io::Error),
    /// The file is not a segment, or is shorter than its header says.
    #[error("this file is not a segment of ranks")]
    NoSegment,
    /// There is no rank with this number.
    #[error("there is no rank {rank}: the number of ranks is {ranks}")]
    NoRank {
        /// The requested rank.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// The rank was joined before, by this process or by another one, which may have died.
    #[error("rank {0} has joined already")]
    Taken(usize),
    /// The environment does not name the segment or the rank, or the rank is not a number.
    #[error("the environment does not say which rank this process is ({0})")]
    Environment(&'static str),
}

/// A segment that is mapped.
pub(super) struct Segment {
    map: MmapRaw,
    ranks: usize,
    bytes: usize,
    stride: usize,
    first: usize,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("ranks", &self.ranks).field("bytes", &self.bytes).finish()
    }
}

/// Returns the offset of the first part, the distance from one part to the next, and the segment's
/// size.
fn layout(ranks: usize, bytes: usize) -> Option<(usize, usize, usize)> {
    let first = ranks.checked_mul(RECORD)?.checked_add(FIXED)?.checked_next_multiple_of(PAGE)?;
    let stride = bytes.checked_next_multiple_of(PAGE)?;
    Some((first, stride, stride.checked_mul(ranks)?.checked_add(first)?))
}

impl Segment {
    /// Makes a new segment, which is zero except for its header. Also returns the file, by which
    /// other processes open the segment.
    pub(super) fn make(ranks: usize, bytes: usize) -> Result<(File, Segment), Error> {
        assert!(ranks > 0, "a fabric has at least one rank");
        let bytes = bytes.next_multiple_of(8);
        let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
        let (.., size) = layout(ranks, bytes).ok_or_else(too_large)?;
        // The kernel would kill a process rather than refuse the call below.
        if available_memory().is_some_and(|left| left < size as u64) {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory).into());
        }
        let file =
            memfd_create(c"syncline-fabric", MemfdFlags::CLOEXEC).map_err(io::Error::from)?;
        // Allocates the memory now. If there is too little, that is an error here, and not a signal
        // at the first access.
        fallocate(&file, FallocateFlags::empty(), 0, size as u64).map_err(io::Error::from)?;
        let file = File::from(file);
        let map = MmapOptions::new().len(size).map_raw(&file)?;
        for (number, value) in [ranks as u64, bytes as u64].into_iter().enumerate() {
            // Relaxed: the store of the magic number publishes it.
            word(&map, 8 * (1 + number)).store(value, Relaxed);
        }
        // Release: pairs with the Acquire in `of`.
        word(&map, 0).store(MAGIC, Release);
        Segment::of(map).map(|segment| (file, segment))
    }

    /// Opens the segment in this file.
    pub(super) fn open(path: &Path) -> Result<Segment, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < PAGE as u64 {
            return Err(Error::NoSegment);
        }
        Segment::of(MmapOptions::new().map_raw(&file)?)
    }

    fn of(map: MmapRaw) -> Result<Segment, Error> {
        // Acquire: pairs with the Release in `make`.
        if word(&map, 0).load(Acquire) != MAGIC {
            return Err(Error::NoSegment);
        }
        // Relaxed: these were written before the magic number.
        let number = |at| word(&map, at).load(Relaxed) as usize;
        let (ranks, bytes) = (number(8), number(16));
        match layout(ranks, bytes) {
            Some((first, stride, size)) if ranks > 0 && size <= map.len() => {
                Ok(Segment { map, ranks, bytes, stride, first })
            }
            _ => Err(Error::NoSegment),
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of `length` bytes in a part.
    #[inline]
    pub(super) fn address(&self, at: Position, length: usize) -> *mut u8 {
        let fits = at.at <= self.bytes && length <= self.bytes - at.at;
        assert!(at.rank < self.ranks && fits, "{length} bytes at {at:?} are in no rank's part");
        // SAFETY: it is in the mapping, as `of` and the line above have checked.
        unsafe { self.map.as_mut_ptr().add(self.first + at.rank * self.stride + at.at) }
    }

    /// A word of a part.
    #[inline]
    pub(super) fn word(&self, at: Position) -> &AtomicU64 {
        assert!(at.at.is_multiple_of(8), "{at:?} is not the position of a word");
        let address = self.address(at, 8);
        // SAFETY: eight aligned bytes of the mapping, which lives as long as `self`. All accesses
        // to the mapping are atomic accesses to aligned words.
        unsafe { AtomicU64::from_ptr(address.cast()) }
    }

    /// Joins as a rank: this process becomes the rank's process.
    pub(super) fn join(&self, rank: usize) -> Result<(), Error> {
        if rank >= self.ranks {
            return Err(Error::NoRank { rank, ranks: self.ranks });
        }
        let number = self.record(rank, 0);
        // Relaxed: no data depends on it.
        if number.compare_exchange(0, CLAIMED, Relaxed, Relaxed).is_err() {
            return Err(Error::Taken(rank));
        }
        // If the kernel gives no information about this process, its death can't be detected, and
        // the process counts as alive for ever.
        let own = Process::own();
        if own != Process::default() {
            // Relaxed: the store of the number below publishes it.
            self.record(rank, 8).store(own.started, Relaxed);
            self.record(rank, 16).store(own.space, Relaxed);
            // Release: pairs with the Acquire in `process`.
            number.store(own.number, Release);
        }
        Ok(())
    }

    /// The process of a rank, or `None` if the rank has not joined or its process can't be checked.
    pub(super) fn process(&self, rank: usize) -> Option<Process> {
        assert!(rank < self.ranks, "there is no rank {rank}");
        // Acquire: pairs with the Release in `join`.
        let number = self.record(rank, 0).load(Acquire);
        // Relaxed: these were written before the number.
        let [started, space] = [8, 16].map(|at| self.record(rank, at).load(Relaxed));
        (number != 0 && number != CLAIMED).then_some(Process { number, started, space })
    }

    fn record(&self, rank: usize, at: usize) -> &AtomicU64 {
        word(&self.map, FIXED + rank * RECORD + at)
    }
}

/// A word of the header.
fn word(map: &MmapRaw, at: usize) -> &AtomicU64 {
    assert!(at.is_multiple_of(8) && at + 8 <= map.len(), "beyond the segment");
    // SAFETY: eight aligned bytes of the mapping. All accesses to the mapping are atomic accesses
    // to words.
    unsafe { AtomicU64::from_ptr(map.as_mut_ptr().add(at).cast()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_is_no_segment_is_refused() {
        let open = |bytes: &[u8]| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(bytes).unwrap();
            Segment::open(file.path()).err().map(|error| error.to_string())
        };
        let refused = Some("this file is not a segment of ranks".to_owned());
        assert_eq!(open(b""), refused);
        assert_eq!(open(&[7; 2 * PAGE]), refused);
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([255; 16]);
        bytes.resize(2 * PAGE, 0);
        assert_eq!(open(&bytes), refused, "no such sizes");
        bytes[8..24].copy_from_slice(&[3, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(open(&bytes), refused, "three parts are longer");
        bytes[8] = 1;
        assert_eq!(open(&bytes), None);
    }

    #[test]
    fn a_rank_joins_once() {
        let (_file, segment) = Segment::make(2, 100).unwrap();
        assert_eq!(segment.bytes(), 104);
        assert!(segment.process(1).is_none());
        segment.join(1).unwrap();
        let own = Process::own();
        assert!(segment.process(1).unwrap().lives(&own));
        assert!(matches!(segment.join(1), Err(Error::Taken(1))));
        assert!(matches!(segment.join(2), Err(Error::NoRank { rank: 2, ranks: 2 })));
        let other = Process { started: 1, ..segment.process(1).unwrap() };
        assert!(!other.lives(&own), "its number is another process's now");
    }
}
