//! Rows of buckets: the positions of buckets, and the growth of parts by rows.
//!
//! The first row is at the same position in every part. Each later row has as many buckets as all
//! earlier rows together. Rows never move, so a rank caches their positions. The number of rows
//! determines the number of bits of a bucket's number. A rank that knows too few rows notices that
//! by the depth of the bucket that it reads.

use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use syncline_fabric::{Dead, Fabric, Full, Position};

use crate::layout::{LINE, Layout, ROWS};

/// Zeros with which new rows are written, piece by piece.
const ZEROS: [u8; 4096] = [0; 4096];

/// The rows of all parts, as far as this rank knows them.
pub(crate) struct Rows {
    layout: Layout,
    /// The later rows of each part that this rank knows; empty until the first call of
    /// [`learn`](Self::learn) for the part.
    parts: Vec<OnceLock<Box<Known>>>,
}

#[derive(Default)]
struct Known {
    rows: AtomicU32,
    at: [AtomicU64; ROWS],
}

impl Rows {
    pub fn new(layout: Layout, ranks: usize) -> Rows {
        Rows { layout, parts: (0..ranks).map(|_| OnceLock::new()).collect() }
    }

    /// The number of bits of a bucket's number in a part, as far as this rank knows it.
    #[inline]
    pub fn bits(&self, rank: usize) -> u32 {
        // Acquire: pairs with the Release in `learn`, after which the positions of this many rows
        // can be read.
        let rows = self.parts[rank].get().map_or(0, |known| known.rows.load(Acquire));
        self.layout.bits + rows
    }

    /// Learns the rows of the part that this rank does not know yet. Returns the number of bits of
    /// a bucket's number.
    pub fn learn(&self, fabric: &impl Fabric, rank: usize) -> Result<u32, Dead> {
        let known = self.parts[rank].get_or_init(Box::default);
        // Relaxed: if several threads of this rank do this at once, they write the same values.
        let mut row = known.rows.load(Relaxed) as usize;
        while row < ROWS {
            let at = fabric.load(self.layout.row(rank, row))?;
            if at == 0 {
                break;
            }
            // Relaxed: the position is published by the `fetch_max` below.
            known.at[row].store(at, Relaxed);
            row += 1;
            // Release: pairs with the Acquire in `bits`, which `later` calls.
            known.rows.fetch_max(row as u32, Release);
        }
        Ok(self.bits(rank))
    }

    /// The position of a bucket. The row of the bucket must exist, as the depth of another bucket
    /// has shown.
    #[inline]
    pub fn bucket(&self, fabric: &impl Fabric, rank: usize, number: u64) -> Result<Position, Dead> {
        if number < 1 << self.layout.bits {
            return Ok(self.layout.first(rank, number));
        }
        self.later(fabric, rank, number)
    }

    fn later(&self, fabric: &impl Fabric, rank: usize, number: u64) -> Result<Position, Dead> {
        let row = number.ilog2() - self.layout.bits;
        if self.bits(rank) - self.layout.bits <= row {
            let bits = self.learn(fabric, rank)?;
            assert!(bits - self.layout.bits > row, "a bucket is deeper than there are rows");
        }
        let known = self.parts[rank].get().expect("a later row is known");
        // Relaxed: the position was stored before `rows`, which `bits` loads with Acquire.
        let start = known.at[row as usize].load(Relaxed) as usize;
        let within = (number - (1 << number.ilog2())) as usize;
        Ok(Position { rank, at: start + within * LINE })
    }

    /// Adds a row to a part whose bucket numbers have this many bits. Does nothing if a row was
    /// added meanwhile, or if there are already [`ROWS`] rows.
    ///
    /// # Errors
    ///
    /// If the part has no room for the row, or is lost.
    pub fn grow(&self, fabric: &impl Fabric, rank: usize, bits: u32) -> Result<(), Full> {
        let row = (bits - self.layout.bits) as usize;
        if row == ROWS {
            return Ok(());
        }
        let (heap, bytes) = (self.layout.heap(), LINE << bits);
        let block = heap.take(fabric, rank, bytes)?;
        let mut done = 0;
        while done < bytes {
            let piece = ZEROS.len().min(bytes - done);
            fabric.put(block.plus(done), &ZEROS[..piece]);
            done += piece;
        }
        fabric.flush(rank)?;
        let was = fabric.compare_and_swap(self.layout.row(rank, row), 0, block.at as u64)?;
        if was != 0 {
            heap.give(fabric, block, bytes)?;
        }
        self.learn(fabric, rank)?;
        Ok(())
    }
}
