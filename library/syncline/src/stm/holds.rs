//! The locks of a lock server, and the rule for conflicts: plain data that only the server's thread
//! uses.
//!
//! A cell is held by one writer or several readers. A thread that requests a cell which others hold
//! in a conflicting way wins if its transactions have cost less so far than those of each
//! conflicting thread. (Of threads with equal costs, the one with the lower number wins.) The
//! others are then aborted, and the thread gets the cell. If the thread does not win, or if one of
//! the others commits already, it is refused, and no holder is aborted. (In one case, holders are
//! aborted although the request is refused: if another holder begins to commit while the server
//! aborts them.) A holder whose attempt is over but which has not released the cell yet conflicts
//! with no thread. This policy is FairCM. A thread's cost grows only when one of its transactions
//! commits, so a thread that is aborted again and again ends up with the least cost, and then wins
//! every conflict.
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
    /// The cost of the thread's successful transactions so far, in accesses.
    pub spent: u64,
}

impl Holder {
    /// Whether this thread wins a conflict with the other.
    fn goes_before(&self, other: &Self) -> bool {
        (self.spent, self.client) < (other.spent, other.client)
    }
}

/// The state of a holder's attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, and can be aborted.
    Runs,
    /// It commits, and can't be aborted any more.
    Commits,
    /// It is over: aborted, or followed by another.
    Over,
}

/// The attempts as a server sees and aborts them.
pub trait Attempts {
    /// The state of this attempt.
    fn state(&self, of: &Holder) -> State;
    /// Aborts the attempt if it still runs. Returns whether it is over now.
    fn abort(&self, other: &Holder) -> bool;
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
    /// Asks for a cell, to read it or to write it, and aborts the holders that have to be aborted.
    /// Returns whether the cell was granted. An attempt that is over gets nothing, so that no
    /// holder is aborted for it.
    pub fn ask(
        &mut self,
        cell: usize,
        writes: bool,
        who: Holder,
        attempts: &impl Attempts,
    ) -> bool {
        if attempts.state(&who) == State::Over {
            return false;
        }
        let held = self.cells.entry(cell).or_default();
        let readers = if writes { held.readers.as_slice() } else { &[] };
        let mut others = held.writer.iter().chain(readers).filter(|o| o.client != who.client);
        let gives_way = |other: &&Holder| match attempts.state(other) {
            State::Runs => who.goes_before(other),
            State::Commits => false,
            State::Over => true,
        };
        let granted = others.clone().all(|other| gives_way(&other))
            && others.all(|other| attempts.abort(other));
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
    use core::cell::RefCell;

    use super::State::{Commits, Over, Runs};
    use super::*;

    fn who(client: usize, spent: u64) -> Holder {
        Holder { client, attempt: 1, spent }
    }

    /// The attempts of the clients with these numbers are in this state, and all others run.
    struct States(State, &'static [usize], RefCell<Vec<usize>>);

    impl Attempts for States {
        fn state(&self, of: &Holder) -> State {
            if self.1.contains(&of.client) { self.0 } else { Runs }
        }

        fn abort(&self, other: &Holder) -> bool {
            self.2.borrow_mut().push(other.client);
            self.state(other) != Commits
        }
    }

    /// Requests a cell, and returns whether it was granted, and which holders were aborted for it.
    fn ask_while(
        holds: &mut Holds,
        writes: bool,
        who: Holder,
        state: State,
        of: &'static [usize],
    ) -> (bool, Vec<usize>) {
        let states = States(state, of, RefCell::default());
        let granted = holds.ask(7, writes, who, &states);
        (granted, states.2.into_inner())
    }

    fn ask(holds: &mut Holds, writes: bool, who: Holder) -> (bool, Vec<usize>) {
        ask_while(holds, writes, who, Runs, &[])
    }

    const READ: bool = false;
    const WRITE: bool = true;

    #[test]
    fn readers_share_and_a_writer_excludes() {
        let mut holds = Holds::default();
        assert_eq!(ask(&mut holds, READ, who(0, 5)), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(1, 5)), (true, [].into()));
        assert_eq!(ask(&mut holds, WRITE, who(2, 9)), (false, [].into()));
        assert_eq!(ask(&mut holds, WRITE, who(2, 1)), (true, [0, 1].into()));
        assert_eq!(ask(&mut holds, READ, who(0, 5)), (false, [].into()));
    }

    #[test]
    fn one_who_has_spent_less_is_enough_to_be_refused() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 9));
        ask(&mut holds, READ, who(1, 2));
        assert_eq!(ask(&mut holds, WRITE, who(2, 5)), (false, [].into()));
    }

    #[test]
    fn who_reads_may_go_on_to_write_and_back() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 5));
        assert_eq!(ask(&mut holds, WRITE, who(0, 5)), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(0, 5)), (true, [].into()));
        assert_eq!(ask(&mut holds, READ, who(1, 6)), (false, [].into()));
    }

    #[test]
    fn nobody_is_aborted_for_a_cell_of_one_who_commits() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 8));
        ask(&mut holds, READ, who(1, 9));
        let asked = ask_while(&mut holds, WRITE, who(2, 1), Commits, &[1]);
        assert_eq!(asked, (false, [].into()));
        assert_eq!(ask(&mut holds, WRITE, who(3, 99)), (false, [].into()));
    }

    #[test]
    fn nobody_is_aborted_for_one_who_is_aborted_already() {
        let mut holds = Holds::default();
        ask(&mut holds, READ, who(0, 9));
        assert_eq!(ask_while(&mut holds, WRITE, who(1, 1), Over, &[1]), (false, [].into()));
        assert_eq!(ask(&mut holds, READ, who(2, 99)), (true, [].into()));
    }

    #[test]
    fn one_whose_attempt_is_over_is_in_nobodys_way() {
        let mut holds = Holds::default();
        ask(&mut holds, WRITE, who(0, 1));
        let (granted, _) = ask_while(&mut holds, READ, who(1, 9), Over, &[0]);
        assert!(granted);
        holds.release(0);
        assert_eq!(ask(&mut holds, WRITE, who(2, 99)), (false, [].into()));
    }

    #[test]
    fn what_is_released_is_free_and_forgotten() {
        let mut holds = Holds::default();
        ask(&mut holds, WRITE, who(0, 1));
        ask(&mut holds, READ, who(0, 1));
        holds.release(0);
        assert!(holds.cells.is_empty());
        assert_eq!(ask(&mut holds, WRITE, who(1, 99)), (true, [].into()));
        // Client 1 loses the cell before it releases, so its release frees nothing.
        assert_eq!(ask(&mut holds, WRITE, who(0, 1)), (true, [1].into()));
        holds.release(1);
        assert_eq!(ask(&mut holds, READ, who(2, 99)), (false, [].into()));
    }
}
