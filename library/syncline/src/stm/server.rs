//! A lock server: a thread that grants cells to transactions, and settles conflicts.
//!
//! Each client has a channel to each server and one back. The server can't reach into a client's
//! transaction, so each client has a status word. A server aborts the client by changing this word:
//!
//! ```text
//!   attempt, RUNNING -> attempt, ABORTED       a server, for a thread that wins a conflict
//!   attempt, RUNNING -> attempt, COMMITS       the client; from then on it keeps what it holds
//!   any              -> attempt + 1, RUNNING   the client, having given back what it held
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

use super::holds::{Attempts, Holder, Holds, State};
use crate::channel::{Inbox, Sender, Single};
use crate::memory::{Long, LongMemory, Native, Padded};
use crate::wait::{Park, Wait};

/// The attempt runs.
pub const RUNNING: u64 = 0;
/// The attempt is aborted: a server has taken a cell from it.
pub const ABORTED: u64 = 1;
/// The attempt commits, and can't be aborted any more.
pub const COMMITS: u64 = 2;

/// A status word of an attempt.
pub const fn status(attempt: u64, state: u64) -> u64 {
    attempt << 2 | state
}

/// The status words of all clients.
pub type Statuses<M> = Arc<[Padded<<M as LongMemory>::Long>]>;

/// A client's request to a server.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// Asks for a cell. The server answers whether it is granted.
    Hold {
        /// The cell's number.
        cell: usize,
        /// Whether the attempt wants to write the cell.
        writes: bool,
        /// The attempt that asks.
        who: Holder,
    },
    /// Releases all that the client holds. There is no answer.
    Release,
}

/// The channel to a server.
pub type Requests<W, M> = Single<Request, W, M>;
/// The channel back.
pub type Answers<W, M> = Single<bool, W, M>;

/// A lock server of [`Served`](super::Served).
pub struct Server<W: Wait = Park, M: LongMemory = Native> {
    pub(super) inbox: Inbox<Request, Requests<W, M>>,
    pub(super) answers: Vec<Sender<bool, Answers<W, M>>>,
    pub(super) statuses: Statuses<M>,
}

impl<W: Wait, M: LongMemory> Server<W, M> {
    /// Serves until the engine is dropped or closed, and all its sessions are dropped.
    pub fn serve(mut self) {
        let mut holds = Holds::default();
        while let Ok((client, request)) = self.inbox.recv() {
            match request {
                Request::Release => holds.release(client),
                Request::Hold { cell, writes, who } => {
                    let granted = holds.ask(cell, writes, who, &self);
                    // A client that was dropped needs no answer.
                    let _ = self.answers[client].send(granted);
                }
            }
        }
    }
}

impl<W: Wait, M: LongMemory> Attempts for Server<W, M> {
    fn state(&self, of: &Holder) -> State {
        let Holder { client, attempt, .. } = *of;
        // Acquire: pairs with the Release in `begin`: if the attempt is over, its writes are
        // complete, and the next thread that is granted the cell sees them. If another server has
        // aborted the attempt, the load pairs with that server's Release: the next thread that is
        // granted the cell is ordered after the abort.
        match self.statuses[client].load(Acquire) {
            now if now == status(attempt, RUNNING) => State::Runs,
            now if now == status(attempt, COMMITS) => State::Commits,
            _ => State::Over,
        }
    }

    fn abort(&self, other: &Holder) -> bool {
        let Holder { client, attempt, .. } = *other;
        let (running, aborted) = (status(attempt, RUNNING), status(attempt, ABORTED));
        // AcqRel: its Release pairs with the Acquire of the client that looks whether it is
        // aborted. The server's answer orders the next thread that is granted the cell after the
        // abort.
        self.statuses[client].exchange(running, aborted, AcqRel).is_ok()
            || self.state(other) == State::Over
    }
}

impl<W: Wait, M: LongMemory> fmt::Debug for Server<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("clients", &self.answers.len()).finish_non_exhaustive()
    }
}
