//! The loads: the work of the threads with the locks, and the locks that take part.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use syncline::lock::Waiting;

use super::contender::Contender;
use super::{ours, peers, processors};
use crate::size::Size;

/// A load on one lock or more.
pub struct Load {
    pub title: Cow<'static, str>,
    pub threads: Threads,
    /// The number of locks; for each acquisition, a thread chooses one of them at random.
    pub locks: usize,
    /// The time for which a lock is held in addition to counting, in nanoseconds.
    pub section: u32,
    /// The average time that a thread spends outside, in nanoseconds. The times are evenly
    /// distributed from 0 to twice the average.
    pub outside: u32,
    /// How many of 1024 acquisitions are writers'. For locks without readers, all acquisitions are.
    pub writes: u32,
    pub for_whom: For,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Threads {
    /// Two threads, each on a processor of its own.
    Two,
    /// This many threads for each processor, on processors that the scheduler chooses.
    PerProcessor(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub enum For {
    /// Locks that only one thread can hold at a time.
    Exclusive,
    /// All locks; those that can be shared take part as writers.
    All,
    /// Locks that can be shared.
    Shared,
    /// The recommended locks, and those with which they are compared. They are few enough for a
    /// precise comparison even if rounds differ much.
    Recommended,
}

pub const TWO_THREADS: &str = "Two threads, one lock, 100 ns outside";
pub const OVERSUBSCRIBED_8: &str = "8 threads for each processor, one lock, 100 ns outside";
const OVERSUBSCRIBED_32: &str = "32 threads for each processor, one lock, 100 ns outside";

/// The numbers of threads, all greater than the number of processors, with which recommended locks
/// are judged.
pub const OVERSUBSCRIBED: [Threads; 2] = [Threads::PerProcessor(8), Threads::PerProcessor(32)];
/// The sections with which recommended locks are judged: the time for which the lock is held in
/// addition to counting, and the time that a thread spends outside, as in [`Load`].
const LENGTHS: [(&str, u32, u32); 4] = [
    ("100 ns outside", 0, 100),
    ("nothing outside", 0, 0),
    ("held for 100 ns", 100, 100),
    ("held for 1000 ns", 1000, 100),
];

pub fn two_threads() -> Load {
    Load {
        title: TWO_THREADS.into(),
        threads: Threads::Two,
        locks: 1,
        section: 0,
        outside: 100,
        writes: 1024,
        for_whom: For::Exclusive,
    }
}

pub fn all(size: Size) -> Vec<Load> {
    let oversubscribed = |title: &'static str, threads, for_whom| Load {
        title: title.into(),
        threads: Threads::PerProcessor(threads),
        for_whom,
        ..two_threads()
    };
    let two = |title: &'static str| Load { title: title.into(), ..two_threads() };
    let readers = |title, writes| Load { writes, for_whom: For::Shared, ..two(title) };
    let mut all = Vec::from_iter(of_all_lengths(Threads::Two, "one lock", For::Exclusive));
    all.extend([
        Load { locks: 512, outside: 0, ..two("Two threads, 512 locks") },
        oversubscribed(OVERSUBSCRIBED_8, 8, For::All),
    ]);
    if !matches!(size, Size::Quick) {
        all.push(oversubscribed(OVERSUBSCRIBED_32, 32, For::Exclusive));
    }
    for threads in OVERSUBSCRIBED {
        all.extend(of_all_lengths(threads, "recommended", For::Recommended));
    }
    all.extend([
        readers("Two threads, readers only", 0),
        readers("Two threads, 19 of 20 accesses read", 51),
        readers("Two threads, every other access reads", 512),
        Load {
            writes: 51,
            ..oversubscribed("8 threads for each processor, 19 of 20 accesses read", 8, For::Shared)
        },
    ]);
    all
}

/// Loads on one lock, one for each element of [`LENGTHS`].
fn of_all_lengths(threads: Threads, what: &str, for_whom: For) -> impl Iterator<Item = Load> {
    LENGTHS.into_iter().map(move |(length, section, outside)| Load {
        title: format!("{threads}, {what}, {length}").into(),
        threads,
        section,
        outside,
        for_whom,
        ..two_threads()
    })
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Threads::Two => f.write_str("Two threads"),
            Threads::PerProcessor(threads) => write!(f, "{threads} threads for each processor"),
        }
    }
}

impl Load {
    pub fn threads(&self) -> usize {
        match self.threads {
            Threads::Two => 2,
            Threads::PerProcessor(threads) => threads * processors::count(),
        }
    }

    pub fn pinned(&self) -> bool {
        matches!(self.threads, Threads::Two)
    }

    fn is_oversubscribed(&self) -> bool {
        !self.pinned()
    }

    /// The length of a slot. If there are more threads than processors, a slot must contain several
    /// time slices.
    pub fn slot(&self, size: Size) -> Duration {
        let milliseconds = match self.threads {
            _ if self.for_whom == For::Recommended => size.pick(1, 40, 500),
            Threads::Two => size.pick(1, 8, 50),
            Threads::PerProcessor(0..=8) => size.pick(1, 24, 100),
            Threads::PerProcessor(_) => size.pick(1, 40, 200),
        };
        Duration::from_millis(milliseconds)
    }

    /// The number of slots that each lock gets.
    pub fn rounds(&self, size: Size) -> usize {
        let full = if self.for_whom == For::Recommended { 13 } else { 11 };
        size.pick(1, 5, full)
    }

    /// Whether recommended locks are judged by this load with this kind of threads.
    pub fn judges(&self, threads: Threads) -> bool {
        let for_whom = if threads == Threads::Two { For::Exclusive } else { For::Recommended };
        self.threads == threads && self.locks == 1 && self.for_whom == for_whom
    }

    /// Whether a lock takes part in the load's repeated slots.
    pub fn suits(&self, contender: &Contender, size: Size) -> bool {
        let known = match self.for_whom {
            For::Exclusive => !contender.kind.is_shared(),
            For::All => true,
            For::Shared => contender.kind.is_shared(),
            For::Recommended => {
                let names = [ours::RECOMMENDED, peers::references(false)];
                names.iter().any(|names| names.contains(&&*contender.name))
            }
        };
        let parks = contender.waiting == Waiting::Parks;
        let brief = !matches!(size, Size::Full);
        let common = self.title == TWO_THREADS || self.locks > 1 || self.for_whom == For::Shared;
        known
            && (parks || !brief || common && !self.is_oversubscribed())
            && !self.starves(contender)
    }

    /// Whether the lock takes part in only one slot of this load. Only a full measurement has such
    /// locks. After the slot, it takes seconds until all their waiters have had their turns.
    pub fn shows_once(&self, contender: &Contender, size: Size) -> bool {
        matches!(size, Size::Full)
            && self.for_whom == For::Exclusive
            && self.starves(contender)
            && !contender.kind.is_shared()
    }

    fn starves(&self, contender: &Contender) -> bool {
        self.is_oversubscribed() && contender.starves_oversubscribed()
    }
}
