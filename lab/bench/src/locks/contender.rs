//! The locks that are measured: a lock of the catalogue in one of its forms, a peer, or a
//! hand-written lock.

use syncline::lock::Waiting;

use super::arena::{self, Arena, Lock};

/// Kinds of locks with the same purpose, which are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Spin,
    Ticket,
    Array,
    Mcs,
    Clh,
    /// A queue for each group of near processors, which is spliced into a common one.
    Hclh,
    /// A lock for each group of near processors, and one for all groups.
    Cohort,
    /// A queue whose waiters can give up.
    TimedQueue,
    /// Waiters sleep in the kernel.
    Blocking,
    /// Readers share it; waiters spin.
    SpinningShared,
    /// Readers share it; waiters sleep in the kernel.
    BlockingShared,
    /// Readers share it; waiters take turns, and all poll the same words.
    TurnsShared,
    /// Readers share it; waiters form a queue, and each polls a word of its own.
    QueuedShared,
    /// The section is sent to the lock's holder.
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
    /// Written plainly here, to measure the cost of our generic code.
    Handwritten,
}

pub struct Contender {
    pub name: String,
    /// The name in the catalogue, or the same as `name`.
    pub lock: String,
    pub side: Side,
    pub kind: Kind,
    pub waiting: Waiting,
    /// Whether waiters are served in order, among all or within a group.
    pub fifo: bool,
    /// Whether a waiter can give up after a while.
    pub timed: bool,
    /// Size of a lock in bytes.
    pub bytes: usize,
    /// Size of the node that each waiter and holder needs, in bytes.
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

    /// Whether, with more threads than processors, each hand-over waits until the scheduler runs
    /// the next thread of the order, while the other threads spin.
    pub fn starves_oversubscribed(&self) -> bool {
        self.fifo && self.waiting == Waiting::Spins
    }
}
