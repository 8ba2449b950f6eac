//! The locks that take part: a lock of the catalogue in one of its forms, a peer, or a hand-written
//! lock.

use syncline::lock::Waiting;

use super::arena::{self, Arena, Lock};

/// Locks that are compared with each other: of one kind, with the same purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Spin,
    Ticket,
    Array,
    Mcs,
    Clh,
    /// A queue for each group of near processors, spliced into one of all.
    Hclh,
    /// A lock for each group of near processors, and one of all groups.
    Cohort,
    /// A queue whose waiters can give up.
    TimedQueue,
    /// Waiters sleep in the kernel.
    Blocking,
    /// Readers share it; waiters spin.
    SpinningShared,
    /// Readers share it; waiters sleep in the kernel.
    BlockingShared,
    /// Readers share it; waiters have turns, and all look at the same words.
    TurnsShared,
    /// Readers share it; waiters form a queue, each looking at a word of its own.
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

/// Whose lock it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Ours,
    Peer,
    /// Written down plainly here, to see what our generic text costs.
    Handwritten,
}

pub struct Contender {
    pub name: String,
    /// The catalogue's name, or the same as `name`.
    pub lock: String,
    pub side: Side,
    pub kind: Kind,
    pub waiting: Waiting,
    /// Waiters have turns, among all or within a group.
    pub fifo: bool,
    /// A waiter can give up after a while.
    pub timed: bool,
    /// The size of a lock, in bytes.
    pub bytes: usize,
    /// The size of what each waiter and holder needs beside.
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

    /// With more threads than processors each hand-over waits until the scheduler happens to run
    /// the one whose turn it is, while the others spin.
    pub fn starves_oversubscribed(&self) -> bool {
        self.fifo && self.waiting == Waiting::Spins
    }
}
