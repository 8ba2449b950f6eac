//! The table, and the way in which each rank opens it.

use std::fmt;

use bytemuck::Zeroable;
use syncline::lock::RawSharedLock;
use syncline::wait::Yield;
use syncline_fabric::{Fabric, Heap, Here, Region, Window};

use crate::error::Error;
use crate::key::{Hash, probe};
use crate::layout::{LINE, LOCK, Layout, REACH};
use crate::mode::{Coarse, Fine, Mode};
use crate::rows::Rows;

/// The version of the layout of a part.
const VERSION: u64 = 1;

/// The position and the size of a table in the ranks' parts. All ranks must use the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The table's offset in each part, in bytes: a multiple of 64. Zero by default.
    pub at: usize,
    /// The table's size in each part, in bytes, rounded down to a multiple of 64. These bytes must
    /// be zero before the first rank opens the table. The default is the rest of the part after
    /// `at`.
    pub bytes: Option<usize>,
    /// The initial number of buckets in each part, rounded up to a power of two. 64 by default. The
    /// table adds buckets when it needs them.
    pub buckets: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { at: 0, bytes: None, buckets: 64 }
    }
}

impl Options {
    /// The layout for parts of `part` bytes. The table may use only the first `reach` bytes of a
    /// part.
    fn layout(self, part: usize, reach: usize) -> Result<Layout, Error> {
        let at = self.at;
        let bits = self.buckets.clamp(1, 1 << 31).next_power_of_two().ilog2();
        let (least, most) = (Layout::fixed(bits) + 4096, part.min(reach).saturating_sub(at));
        let wanted = self.bytes.unwrap_or(part.saturating_sub(at));
        let bytes = wanted / LINE * LINE;
        if at.is_multiple_of(LINE) && (least..=most).contains(&bytes) {
            Ok(Layout { at, bytes, bits })
        } else {
            Err(Error::Size { at, bytes: wanted, least, most })
        }
    }

    /// The layout in the coarse mode, in which the nodes of the table's locks come from the table's
    /// heap.
    fn coarse(self, part: usize) -> Result<Layout, Error> {
        self.layout(part, Region::REACH)
    }
}

/// A hash table from bytes to bytes whose parts are in the memories of all ranks of a fabric.
///
/// A key belongs to one rank, whose part holds the key and its value. Any rank reads and changes
/// the value without that rank's help. Each rank [opens](Table::open) the table with the same
/// [`Options`].
///
/// Each operation on a key takes effect at one moment between its call and its return (it is
/// linearizable). Everything that a caller did before a put is visible to callers that find the
/// value, as far as the fabric makes it visible.
///
/// **Deaths.** When a rank dies, the keys of other ranks remain. If the dead rank's part is gone
/// too, operations on its keys return [`Error::Lost`], and [`lost`](Table::lost) says which keys
/// these are. On a fabric whose parts outlive their ranks, such as [`Host`](syncline_fabric::Host),
/// nothing is lost. If a rank dies in an operation, the operation takes effect completely or not at
/// all. If the rank held a bucket, other ranks that need it wait until the fabric knows of the
/// death, and take the bucket over at most about 100 ms later. A block of memory that the dead rank
/// had allocated may stay unused.
///
/// **Threads.** Several threads of a rank may use a table if they may use the fabric.
///
/// **Memory.** A new value is written to new memory, and the old value's memory is then reused.
/// Buckets are never freed.
pub struct Table<F, M = Fine> {
    pub(crate) fabric: F,
    pub(crate) layout: Layout,
    pub(crate) rows: Rows,
    pub(crate) mode: M,
}

impl<F: Fabric> Table<F> {
    /// Opens the table as this rank. The first rank need not wait for the others, since zeros are
    /// an empty table.
    ///
    /// # Errors
    ///
    /// If the options don't fit the parts ([`Error::Size`]), or another rank has opened the table
    /// differently.
    ///
    /// # Panics
    ///
    /// If there are 65,535 ranks or more.
    pub fn open(fabric: F, options: Options) -> Result<Self, Error> {
        let layout = options.layout(fabric.bytes(), REACH)?;
        Table { rows: Rows::new(layout, fabric.ranks()), fabric, layout, mode: Fine }.agree(0)
    }
}

impl<F, L> Table<F, Coarse<F, L>>
where
    F: Here,
    L: RawSharedLock<Memory = Window<F>> + Zeroable + 'static,
{
    /// Opens the table in the [coarse mode](Coarse), with locks of type `L`. Every thread that uses
    /// the table, including the calling thread, must have entered the fabric
    /// ([`Host::enter`](syncline_fabric::Host::enter)) with the heap that [`nodes`](Self::nodes)
    /// returns.
    ///
    /// # Errors
    ///
    /// Same errors as [`open`](Table::open), and [`Error::Lock`] if the lock is too large. Locks
    /// and their nodes must be in the first 4 GiB of a part, so the whole table must be in them.
    ///
    /// # Panics
    ///
    /// Same panics as [`open`](Table::open).
    pub fn open_coarse(fabric: F, options: Options) -> Result<Self, Error> {
        let layout = options.coarse(fabric.bytes())?;
        if size_of::<L>() > LOCK {
            return Err(Error::Lock(size_of::<L>()));
        }
        let mode = Coarse::<F, L, Yield>::new(layout.global(), layout.part(0).at);
        let lock = std::any::type_name::<L>()
            .bytes()
            .fold(1, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        Table { rows: Rows::new(layout, fabric.ranks()), fabric, layout, mode }.agree(lock)
    }

    /// The heap for the nodes of a table's locks.
    ///
    /// # Errors
    ///
    /// If the options don't fit the parts.
    pub fn nodes(fabric: &F, options: Options) -> Result<Heap, Error> {
        options.coarse(fabric.bytes()).map(Layout::heap)
    }
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Compares this rank's options and mode with those that other ranks have recorded in rank 0's
    /// part and in this rank's part. Records them where none are recorded. `lock` identifies the
    /// mode.
    fn agree(self, lock: u64) -> Result<Self, Error> {
        assert!(self.fabric.ranks() < usize::from(u16::MAX), "a table is for at most 65,534 ranks");
        let Layout { at, bytes, bits } = self.layout;
        let format = [VERSION, at as u64, bytes as u64, bits.into(), lock, probe()]
            .into_iter()
            .fold(0, |sum: u64, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            | 1;
        for rank in [0, self.fabric.rank()] {
            // If the rank is dead, there is nothing to compare.
            let was = self.fabric.compare_and_swap(self.layout.format(rank), 0, format);
            if was.is_ok_and(|was| was != 0 && was != format) {
                return Err(Error::Different { rank });
            }
        }
        Ok(self)
    }

    /// The fabric of the table.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// The rank to which a key belongs.
    pub fn home(&self, key: &[u8]) -> usize {
        Hash::of(key).home(self.fabric.ranks())
    }
}

impl<F: Fabric, M> fmt::Debug for Table<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, ranks) = (self.fabric.rank(), self.fabric.ranks());
        f.debug_struct("Table").field("rank", &rank).field("ranks", &ranks).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error message for a table of this size at this offset, in parts of one mebibyte.
    fn refused(at: usize, bytes: Option<usize>) -> String {
        let options = Options { at, bytes, ..Options::default() };
        options.layout(1 << 20, REACH).expect_err("it does not fit").to_string()
    }

    #[test]
    fn a_size_error_names_the_sizes_that_fit() {
        for (at, bytes, said) in [
            (
                0,
                Some(2 << 20),
                "2097152 bytes fits at offset 0 of each part: it takes at least 10240",
            ),
            (0, Some(2 << 20), "1048576 bytes fit there"),
            (65536, Some(1 << 20), "983040 bytes fit there"),
            (0, Some(4097), "no table of 4097 bytes"),
            (2 << 20, None, "no table of 0 bytes fits at offset 2097152"),
            (2 << 20, None, "at most 0 bytes fit there"),
            (8, None, "must be a multiple of 64"),
        ] {
            let message = refused(at, bytes);
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn a_coarse_table_ends_within_the_reach_of_lock_nodes() {
        let options = |bytes| Options { at: 64, bytes: Some(bytes), ..Options::default() };
        let part = 3 * Region::REACH;
        assert!(options(Region::REACH - 64).coarse(part).is_ok());
        let beyond = options(Region::REACH).coarse(part).expect_err("too far");
        assert!(beyond.to_string().contains("at most 4294967232 bytes fit"), "{beyond}");
        assert!(options(Region::REACH).layout(part, REACH).is_ok());
    }
}
