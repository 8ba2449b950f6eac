//! Locks of MPI windows on the SCC: the cost of a pair of lock and unlock, and how much waiting
//! readers slow down the writer that holds the lock.
//!
//! Each process has a core. Its part of the window and the words of that part's lock are at the
//! core's memory controller; the window's global word is at the first core's controller.
//!
//! Source: Christgau and Schnor, "Design and evaluation of passive target synchronization" (the
//! paper on MPI's passive target), sections 6.2 to 6.4.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use fastrand::Rng;
use syncline::lock::{RawLock, RawSharedLock, WritersFirst};
use syncline::memory::Padded;
use syncline::wait::Spin;
use syncline::window::{BestEffort, Global, Part};
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::uncached::Plain;
use syncline_sim::{Machine, Simulated};

/// A window's locks, one for each process.
pub trait Locks {
    /// Creates locks for this many processes.
    fn new(processes: usize) -> Self
    where
        Self: Sized;
    /// Calls `home` with each range of the locks' memory, and with the number of the process at
    /// whose memory controller the range is.
    fn homes(&self, home: &mut dyn FnMut(Range<usize>, usize));
    /// Locks the part of the process `target` for the process `me`, exclusively or shared.
    fn lock(&self, me: usize, target: usize, exclusive: bool);
    /// Unlocks the part of the process `target`. `exclusive` must be the mode in which it was
    /// locked.
    fn unlock(&self, me: usize, target: usize, exclusive: bool);
}

fn span<T>(value: &T) -> Range<usize> {
    let at = std::ptr::from_ref(value).addr();
    at..at + size_of::<T>()
}

/// The scheme of Gerstenberger, Besta and Hoefler (GBH) with back-off: a global word, and a word
/// for each process.
///
/// Its variant without back-off is not included. Simulated time has no randomness, so four cores
/// that retry in the same rhythm keep a fifth core for ever from the register that guards the word.
pub struct Gbh {
    global: Padded<Global<Spin, Simulated>>,
    parts: Vec<Padded<BestEffort<true, Spin, Simulated>>>,
}

impl Gbh {
    fn part(&self, target: usize) -> Part<'_, Spin, BestEffort<true, Spin, Simulated>> {
        Part { global: &self.global, lock: &self.parts[target] }
    }
}

impl Locks for Gbh {
    fn new(processes: usize) -> Self {
        let parts = (0..processes).map(|_| Padded::default()).collect();
        Gbh { global: Padded::default(), parts }
    }

    fn homes(&self, home: &mut dyn FnMut(Range<usize>, usize)) {
        home(span(&self.global), 0);
        for (process, part) in self.parts.iter().enumerate() {
            home(span(part), process);
        }
    }

    fn lock(&self, _: usize, target: usize, exclusive: bool) {
        // SAFETY: each process holds one part at a time, and unlocks it in the mode in which it
        // locked it.
        unsafe {
            match exclusive {
                true => self.part(target).acquire(&()),
                false => self.part(target).acquire_shared(&()),
            }
        }
    }

    fn unlock(&self, _: usize, target: usize, exclusive: bool) {
        // SAFETY: as above.
        unsafe {
            match exclusive {
                true => self.part(target).release(&()),
                false => self.part(target).release_shared(&()),
            }
        }
    }
}

type Queue = WritersFirst<Spin, Simulated>;

/// The paper's MCS lock with precedence for writers. As in the paper, there is no global word.
pub struct Queues {
    parts: Vec<Padded<Queue>>,
    alone: Vec<Padded<<Queue as RawLock>::Node>>,
    shared: Vec<Padded<<Queue as RawSharedLock>::SharedNode>>,
}

impl Locks for Queues {
    fn new(processes: usize) -> Self {
        Queues {
            parts: (0..processes).map(|_| Padded::default()).collect(),
            alone: (0..processes).map(|_| Padded::default()).collect(),
            shared: (0..processes).map(|_| Padded::default()).collect(),
        }
    }

    fn homes(&self, home: &mut dyn FnMut(Range<usize>, usize)) {
        for process in 0..self.parts.len() {
            home(span(&self.parts[process]), process);
            home(span(&self.alone[process]), process);
            home(span(&self.shared[process]), process);
        }
    }

    fn lock(&self, me: usize, target: usize, exclusive: bool) {
        // SAFETY: each process holds one part at a time, with its own node, and unlocks it in the
        // mode in which it locked it.
        unsafe {
            match exclusive {
                true => self.parts[target].acquire(&self.alone[me]),
                false => self.parts[target].acquire_shared(&self.shared[me]),
            }
        }
    }

    fn unlock(&self, me: usize, target: usize, exclusive: bool) {
        // SAFETY: as above.
        unsafe {
            match exclusive {
                true => self.parts[target].release(&self.alone[me]),
                false => self.parts[target].release_shared(&self.shared[me]),
            }
        }
    }
}

/// The scheme of a window's locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The scheme with back-off, [`Gbh`].
    BackOff,
    /// The queue lock, [`Queues`].
    Queue,
}

impl Scheme {
    /// All schemes, with the paper's names.
    pub const ALL: [(Scheme, &str); 2] =
        [(Scheme::BackOff, "GBH back-off"), (Scheme::Queue, "MCS-WP")];

    fn locks(self, processes: usize) -> Box<dyn Locks> {
        match self {
            Scheme::BackOff => Box::new(Gbh::new(processes)),
            Scheme::Queue => Box::new(Queues::new(processes)),
        }
    }
}

/// An engine in which each process's memory is at its controller.
fn engine<'a>(machine: &'a Machine, locks: &dyn Locks, seed: u64) -> Engine<'a> {
    let mut engine = Engine::new(machine, seed);
    locks.homes(&mut |range, process| {
        engine.home(range, machine.node_of(machine.cache_of(process)));
    });
    engine
}

/// The cycles of all pairs of lock and unlock by all processes, in ascending order. Each process
/// makes `count` pairs, each on a random part. A pair is exclusive with the probability
/// `exclusive`.
pub fn pairs(
    machine: &Machine,
    scheme: Scheme,
    processes: usize,
    exclusive: f64,
    count: usize,
    seed: u64,
) -> Vec<u64> {
    let locks = scheme.locks(processes);
    let taken = RefCell::new(Vec::with_capacity(processes * count));
    let threads = (0..processes).map(|me| {
        let (locks, taken) = (&*locks, &taken);
        let mut rng = Rng::with_seed(seed << 8 | me as u64);
        let body: Body<'_> = Box::new(move || {
            for _ in 0..count {
                let (target, alone) = (rng.usize(..processes), rng.f64() < exclusive);
                let began = engine::now();
                locks.lock(me, target, alone);
                locks.unlock(me, target, alone);
                taken.borrow_mut().push(engine::now() - began);
            }
        });
        (me, body)
    });
    engine(machine, &*locks, seed).run(threads.collect());
    let mut taken = taken.into_inner();
    taken.sort_unstable();
    taken
}

/// The median of the cycles in which the first core writes `bytes` bytes to its part and unlocks
/// it, while the cores `readers` wait for the part.
pub fn write_and_unlock(
    machine: &Machine,
    scheme: Scheme,
    readers: &[usize],
    bytes: usize,
    rounds: usize,
    seed: u64,
) -> u64 {
    const POLL: u64 = 50;
    /// Cycles after which all readers are waiting.
    const COMING: u64 = 50_000;
    let locks = scheme.locks(machine.threads());
    let part: Vec<Plain> = (0..bytes / 4).map(|_| Plain::default()).collect();
    let (round, done, taken) = (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()));
    let mut engine = engine(machine, &*locks, seed);
    for word in &part {
        engine.home(span(word), machine.node_of(machine.cache_of(0)));
    }
    let mut threads: Vec<(usize, Body<'_>)> = Vec::new();
    for &reader in readers {
        let (locks, round, done) = (&*locks, &round, &done);
        threads.push((
            reader,
            Box::new(move || {
                for mine in 1..=rounds {
                    while round.get() < mine {
                        engine::delay(POLL);
                    }
                    locks.lock(reader, 0, false);
                    locks.unlock(reader, 0, false);
                    done.set(done.get() + 1);
                }
            }),
        ));
    }
    let (locks, round, done, times) = (&*locks, &round, &done, &taken);
    threads.push((
        0,
        Box::new(move || {
            for mine in 1..=rounds {
                locks.lock(0, 0, true);
                round.set(mine);
                engine::delay(COMING);
                let began = engine::now();
                part.iter().for_each(|word| word.store(mine as u32));
                locks.unlock(0, 0, true);
                times.borrow_mut().push(engine::now() - began);
                while done.get() < mine * readers.len() {
                    engine::delay(POLL);
                }
            }
        }),
    ));
    engine.run(threads);
    let mut taken = taken.into_inner();
    taken.sort_unstable();
    taken[taken.len() / 2]
}
