//! The loads: what the threads do with the locks, and which locks take part.

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
    /// The number of locks; a thread takes a random one of them.
    pub locks: usize,
    /// How long a lock is held in addition to counting, in nanoseconds.
    pub section: u32,
    /// The average time that a thread spends outside, evenly distributed from 0 to twice as much.
    pub outside: u32,
    /// How many of 1024 acquisitions are a writer's; for locks without readers, all are.
    pub writes: u32,
    pub for_whom: For,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Threads {
    /// Two threads, each on a processor of its own.
    Two,
    /// This many threads for each processor, where the scheduler puts them.
    PerProcessor(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub enum For {
    /// Locks that one thread holds at a time.
    Exclusive,
    /// Also the writers' sides of locks that can be shared.
    All,
    /// Locks that can be shared.
    Shared,
    /// The recommended locks and those that they are compared with: few enough for a precise
    /// comparison even if rounds differ much.
    Recommended,
}

pub const TWO_THREADS: &str = "Two threads, one lock, 100 ns outside";
pub const OVERSUBSCRIBED_8: &str = "8 threads for each processor, one lock, 100 ns outside";
const OVERSUBSCRIBED_32: &str = "32 threads for each processor, one lock, 100 ns outside";

/// The numbers of threads, more than there are processors, with which recommended locks are judged.
pub const OVERSUBSCRIBED: [Threads; 2] = [Threads::PerProcessor(8), Threads::PerProcessor(32)];
/// The sections with which recommended locks are judged: how long the lock is held in addition to
/// counting, and how long a thread stays outside, as in [`Load`].
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

/// One lock, with sections of all lengths.
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

    /// The length of a slot. With more threads than processors it must contain several time slices.
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

    /// Whether the load is one of those by which recommended locks are judged with this many
    /// threads.
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

    /// Whether the lock takes part in only one slot, because after the slot it takes seconds until
    /// all of its waiters have had their turns.
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
