//! The machines, the locks, and the situations in which they are compared.

use syncline_sim::machine::Description;

use crate::stress::table::Shape;

/// The machines that are built from published figures.
pub const MACHINES: [&str; 5] = ["ice-lake", "sapphire-rapids", "zen4", "zen5", "graviton4"];

/// The locks that are compared. Of an algorithm with several forms, the one without timeouts is
/// compared. The futex is left out, since it is too good here: waking a thread costs the simulated
/// waker nothing.
pub const LOCKS: [&str; 11] = [
    "gate",
    "tas",
    "ttas",
    "ticket",
    "anderson",
    "mcs",
    "clh",
    "hticket",
    "cohort_mcs",
    "hclh",
    "hmcs",
];
/// The compared locks that may starve a waiter.
pub const UNFAIR: [&str; 2] = ["tas", "ttas"];
/// The library's default, by which the other locks' rates are divided.
pub const DEFAULT: &str = "gate";

/// The number of threads in a situation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threads {
    /// This many, on consecutive cores.
    Count(usize),
    /// One for each core of a socket.
    Socket,
    /// One for each core of the machine, if it has several sockets.
    Sockets,
}

/// What the threads of a situation do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Each acquisition takes one of this many locks, chosen at random.
    Locks(usize),
    /// They use a hash table with a lock in each bucket.
    Table(Shape),
}

/// Two lists of names of locks: for waiters that may starve, and for waiters that may not.
pub type Advice = [&'static [&'static str]; 2];

/// A situation that the library's advice is about.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The name of the situation.
    pub name: &'static str,
    /// The number of threads.
    pub threads: Threads,
    /// What the threads do.
    pub work: Work,
    /// The locks that docs/locks.md advises for the situation with pinned threads: if waiters may
    /// starve, and if they may not.
    pub advice: Advice,
}

/// Advice for short sections of pinned threads: if waiters may starve, and if they may not.
const SHORT: [&[&str]; 2] = [&["ttas", "ticket"], &["ticket"]];
/// Advice for short sections with many waiters.
const MANY: [&[&str]; 2] = [&["ttas", "ticket"], &["mcs", "clh"]];
/// Advice for locks that all sockets contend for.
const FAR: [&[&str]; 2] = [&["hticket", "cohort_mcs", "hmcs"]; 2];
/// Advice for very many locks, each rarely contended.
const RARE: [&[&str]; 2] = [&["ttas"], &["ticket"]];
/// The table of SSYNC's Figure 11 with low contention.
const TABLE: Shape = Shape { buckets: 512, keys: 12 };

const fn of(name: &'static str, threads: Threads, work: Work, advice: Advice) -> Situation {
    Situation { name, threads, work, advice }
}

/// The situations, from no contention to most, and then to many locks.
pub const SITUATIONS: [Situation; 8] = [
    of("one lock, 1 thread", Threads::Count(1), Work::Locks(1), SHORT),
    of("one lock, 2 threads", Threads::Count(2), Work::Locks(1), SHORT),
    of("one lock, 8 threads", Threads::Count(8), Work::Locks(1), MANY),
    of("one lock, a socket", Threads::Socket, Work::Locks(1), MANY),
    of("one lock, all sockets", Threads::Sockets, Work::Locks(1), FAR),
    of("16 locks, all sockets", Threads::Sockets, Work::Locks(16), FAR),
    of("512 locks, a socket", Threads::Socket, Work::Locks(512), RARE),
    of("hash table, a socket", Threads::Socket, Work::Table(TABLE), RARE),
];

impl Threads {
    /// The number of threads on a machine; `None` if it would equal that for a socket.
    pub fn on(self, d: &Description) -> Option<usize> {
        let first = d.sockets.iter().filter(|&&socket| socket == 0).count();
        let of_socket = if d.sockets.is_empty() { 1 } else { first };
        match self {
            Threads::Count(count) => Some(count),
            Threads::Socket => Some(of_socket * d.caches_per_node),
            Threads::Sockets => (of_socket < d.nodes).then_some(d.nodes * d.caches_per_node),
        }
    }
}
