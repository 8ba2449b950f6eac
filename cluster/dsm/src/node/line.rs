//! What a node does at a miss and at a downgrade: it performs the steps of [`Rules::line`].

use std::ops::Range;

use syncline_fabric::{Dead, Fabric, Operation, Swap};

use super::Node;
use super::check::note_conflicts;
use crate::carina::{LineEvent, LineStep, Role, Rules, registers};
use crate::homes::Home;
use crate::pages::{Pages, Twins};

impl<F: Fabric, P: Pages, R: Rules> Node<F, P, R> {
    /// Performs the steps of an event: this page is downgraded, or the line that it belongs to is
    /// missing.
    pub(super) fn event(&mut self, event: LineEvent, page: usize) -> Result<(), Dead> {
        let line = page / self.shape.line_pages;
        let mut steps = self.rules.line(event);
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            match step {
                LineStep::MakeRoom => self.make_room(line)?,
                LineStep::Reader if rest.first() == Some(&LineStep::Fetch) => {
                    steps = &rest[1..];
                    self.enter_and_fetch(line)?;
                }
                LineStep::Reader => self.enter(line, Role::Reader)?,
                LineStep::Writer => self.enter(line, Role::Writer)?,
                // A node that does not know a line's home has put nothing there.
                LineStep::Settle => {
                    if let Some(home) = self.homes.known(line) {
                        self.fabric.flush(home.rank)?;
                    }
                }
                LineStep::Fetch => self.fetch(line)?,
                LineStep::Diff => self.diff(page)?,
                LineStep::Twin => self.renew_twin(event, page),
            }
        }
        Ok(())
    }

    fn home(&mut self, line: usize) -> Result<Home, Dead> {
        self.homes.of(&self.fabric, line)
    }

    fn make_room(&mut self, line: usize) -> Result<(), Dead> {
        if let Some(other) = self.cache.in_the_way_of(line) {
            self.counts.evicted += 1;
            self.drop_lines(other..other + 1, true)?;
        }
        Ok(())
    }

    /// Drops lines from the cache. If they may have been written, `written` is `true`, and they are
    /// downgraded first.
    pub(super) fn drop_lines(&mut self, lines: Range<usize>, written: bool) -> Result<(), Dead> {
        let pages = self.pages_of(lines.start).start..self.pages_of(lines.end).start;
        let freeze = written && self.threads > 1;
        if freeze {
            self.pages.freeze(pages.clone());
        }
        if written {
            self.downgrade(pages.clone(), usize::MAX)?;
        }
        self.pages.drop(pages.clone());
        self.cache.remove(lines);
        if freeze {
            self.pages.thaw(pages);
        }
        Ok(())
    }

    /// Deposits this node in a line's entry, unless this node is in the entry in this role already
    /// or the scheme does not register nodes in this role.
    fn enter(&mut self, line: usize, role: Role) -> Result<(), Dead> {
        if !self.needs_deposit(line, role) {
            return Ok(());
        }
        let home = self.home(line)?;
        let mut tried = self.first_try(line, home, role);
        tried.perform_on(&self.fabric)?;
        self.deposit(line, home, role, tried)
    }

    fn needs_deposit(&self, line: usize, role: Role) -> bool {
        let known = self.known[line];
        let done = if role == Role::Reader { known.reads } else { known.writes };
        !done && registers(self.policy.scheme, role)
    }

    fn first_try(&self, line: usize, home: Home, role: Role) -> Swap {
        let (me, known) = (self.fabric.rank(), self.known[line]);
        let scheme = self.policy.scheme;
        self.pyxis.first_try(me, &self.rules, scheme, &self.layout, home, role, known)
    }

    /// Deposits this node in a line's entry, after a first try.
    fn deposit(&mut self, line: usize, home: Home, role: Role, tried: Swap) -> Result<(), Dead> {
        self.counts.deposits += 1;
        let (scheme, at) = (self.policy.scheme, (&self.shape, &self.layout));
        let (fabric, rules, known) = (&self.fabric, &self.rules, self.known[line]);
        self.known[line] =
            self.pyxis.deposit(fabric, rules, scheme, at, (line, home), role, known, tried)?;
        Ok(())
    }

    /// Deposits this node as a reader, as [`enter`](Self::enter) does, and fetches the line. If the
    /// home is not known yet, also claims it. A fabric may do all that in one round trip. Each step
    /// depends on the one before: no step is made if another node was faster.
    fn enter_and_fetch(&mut self, line: usize) -> Result<(), Dead> {
        let mut guess = self.homes.guess(line);
        let home = match guess {
            Some((home, _)) => home,
            None => self.home(line)?,
        };
        let deposits = self.needs_deposit(line, Role::Reader);
        let mut tried = self.first_try(line, home, Role::Reader);
        let from = self.layout.data(&self.shape, home.rank, home.slot);
        let range = self.arrives_at(line);
        let into = range.map_or(&mut self.arriving[..], |range| self.twins.at_mut(range));
        let get = Operation::Get { from, into };
        let claim = guess.as_mut().map(|(_, claim)| Operation::Swap(claim));
        let entry = deposits.then_some(Operation::Swap(&mut tried));
        let (performed, all) = match (claim, entry) {
            (Some(claim), Some(entry)) => (self.fabric.perform(&mut [claim, entry, get])?, 3),
            (Some(one), None) | (None, Some(one)) => (self.fabric.perform(&mut [one, get])?, 2),
            (None, None) => (self.fabric.perform(&mut [get])?, 1),
        };
        if let Some((_, claim)) = guess {
            self.homes.learn(&self.fabric, line, &claim)?;
            if claim.has_failed() {
                return self.enter_and_fetch(line);
            }
        }
        if deposits {
            self.deposit(line, home, Role::Reader, tried)?;
        }
        if performed < all {
            return self.fetch(line);
        }
        self.install(line);
        Ok(())
    }

    fn fetch(&mut self, line: usize) -> Result<(), Dead> {
        let home = self.home(line)?;
        let from = self.layout.data(&self.shape, home.rank, home.slot);
        let range = self.arrives_at(line);
        let into = range.map_or(&mut self.arriving[..], |range| self.twins.at_mut(range));
        self.fabric.get(from, into)?;
        self.install(line);
        Ok(())
    }

    /// Where in `twins` a line arrives. On fault sides that make twins at the first write it is `None`,
    /// and the line arrives in `arriving`. On the other ones, the twin so gets the same bytes as the
    /// pages.
    fn arrives_at(&self, line: usize) -> Option<Range<usize>> {
        let start = self.cache.slot(line) * self.shape.line();
        (self.pages.twins() == Twins::AtFetch).then_some(start..start + self.shape.line())
    }

    /// Makes a line that has arrived accessible.
    fn install(&mut self, line: usize) {
        let first = self.pages_of(line).start;
        let bytes = match self.arrives_at(line) {
            Some(range) => self.twins.at(range),
            None => &self.arriving[..],
        };
        self.pages.install(first, bytes);
        self.cache.insert(line);
        self.note_fetched(line);
        self.counts.fetched += self.shape.line() as u64;
    }

    /// Takes a snapshot of the page, and puts the bytes that differ from the twin to the line's
    /// home. A fabric may complete a put before an earlier put of the same rank, so the earlier
    /// puts to this line have to arrive first.
    fn diff(&mut self, page: usize) -> Result<(), Dead> {
        let line = page / self.shape.line_pages;
        let home = self.home(line)?;
        if std::mem::replace(&mut self.put[line], self.flushes + 1) == self.flushes + 1 {
            self.fabric.flush(home.rank)?;
        }
        self.pages.read(page, &mut self.snapshot);
        let twin = self.twins.at(self.twin(page));
        let first = page % self.shape.line_pages * self.shape.page;
        let to = self.layout.data(&self.shape, home.rank, home.slot).plus(first);
        if self.policy.check {
            self.fabric.flush(home.rank)?;
        }
        let (fabric, counts, layout) = (&self.fabric, &mut self.counts, &self.layout);
        let (check, offset) = (self.policy.check, page * self.shape.page);
        let mut result = Ok(());
        self.rules.diff(twin, &self.snapshot, &mut |at, bytes| {
            if check && result.is_ok() {
                let old = &twin[at..at + bytes.len()];
                result = note_conflicts(fabric, layout, to.plus(at), old, offset + at);
            }
            counts.put += bytes.len() as u64;
            fabric.put(to.plus(at), bytes);
        });
        result?;
        self.counts.downgrades += 1;
        Ok(())
    }

    /// Makes the snapshot of a downgraded page its twin. After a miss there is nothing to do: the
    /// line got its twin at the fetch, or its pages get theirs at their first writes.
    fn renew_twin(&mut self, event: LineEvent, page: usize) {
        if event == LineEvent::Downgrade && self.pages.twins() == Twins::AtFetch {
            let twin = self.twin(page);
            self.twins.at_mut(twin).copy_from_slice(&self.snapshot);
        }
    }
}
