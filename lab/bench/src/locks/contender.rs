//! The locks that are measured: those of the catalogue in each of their forms, peers, and
//! hand-written locks.

use syncline::lock::Waiting;

use super::arena::{self, Arena, Lock};

/// Kinds of locks with the same purpose. Locks of most kinds are compared with peers of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Spin,
    Ticket,
    Array,
    Mcs,
    Clh,
    /// A queue for each group of near processors, which is spliced into a common queue.
    Hclh,
    /// A lock for each group of near processors, and one for all groups.
    Cohort,
    /// A queue whose waiters can give up.
    TimedQueue,
    /// A lock whose waiters sleep in the kernel.
    Blocking,
    /// A lock that readers share and whose waiters spin or yield.
    SpinningShared,
    /// A lock that readers share and whose waiters sleep in the kernel.
    BlockingShared,
    /// A lock that readers share. Waiters take turns, and all poll the same words.
    TurnsShared,
    /// A lock that readers share. Waiters form a queue, and each polls its own word.
    QueuedShared,
    /// A lock whose waiters send their sections to the holder.
    Delegation,
}

impl Kind {
    pub const ALL: [Kind; 14] = [
        Kind::Spin,
        Kind::Ticket,
        Kind::Array,
        Kind::Mcs,
        Kind::Clh,
        Kind::Hclh,
        Kind::Cohort,
        Kind::TimedQueue,
        Kind::Blocking,
        Kind::SpinningShared,
        Kind::BlockingShared,
        Kind::TurnsShared,
        Kind::QueuedShared,
        Kind::Delegation,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Spin => "spin",
            Kind::Ticket => "ticket",
            Kind::Array => "array",
            Kind::Mcs => "mcs",
            Kind::Clh => "clh",
            Kind::Hclh => "hclh",
            Kind::Cohort => "cohort",
            Kind::Blocking => "blocking",
            Kind::TimedQueue => "queue with a time limit",
            Kind::SpinningShared => "shared, spinning",
            Kind::BlockingShared => "shared, blocking",
            Kind::TurnsShared => "shared, in turns",
            Kind::QueuedShared => "shared, queued",
            Kind::Delegation => "delegation",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn is_shared(self) -> bool {
        use Kind::{BlockingShared, QueuedShared, SpinningShared, TurnsShared};
        matches!(self, SpinningShared | BlockingShared | TurnsShared | QueuedShared)
    }
}

/// The origin of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Ours,
    Peer,
    /// A lock that is written plainly in this crate, to measure the cost of our generic code.
    Handwritten,
}

pub struct Contender {
    pub name: String,
    /// The lock's name in the catalogue; equal to `name` for other locks.
    pub lock: String,
    pub side: Side,
    pub kind: Kind,
    pub waiting: Waiting,
    /// Whether waiters are served in order, at least within a group.
    pub fifo: bool,
    /// Whether a waiter can give up after a time.
    pub timed: bool,
    /// The size of a lock in bytes.
    pub bytes: usize,
    /// The size in bytes of the node that each waiter and holder needs.
    pub node_bytes: usize,
    pub row: Box<dyn Fn(usize) -> Box<dyn Arena>>,
}

impl Contender {
    pub fn new<L: Lock + 'static>(name: &str, side: Side, kind: Kind, waiting: Waiting) -> Self {
        Contender {
            name: name.to_owned(),
            lock: name.to_owned(),
            side,
            kind,
            waiting,
            fifo: false,
            timed: false,
            bytes: size_of::<L>(),
            node_bytes: 0,
            row: Box::new(|locks| arena::row::<L>(locks)),
        }
    }

    pub fn fifo(self) -> Self {
        Contender { fifo: true, ..self }
    }

    pub fn timed(self) -> Self {
        Contender { timed: true, ..self }
    }

    pub fn node_bytes(self, node_bytes: usize) -> Self {
        Contender { node_bytes, ..self }
    }

    pub fn is_ours(&self) -> bool {
        self.side == Side::Ours
    }

    /// Whether, with more threads than processors, each hand-over has to wait until the scheduler
    /// runs the next thread in the order, while the other threads spin.
    pub fn starves_oversubscribed(&self) -> bool {
        self.fifo && self.waiting == Waiting::Spins
    }
}
