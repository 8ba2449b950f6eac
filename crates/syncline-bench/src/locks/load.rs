//! What the threads do with the locks, and who takes part.

use std::time::Duration;

use super::contender::{Contender, Waiting};
use super::processors;
use crate::Size;

/// A load on one lock or more.
pub struct Load {
    pub title: &'static str,
    pub threads: Threads,
    /// How many locks; a thread takes one of them at random.
    pub locks: usize,
    /// How long a lock is held beside counting, in nanoseconds.
    pub section: u32,
    /// How long a thread stays away on average, evenly distributed from 0 to twice as much.
    pub outside: u32,
    /// How many of 1024 acquisitions are a writer's; all of those of a lock without readers.
    pub writes: u32,
    pub for_whom: For,
}

#[derive(Clone, Copy)]
pub enum Threads {
    /// Two, each on a processor of its own.
    Two,
    /// So many for each processor, where the scheduler puts them.
    PerProcessor(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub enum For {
    /// Locks that one thread holds at a time.
    Exclusive,
    /// In addition the writers' sides of locks that can be shared.
    All,
    /// Locks that can be shared.
    Shared,
}

pub const TWO_THREADS: &str = "Two threads, one lock, 100 ns outside";
pub const OVERSUBSCRIBED_8: &str = "8 threads for each processor, one lock, 100 ns outside";
pub const OVERSUBSCRIBED_32: &str = "32 threads for each processor, one lock, 100 ns outside";

pub fn two_threads() -> Load {
    Load {
        title: TWO_THREADS,
        threads: Threads::Two,
        locks: 1,
        section: 0,
        outside: 100,
        writes: 1024,
        for_whom: For::Exclusive,
    }
}

pub fn all() -> Vec<Load> {
    let oversubscribed = |title, threads, for_whom| Load {
        title,
        threads: Threads::PerProcessor(threads),
        for_whom,
        ..two_threads()
    };
    let readers = |title, writes| Load { title, writes, for_whom: For::Shared, ..two_threads() };
    vec![
        two_threads(),
        Load { title: "Two threads, one lock, nothing outside", outside: 0, ..two_threads() },
        Load { title: "Two threads, one lock, held for 100 ns", section: 100, ..two_threads() },
        Load { title: "Two threads, one lock, held for 1000 ns", section: 1000, ..two_threads() },
        Load { title: "Two threads, 512 locks", locks: 512, outside: 0, ..two_threads() },
        oversubscribed(OVERSUBSCRIBED_8, 8, For::All),
        oversubscribed(OVERSUBSCRIBED_32, 32, For::Exclusive),
        readers("Two threads, readers only", 0),
        readers("Two threads, 19 of 20 accesses read", 51),
        readers("Two threads, every other access reads", 512),
        Load {
            writes: 51,
            ..oversubscribed("8 threads for each processor, 19 of 20 accesses read", 8, For::Shared)
        },
    ]
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

    /// The length of a slot. Oversubscribed, it has to hold several time slices.
    pub fn slot(&self, size: Size) -> Duration {
        let milliseconds = match self.threads {
            Threads::Two => size.pick(1, 8, 50),
            Threads::PerProcessor(0..=8) => size.pick(1, 30, 100),
            Threads::PerProcessor(_) => size.pick(1, 40, 200),
        };
        Duration::from_millis(milliseconds)
    }

    /// Whether it can be told how the lock does, in a slot that is repeated.
    pub fn suits(&self, contender: &Contender, size: Size) -> bool {
        let known = match self.for_whom {
            For::Exclusive => !contender.kind.is_shared(),
            For::All => true,
            For::Shared => contender.kind.is_shared(),
        };
        let parks = contender.waiting == Waiting::Parks;
        let brief = !matches!(size, Size::Full);
        let common = self.title == TWO_THREADS || self.locks > 1 || self.for_whom == For::Shared;
        known
            && (parks || !brief || common && !self.is_oversubscribed())
            && !self.starves(contender)
    }

    /// Whether the lock takes part for one slot only: when that is over, it takes seconds until
    /// all of its waiters have had their turn.
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
