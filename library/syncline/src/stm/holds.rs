//! The locks of a lock server, and which thread wins a conflict: plain data that only the server's
//! thread uses.
//!
//! A cell is held by one writer or several readers. If a thread requests a cell that others hold in
//! a conflicting way, it wins if its transactions have cost less so far than those of each
//! conflicting thread (of threads with equal costs, the one with the lower number wins). The others
//! are then aborted, and it gets the cell. If one of them commits already, it is refused, though
//! some of the others may have been aborted for it. If it does not win, it is refused, and no holder
//! is aborted.
//! That is FairCM: what a thread's transactions have cost grows only when one commits, so a thread
//! that is aborted again and again comes to have the least and then wins every conflict.
//!
//! Source: Gramoli, Guerraoui and Trigonakis, "TM2C: a Software Transactional Memory for
//! Many-Cores", EuroSys 2012, sections 3 and 4.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A thread that asks for a cell, or holds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The thread's number as a client of the engine.
    pub client: usize,
    /// The number of the attempt.
    pub attempt: u64,
    /// What its successful transactions have cost so far.
    pub spent: u64,
}

impl Holder {
    /// Whether this one wins a conflict with the other.
    fn goes_before(&self, other: &Self) -> bool {
        (self.spent, self.client) < (other.spent, other.client)
    }
}

/// The result of an attempt to abort a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The holder is aborted, or its attempt was over already.
    Gone,
    /// The holder commits, and can't be aborted any more.
    Commits,
}

#[derive(Debug, Default)]
struct Held {
    writer: Option<Holder>,
    readers: Vec<Holder>,
}

/// The cells that are held, and their holders.
#[derive(Debug, Default)]
pub struct Holds {
    cells: BTreeMap<usize, Held>,
    /// The cells that were granted to each client.
    of: Vec<Vec<usize>>,
}

impl Holds {
    /// Asks for a cell, to read it or to write it. Calls `abort` with the holders that have to be
    /// aborted. Returns whether the cell was granted.
    pub fn ask(
        &mut self,
        cell: usize,
        writes: bool,
        who: Holder,
        mut abort: impl FnMut(&Holder) -> Fate,
    ) -> bool {
        let held = self.cells.entry(cell).or_default();
        let readers = if writes { held.readers.as_slice() } else { &[] };
        let mut others = held.writer.iter().chain(readers).filter(|o| o.client != who.client);
        let granted = others.clone().all(|other| who.goes_before(other))
            && others.all(|other| abort(other) == Fate::Gone);
        if granted {
            if writes {
                held.readers.retain(|reader| reader.client == who.client);
                held.writer = Some(who);
            } else {
                // A conflicting writer was removed; this client's own entry stays.
                held.writer = held.writer.filter(|writer| writer.client == who.client);
                if held.readers.iter().all(|reader| reader.client != who.client) {
                    held.readers.push(who);
                }
            }
            if self.of.len() <= who.client {
                self.of.resize_with(who.client + 1, Vec::new);
            }
            self.of[who.client].push(cell);
        }
        granted
    }

    /// Gives back all that a client holds.
    pub fn release(&mut self, client: usize) {
        for cell in self.of.get_mut(client).map(core::mem::take).unwrap_or_default() {
            let Some(held) = self.cells.get_mut(&cell) else { continue };
            held.writer = held.writer.filter(|writer| writer.client != client);
            held.readers.retain(|reader| reader.client != client);
            if held.writer.is_none() && held.readers.is_empty() {
                self.cells.remove(&cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fate::{Commits, Gone};
    use super::*;

    fn who(client: usize, spent: u64) -> Holder {
        Holder { client, attempt: 1, spent }
    }

    /// Requests a cell, and returns whether it was granted, and which holders were aborted for it.
    fn ask(holds: &mut Holds, writes: bool, who: Holder, fate: Fate) -> (bool, Vec<usize>) {
        let mut aborted = Vec::new();
        let granted = holds.ask(7, writes, who, |other| {
            aborted.push(other.client);
            fate
        });
        (granted, aborted)
    }

    const READ: bool = false;
    const WRITE: bool = true;

    #[test]
    fn readers_share_and_a_writer_excludes() {
        let mut holds = Holds::default();
        assert_eq!(ask(&mut holds, READ, who(0, 5), Gone), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(1, 5), Gone), (true, [].into()));
        assert_eq!(ask(&mut holds, WRITE, who(2, 9), Gone), (false, [].into()));
        assert_eq!(ask(&mut holds, WRITE, who(2, 1), Gone), (true, [0, 1].into()));
        assert_eq!(ask(&mut holds, READ, who(0, 5), Gone), (false, [].into()));
    }

    #[test]
    fn one_who_has_spent_less_is_enough_to_be_refused() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 9), Gone);
        ask(&mut holds, READ, who(1, 2), Gone);
        assert_eq!(ask(&mut holds, WRITE, who(2, 5), Gone), (false, [].into()));
    }

    #[test]
    fn who_reads_may_go_on_to_write_and_back() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 5), Gone);
        assert_eq!(ask(&mut holds, WRITE, who(0, 5), Gone), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(0, 5), Gone), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(1, 6), Gone), (false, [].into()));
    }

    #[test]
    fn who_commits_is_not_overridden() {
        let mut holds = Holds::default();
        ask(&mut holds, WRITE, who(0, 9), Gone);
        assert_eq!(ask(&mut holds, READ, who(1, 1), Commits), (false, [0].into()));
        assert_eq!(ask(&mut holds, READ, who(2, 99), Gone), (false, [].into()));
    }

    #[test]
    fn what_is_released_is_free_and_forgotten() {
        let mut holds = Holds::default();
        ask(&mut holds, WRITE, who(0, 1), Gone);
        ask(&mut holds, READ, who(0, 1), Gone);
        holds.release(0);
        assert!(holds.cells.is_empty());
        assert_eq!(ask(&mut holds, WRITE, who(1, 99), Gone), (true, [].into()));
        // Client 1 loses the cell before it releases, so its release frees nothing.
        assert_eq!(ask(&mut holds, WRITE, who(0, 1), Gone), (true, [1].into()));
        holds.release(1);
        assert_eq!(ask(&mut holds, READ, who(2, 99), Gone), (false, [].into()));
    }
}
