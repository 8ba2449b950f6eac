//! Counts a thread's acquisitions by lock and call site, and writes the counts to the file.

use core::sync::atomic::{AtomicU64, Ordering};

use syncline_trace::layout::CountRecord;
use syncline_trace::writer::Writer;

use super::rows::{More, Row, Slot};
use super::state::Thread;
use crate::{aside, clock, select, tls};

/// For one in this many acquisitions, the time for which the lock is held is measured.
const TIMED: u32 = 32;

impl Thread {
    /// The number of the row of a lock and a call site. If there is none, one is made.
    #[inline]
    pub fn row(&mut self, lock: u64, site: u64, op: u32) -> usize {
        match self.rows.find(lock, site) {
            Slot::At(slot) => slot,
            Slot::Free(slot) | Slot::Taken(slot) => self.new_row(slot, lock, site, op),
        }
    }

    #[cold]
    fn new_row(&mut self, slot: usize, lock: u64, site: u64, op: u32) -> usize {
        let Some((row, more)) = self.rows.at(slot) else { return slot };
        self.rows.use_row(slot);
        if row.lock.load(Ordering::Relaxed) != 0 {
            aside::allowed(|| write_row(&mut self.writer, row, more));
            if self.timed.1 == slot {
                tls::set_timed(0);
            }
        }
        // Counts that were added to the row since the write above, by a signal handler, belong to
        // no lock.
        row.acquisitions.store(0, Ordering::Relaxed);
        more.counts().into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
        // The row has no lock while it changes, because another thread writes the rows if tracing
        // ends meanwhile, and it leaves out rows without a lock.
        row.lock.store(0, Ordering::Relaxed);
        row.site.store(site, Ordering::Relaxed);
        row.op.store(op, Ordering::Relaxed);
        row.rare.set(true);
        let options = self.process.options;
        let is_selected = || aside::work(|| select::is_selected(options, lock, site));
        let selected = options.places.is_empty() || is_selected().unwrap_or(false);
        row.selected.set(selected);
        if selected && !options.places.is_empty() {
            let expected = aside::work(|| select::expected_wait(options, lock, site));
            self.process.expect_wait(lock, site, expected.unwrap_or(0));
        }
        row.lock.store(lock, Ordering::Release);
        slot
    }

    /// Prefetches the row of a lock and a call site into the cache.
    #[inline]
    pub fn prefetch(&self, lock: u64, site: u64) {
        self.rows.prefetch(lock, site);
    }

    /// Whether the sections of a row are to be traced.
    pub fn is_selected(&self, row: usize) -> bool {
        self.rows.at(row).is_some_and(|(row, _)| row.selected.get())
    }

    /// Whether only few sections of a row's call site may have been traced so far.
    pub fn is_rare(&self, row: usize) -> bool {
        self.rows.at(row).is_some_and(|(row, _)| row.rare.get())
    }

    /// Notes that enough sections of a row's call site have been traced.
    pub fn not_rare(&self, row: usize) {
        if let Some((row, _)) = self.rows.at(row) {
            row.rare.set(false);
        }
    }

    /// Whether the hold of an acquisition that stands for this many is to be measured. That is
    /// drawn at random, for one in [`TIMED`].
    #[inline]
    pub fn is_to_be_timed(&mut self, acquisitions: u32) -> bool {
        self.clock_in = self.clock_in.saturating_sub(acquisitions);
        if self.clock_in > 0 {
            return false;
        }
        self.clock_in = 1 + self.random(2 * TIMED);
        tls::timed() == 0
    }

    /// Counts this many acquisitions. If `waited` is not 0, one of them waited for that many ticks.
    #[inline]
    pub fn acquired(&self, row: usize, acquisitions: u32, waited: u64) {
        let Some((row, more)) = self.rows.at(row) else { return };
        add(&row.acquisitions, acquisitions.into());
        if waited > 0 {
            add(&more.contended, 1);
            add(&more.waited, waited);
        }
    }

    /// Counts a traced section.
    pub fn traced(&self, row: usize) {
        if let Some((_, more)) = self.rows.at(row) {
            add(&more.traced, 1);
        }
    }

    /// Begins to measure how long a lock is held.
    pub fn time(&mut self, lock: usize, row: usize) {
        self.timed = (clock::now(), row);
        tls::set_timed(lock);
    }

    /// Ends the measurement that [`Thread::time`] began.
    pub fn timed(&mut self) {
        tls::set_timed(0);
        let (since, row) = self.timed;
        if let Some((_, more)) = self.rows.at(row) {
            add(&more.held, clock::now().saturating_sub(since));
            add(&more.held_samples, 1);
        }
    }

    /// Writes what has been counted since the last time.
    pub fn flush(&mut self) {
        for (row, more) in self.rows.used() {
            write_row(&mut self.writer, row, more);
        }
    }

    /// Writes the counts if that is due. A process that is killed loses at most the counts of the
    /// last fifth of its time, or of the last tenth of a second if that is longer.
    #[inline]
    pub fn keep_written(&mut self, now: u64) {
        if now >= self.write_at && !self.busy {
            self.write(now);
        }
    }

    #[cold]
    fn write(&mut self, now: u64) {
        /// The pause before the counts are written is at least a second divided by this.
        const FIRST: u64 = 10;
        /// It is also at least the time that the process has run, divided by this.
        const AGAIN: u64 = 4;
        if self.write_at != 0 {
            aside::work(|| {
                let began = clock::of_thread();
                self.flush();
                self.process.add_besides(clock::of_thread().saturating_sub(began));
            });
        }
        let passed = now.saturating_sub(self.process.started);
        self.write_at = now + (passed / AGAIN).max(self.process.options.ticks_per_second / FIRST);
    }
}

/// Writes and resets the counts of a row.
pub(super) fn write_row(writer: &mut Writer, row: &Row, more: &More) {
    let take = |cell: &AtomicU64| cell.swap(0, Ordering::Relaxed);
    let lock = row.lock.load(Ordering::Acquire);
    let acquisitions = take(&row.acquisitions);
    if lock == 0 || acquisitions == 0 {
        return;
    }
    writer.count(&CountRecord {
        lock,
        site: row.site.load(Ordering::Relaxed),
        acquisitions,
        contended: take(&more.contended),
        traced: take(&more.traced),
        waited_ticks: take(&more.waited),
        held_ticks: take(&more.held),
        held_samples: take(&more.held_samples),
        op: row.op.load(Ordering::Relaxed),
        reserved: 0,
    });
}

/// Adds to a counter that only this thread writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}
