//! Splits a bucket, or adds a line behind a full one.
//!
//! A bucket is split when a key finds no vacancy in the bucket's first line and the part's bucket
//! numbers have more bits than the bucket's depth. Otherwise, or if there is no room for the split,
//! the key gets a vacant slot in a later line of the bucket, or a new line that is linked behind
//! the bucket. When more lines have been linked in this way than one for every `MOST` buckets, the
//! part gets another row, into which later splits move keys.

use syncline_fabric::{Dead, Fabric, Full, Position};

use crate::entry;
use crate::held::Held;
use crate::layout::{HEAD, LINE, Link, SLOTS, Slot, Version, WORDS};
use crate::look::{Bucket, Look};
use crate::mode::Mode;
use crate::table::Table;

/// A part grows when more lines have ever been linked behind full buckets than one for every `MOST`
/// buckets. Lines that a split makes don't count. A part grows at roughly four and a half entries
/// per bucket.
const MOST: u64 = 8;

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Splits a bucket, unless it has changed since it was read, or another rank holds it. Returns
    /// `false` only if there is no room.
    pub(crate) fn split(&self, bucket: &Bucket) -> Result<bool, Dead> {
        let Some(held) = self.hold_to_split(bucket)? else { return Ok(true) };
        let rank = bucket.place.rank;
        let mut moving = Vec::new();
        for (_, slot) in self.slots(bucket.place)? {
            if entry::hash(&self.fabric, rank, slot)?.0 >> bucket.depth & 1 == 1 {
                moving.push(slot.0);
            }
        }
        let there = bucket.number | 1 << bucket.depth;
        let there = self.rows.bucket(&self.fabric, rank, there)?;
        // The sibling is dropped after `held`, so it is released later.
        let Some(_sibling) = self.fill(there, bucket.depth + 1, &moving)? else { return Ok(false) };
        let mut held = held;
        let link = Link(self.fabric.load(bucket.place.plus(8))?);
        held.store(bucket.place.plus(8), link.deepened(link.depth() + 1).0)?;
        self.vacate_moved(&mut held, bucket, bucket.depth + 1)?;
        Ok(true)
    }

    /// Fills a bucket that was never used before, and leaves it locked; `None` if there is no room.
    /// No other rank uses the bucket, except that a rank that died in this function may have left
    /// it locked.
    fn fill(
        &self,
        there: Position,
        depth: u32,
        slots: &[u64],
    ) -> Result<Option<Held<'_, F, M>>, Dead> {
        let (first, rest) = slots.split_at(slots.len().min(SLOTS));
        let Some(behind) = self.lines(there.rank, rest)? else { return Ok(None) };
        let mut seen = Version(self.fabric.load(there)?);
        let held = loop {
            let mine = seen.next().split(self.fabric.rank());
            if !M::FINE {
                break mine;
            }
            let was = self.fabric.compare_and_swap(there, seen.0, mine.0)?;
            if was == seen.0 {
                break mine;
            }
            seen = Version(was);
        };
        let held = Held::new(self, there, held);
        let mut words = [0; SLOTS];
        words[..first.len()].copy_from_slice(first);
        self.fabric.put(there.plus(8 * HEAD), bytemuck::cast_slice(&words));
        self.fabric.flush(there.rank)?;
        let link = Link(0).deepened(depth - self.layout.bits).to(behind);
        self.fabric.store(there.plus(8), link.0)?;
        Ok(Some(held))
    }

    /// Makes linked lines with these slots. `None` if there is no room, `Some(None)` if there are
    /// no slots.
    fn lines(&self, rank: usize, slots: &[u64]) -> Result<Option<Option<Position>>, Dead> {
        let mut lines: Vec<Position> = Vec::new();
        for chunk in slots.chunks(SLOTS) {
            let Some(line) = self.line(rank, chunk, lines.last().copied())? else {
                for line in lines {
                    self.layout.heap().give(&self.fabric, line, LINE)?;
                }
                return Ok(None);
            };
            lines.push(line);
        }
        Ok(Some(lines.pop()))
    }

    /// Makes a new line, with the line `behind` linked behind it; `None` if there is no room.
    fn line(
        &self,
        rank: usize,
        slots: &[u64],
        behind: Option<Position>,
    ) -> Result<Option<Position>, Dead> {
        let line = match self.layout.heap().take(&self.fabric, rank, LINE) {
            Ok(line) => line,
            Err(Full::Full { .. }) => return Ok(None),
            Err(Full::Dead(dead)) => return Err(dead),
        };
        let mut words = [0; WORDS];
        words[1] = Link(0).to(behind).0;
        words[HEAD..HEAD + slots.len()].copy_from_slice(slots);
        self.fabric.put(line, bytemuck::cast_slice(&words));
        self.fabric.flush(rank)?;
        Ok(Some(line))
    }

    /// Links a line with one slot behind a bucket. `Some(false)` if the bucket has changed since it
    /// was read, or if another rank holds it; `None` if there is no room.
    pub(crate) fn link(&self, look: &Look, slot: Slot) -> Result<Option<bool>, Dead> {
        let rank = look.bucket.place.rank;
        let Some(line) = self.line(rank, &[slot.0], None)? else { return Ok(None) };
        let Some(mut held) = self.hold(&look.bucket)? else {
            self.layout.heap().give(&self.fabric, line, LINE)?;
            return Ok(Some(false));
        };
        let (last, link) = look.last;
        held.store(last.plus(8), link.to(Some(line)).0)?;
        drop(held);
        let lines = self.fabric.add(self.layout.linked(rank), 1)? + 1;
        let bits = self.rows.bits(rank);
        if lines > (1 << bits) / MOST {
            // Without room for a row, the table continues with longer chains of lines.
            match self.rows.grow(&self.fabric, rank, bits) {
                Err(Full::Dead(dead)) => return Err(dead),
                Ok(()) | Err(Full::Full { .. }) => {}
            }
        }
        Ok(Some(true))
    }
}
