//! What a node does at a fence: it performs the steps of [`Rules::fence`].
//!
//! Other threads may use the node between the steps, so each step is one call. [`Quiet`] says
//! whether other threads may access pages during the call.

use std::ops::Range;

use syncline_fabric::{Dead, Fabric};

use super::{Node, Quiet};
use crate::carina::{FenceStep, Known, Rules, Scheme};
use crate::pages::Pages;
use crate::shape::Control;

impl<F: Fabric, P: Pages, R: Rules> Node<F, P, R> {
    /// Performs a step of a fence. [`FenceStep::Synchronize`] is the caller's task: this function
    /// does nothing for it.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn step(&mut self, step: FenceStep, quiet: Quiet) -> Result<(), Dead> {
        match step {
            FenceStep::Downgrade => {
                for pages in self.fetched.clone() {
                    self.downgrade(pages, usize::MAX)?;
                }
                self.buffered = 0;
                Ok(())
            }
            FenceStep::Flush => {
                // Waits for everything that this node has put since its last flush, to any home and
                // for any reason: the downgrade above, or lines that left the cache or the write
                // buffer. Notices and deposits are atomic operations on words, and are complete
                // already. A dead home is not reported: its lines are lost, and a node learns of
                // the death when it accesses one of them.
                self.fabric.flush_all();
                self.flushes += 1;
                Ok(())
            }
            FenceStep::Synchronize => Ok(()),
            FenceStep::Notices => self.receive_notices(),
            FenceStep::Invalidate => self.invalidate(quiet),
            FenceStep::Forget => self.forget(),
        }
    }

    /// The rules that this node follows.
    pub fn rules(&self) -> &R {
        &self.rules
    }

    fn receive_notices(&mut self) -> Result<(), Dead> {
        let scheme = self.policy.scheme;
        if scheme == Scheme::Shared {
            return Ok(());
        }
        let (known, rules, counts) = (&mut self.known, &self.rules, &mut self.counts);
        self.pyxis.receive_notices(&self.fabric, &self.shape, &self.layout, &mut |line| {
            counts.notices += 1;
            let lines = line.map_or(0..known.len(), |line| line..line + 1);
            known[lines].iter_mut().for_each(|known| *known = rules.after_notice(scheme, *known));
        })
    }

    /// Drops the cached lines that can't be kept, a run of neighbours at a time.
    fn invalidate(&mut self, quiet: Quiet) -> Result<(), Dead> {
        let mut from = 0;
        while let Some(run) = self.next_dropped(from) {
            from = run.end;
            self.counts.invalidated += run.len() as u64;
            self.drop_lines(run, quiet == Quiet::No)?;
        }
        Ok(())
    }

    /// The next run of neighbouring cached lines, from this line on, that can't be kept.
    fn next_dropped(&mut self, from: usize) -> Option<Range<usize>> {
        let mut line = self.cache.next(from)?;
        while self.rules.keeps(self.policy.scheme, self.known[line]) {
            self.counts.kept += 1;
            line = self.cache.next(line + 1)?;
        }
        let mut end = line + 1;
        while end < self.shape.lines
            && self.cache.has(end)
            && !self.rules.keeps(self.policy.scheme, self.known[end])
        {
            end += 1;
        }
        Some(line..end)
    }

    /// Drops all cached lines, forgets what is known about lines, and empties the part of the
    /// directory that lives at this rank.
    fn forget(&mut self) -> Result<(), Dead> {
        while let Some(line) = self.cache.next(0) {
            let mut end = line + 1;
            while end < self.shape.lines && self.cache.has(end) {
                end += 1;
            }
            self.drop_lines(line..end, false)?;
        }
        self.known.fill(Known::default());
        let me = self.fabric.rank();
        let taken = self.fabric.load(self.layout.control(me, Control::Lines))? as usize;
        let slots = (self.homes.kept() + taken).min(self.shape.capacity());
        // Most entries may be empty, so they are read in bulk.
        let bulk = self.shape.page / 8;
        for first in (0..slots).step_by(bulk) {
            let entries = &mut self.snapshot[..8 * bulk.min(slots - first)];
            self.fabric.get(self.layout.entry(me, first), entries)?;
            for (number, entry) in entries.chunks_exact(8).enumerate() {
                if entry.iter().any(|byte| *byte != 0) {
                    self.fabric.store(self.layout.entry(me, first + number), 0)?;
                }
            }
        }
        Ok(())
    }
}
