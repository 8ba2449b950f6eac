//! One-sided operations that are under way. Each takes effect at its target at an arbitrary later
//! moment. Only the puts of one node to one other node stay in order; any other operation may
//! overtake any operation. InfiniBand and shared memory reorder less than this. MPI may also
//! reorder puts, which `tests/nodes` covers.

use fastrand::Rng;
use syncline_dsm::carina::Entry;

use crate::world::{MOST_NODES, PAGE};

/// An operation on another node's memory.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A compare-and-swap on a directory entry. The answer is the old entry.
    Swap { line: usize, expected: Entry, new: Entry },
    /// Sets the bit *told* of an entry.
    Told { line: usize },
    /// Reads one half of a page: two reads of a page may see different states of it.
    Get { line: usize, half: usize },
    /// Writes bytes of a page.
    Put { line: usize, at: usize, len: usize, bytes: [u8; PAGE] },
    /// Sets a line's bit in the target's word of notices. `deposit` is the deposit that this is
    /// for.
    Notice { line: usize, deposit: usize },
    /// Appends a line to the log at its home. `deposit` is the deposit that this is for.
    Append { line: usize, deposit: usize },
    /// Increments the count of all logs' entries. `deposit` is the deposit that this is for.
    Count { deposit: usize },
    /// Reads the count of all logs' entries.
    ReadCount,
    /// Reads the entries of a log that the node has not read yet.
    ReadLog,
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub op: Op,
}

/// All operations that are under way.
pub struct Network {
    under_way: Vec<Message>,
    sent: [usize; MOST_NODES],
    puts: [[usize; MOST_NODES]; MOST_NODES],
    /// Pairs of nodes whose operations are slow in this schedule: they rarely take effect while
    /// anything else can happen.
    slow: [[bool; MOST_NODES]; MOST_NODES],
    /// Whether notices are slow as well, between all nodes.
    slow_notices: bool,
}

impl Network {
    pub fn new(rng: &mut Rng) -> Network {
        let one_in = rng.u8(2..10);
        let mut slow = [[false; MOST_NODES]; MOST_NODES];
        slow.iter_mut().flatten().for_each(|pair| *pair = rng.u8(0..one_in) == 0);
        Network {
            under_way: Vec::new(),
            sent: [0; MOST_NODES],
            puts: [[0; MOST_NODES]; MOST_NODES],
            slow,
            slow_notices: rng.u8(0..4) == 0,
        }
    }

    fn is_slow(&self, message: &Message) -> bool {
        let notice = matches!(message.op, Op::Notice { .. });
        self.slow[message.from][message.to] || self.slow_notices && notice
    }

    pub fn send(&mut self, from: usize, to: usize, op: Op) {
        self.sent[from] += 1;
        self.puts[from][to] += usize::from(matches!(op, Op::Put { .. }));
        self.under_way.push(Message { from, to, op });
    }

    /// Takes out the operation that takes effect next. Returns `None` if no operation is under way,
    /// and usually also if only slow operations were drawn, unless the nodes are stuck without
    /// them.
    pub fn next(&mut self, else_stuck: bool, rng: &mut Rng) -> Option<Message> {
        let mut at = rng.usize(0..self.under_way.len().max(1));
        for _ in 0..4 {
            if !self.is_slow(self.under_way.get(at)?) {
                break;
            }
            at = rng.usize(0..self.under_way.len());
        }
        if !else_stuck && self.is_slow(self.under_way.get(at)?) && rng.u8(0..64) != 0 {
            return None;
        }
        let chosen = *self.under_way.get(at)?;
        if matches!(chosen.op, Op::Put { .. }) {
            let first = |m: &Message| {
                (m.from, m.to) == (chosen.from, chosen.to) && matches!(m.op, Op::Put { .. })
            };
            at = self.under_way.iter().position(first)?;
            self.puts[chosen.from][chosen.to] -= 1;
        }
        self.sent[chosen.from] -= 1;
        Some(self.under_way.remove(at))
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether all operations that a node sent have taken effect.
    pub fn is_flushed(&self, from: usize) -> bool {
        self.sent[from] == 0
    }

    /// Whether all puts of a node have arrived, at all homes.
    pub fn has_put(&self, from: usize) -> bool {
        self.puts[from] == [0; MOST_NODES]
    }

    /// Whether all puts of a node to one home have arrived.
    pub fn is_settled(&self, from: usize, to: usize) -> bool {
        self.puts[from][to] == 0
    }
}
