//! Random programs without data races, made while they run: a node may only touch bytes that it has
//! the right to, and rights move only where the program synchronizes.
//!
//! A byte belongs to a node, to a lock, or to all nodes for reading. Barriers redistribute all
//! bytes. A node that holds a lock may take a byte that belongs to the lock, and may leave one of
//! its own there. So data under one lock reaches other nodes by way of third nodes and second
//! locks. Neighbouring bytes often have different owners, so pages have several writers.
//!
//! The oracle is one memory to which every write goes at once. Since conflicting accesses are ordered
//! by synchronization, its value is the only one that a read may return.

use fastrand::Rng;

use crate::world::PAGE;

pub const LOCKS: usize = 3;

/// The nodes that may touch a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Node(usize),
    Lock(usize),
    /// All nodes may read it.
    All,
}

/// An access of the program.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub line: usize,
    pub at: usize,
    pub len: usize,
    /// The bytes that are written; `None` for a read.
    pub write: Option<[u8; 4]>,
}

/// The rights to all bytes, and their expected values.
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

    /// Redistributes all bytes, while no node can access any.
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

    /// Moves a byte between a node and a lock that it holds.
    pub fn hand_over(&mut self, me: usize, held: &[usize], rng: &mut Rng) {
        let (line, at) = (rng.usize(0..self.rights.len()), rng.usize(0..PAGE));
        let (Some(lock), right) = (rng.choice(held), &mut self.rights[line][at]) else { return };
        match *right {
            Right::Lock(one) if one == *lock => *right = Right::Node(me),
            Right::Node(owner) if owner == me => *right = Right::Lock(*lock),
            _ => {}
        }
    }

    /// An access that a node has the right to, if one is found.
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
                // Half of the time there are few values, so that old ones come back.
                let most = if rng.bool() { 1 } else { 255 };
                let write = write.then(|| [(); 4].map(|()| rng.u8(0..=most)));
                return Some(Access { line, at, len, write });
            }
        }
        None
    }
}
