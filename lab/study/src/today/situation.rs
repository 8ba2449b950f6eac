//! The machines, the locks, and the situations in which they are compared.

use syncline_sim::machine::Description;

use crate::stress::table::Shape;

/// The machines whose descriptions are built from published figures.
pub const MACHINES: [&str; 5] = ["ice-lake", "sapphire-rapids", "zen4", "zen5", "graviton4"];

/// The locks that are compared. If an algorithm has several forms, for example with timeouts or
/// with a prefetch, only the plainest one is compared. The futex is left out, since it is too good
/// in a simulation: waking a thread costs the simulated waker nothing.
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
/// The compared locks under which a waiter may starve.
pub const UNFAIR: [&str; 2] = ["tas", "ttas"];
/// The library's default lock; the rates of the other locks are divided by its rate.
pub const DEFAULT: &str = "gate";

/// The number of threads in a situation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threads {
    /// This many threads, on consecutive cores.
    Count(usize),
    /// One thread for each core of a socket.
    Socket,
    /// One thread for each core of the machine, if the machine has several sockets.
    Sockets,
}

/// The work of the threads in a situation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Threads acquire one of this many locks, chosen at random for each acquisition.
    Locks(usize),
    /// Threads use a hash table with a lock in each bucket.
    Table(Shape),
}

/// Two lists of names of locks: those advised if waiters may starve, and those advised if waiters
/// must not starve.
pub type Advice = [&'static [&'static str]; 2];

/// A situation for which the library gives advice.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The name of the situation.
    pub name: &'static str,
    /// The number of threads.
    pub threads: Threads,
    /// The work of the threads.
    pub work: Work,
    /// The locks that docs/locks.md recommends for the situation with pinned threads: if waiters
    /// may starve, and if they must not.
    pub advice: Advice,
}

/// Advice for short sections of pinned threads: if waiters may starve, and if they must not.
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

/// The situations: one lock, from no contention to the most; then many locks; then the hash table.
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
    /// The number of threads on a machine; `None` for [`Threads::Sockets`] on a machine with one
    /// socket.
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
