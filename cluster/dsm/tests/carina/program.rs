//! Random programs without data races, which are made while they run. A node may access only the
//! bytes to which it has the right, and rights change only where the program synchronizes.
//!
//! The right to a byte belongs to a node, to a lock, or to all nodes for reading. Barriers
//! redistribute the rights to all bytes. A node that holds a lock may take over a byte that belongs
//! to the lock, and may give the lock a byte of its own. So data may pass through several nodes and
//! locks before a node reads it. Neighbouring bytes often belong to different nodes, so pages have
//! several writers.
//!
//! The oracle is one memory in which every write takes effect at once. Conflicting accesses are
//! ordered by synchronization, so a read must return the oracle's value.

use fastrand::Rng;

use crate::world::PAGE;

pub const LOCKS: usize = 3;

/// The owner of the right to access a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Node(usize),
    Lock(usize),
    /// All nodes may read it.
    All,
}

/// An access that the program makes.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub line: usize,
    pub at: usize,
    pub len: usize,
    /// The bytes that are written; `None` for a read.
    pub write: Option<[u8; 4]>,
}

/// The rights to all bytes, and the oracle.
pub struct Program {
    rights: Vec<[Right; PAGE]>,
    pub oracle: Vec<[u8; PAGE]>,
}

impl Program {
    pub fn new(lines: usize, nodes: usize, rng: &mut Rng) -> Program {
        let rights = vec![[Right::All; PAGE]; lines];
        let mut program = Program { rights, oracle: vec![[0; PAGE]; lines] };
        program.deal(nodes, rng);
        program
    }

    /// Redistributes the rights to all bytes. Called while no node can access any byte.
    pub fn deal(&mut self, nodes: usize, rng: &mut Rng) {
        for word in self.rights.iter_mut().flat_map(|page| page.chunks_mut(4)) {
            let mut one = || match rng.u8(0..8) {
                0..3 => Right::Node(rng.usize(0..nodes)),
                3..6 => Right::Lock(rng.usize(0..LOCKS)),
                _ => Right::All,
            };
            let right = one();
            word.fill_with(&mut one);
            if rng.bool() {
                word.fill(right);
            }
        }
    }

    /// Moves the right to a byte between a node and a lock that the node holds.
    pub fn hand_over(&mut self, me: usize, held: &[usize], rng: &mut Rng) {
        let (line, at) = (rng.usize(0..self.rights.len()), rng.usize(0..PAGE));
        let (Some(lock), right) = (rng.choice(held), &mut self.rights[line][at]) else { return };
        match *right {
            Right::Lock(one) if one == *lock => *right = Right::Node(me),
            Right::Node(owner) if owner == me => *right = Right::Lock(*lock),
            _ => {}
        }
    }

    /// A random access to which a node has the right; `None` if a few attempts find none.
    pub fn access(&self, me: usize, held: &[usize], rng: &mut Rng) -> Option<Access> {
        let write = rng.bool();
        let may = |right: &Right| match right {
            Right::Node(owner) => *owner == me,
            Right::Lock(lock) => held.contains(lock),
            Right::All => !write,
        };
        for _ in 0..12 {
            let (line, byte) = (rng.usize(0..self.rights.len()), rng.usize(0..PAGE));
            let (at, len) = if rng.bool() { (byte, 1) } else { (byte & !3, 4) };
            if self.rights[line][at..at + len].iter().all(may) {
                // In half of the writes there are only two values, so that a byte often gets a
                // value again that it had before.
                let most = if rng.bool() { 1 } else { 255 };
                let write = write.then(|| [(); 4].map(|()| rng.u8(0..=most)));
                return Some(Access { line, at, len, write });
            }
        }
        None
    }
}
