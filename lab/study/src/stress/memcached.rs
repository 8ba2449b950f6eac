//! A model of memcached's locks under load (SSYNC, section 6.4). `syncline record` measured which
//! sections a request of the real program goes through, and for how long (`data/memcached.json`).
//! Here threads go through the same sections with any lock. The rest of a request is just a pause,
//! on average as long as the measured rest.
//!
//! A section's accesses to its data are modelled by lines that move from holder to holder, and by
//! the measured time of the section. memcached itself does not sleep while it waits for most of its
//! mutexes: it tries again and again to acquire them.

use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use serde::Deserialize;
use syncline::lock::{RawLock, TryLock};
use syncline::memory::{Memory, Padded, Word};

use super::{Load, Outcome, Tally, outcome, rest};
use crate::world::{Body, Phase, Watch, World};

/// The measurements of the real program.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// The frequency of the measured machine, in cycles per second.
    hertz: f64,
    /// A request that sets a value.
    pub set: Request,
    /// A request that gets a value.
    pub get: Request,
}

/// The work of a request.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// Nanoseconds of processor time, including that in the kernel.
    cpu_ns: f64,
    sections: Vec<Section>,
}

/// A section of a request.
#[derive(Debug, Deserialize)]
struct Section {
    lock: Which,
    /// The average number of times that the section is entered, per request. For a section inside
    /// another one, it is the number per entry of the outer section.
    times: f64,
    /// Nanoseconds for which the lock is held each time.
    held_ns: f64,
    /// The number of lines that each holder writes.
    #[serde(default = "one")]
    lines: usize,
    /// Whether memcached itself tries again and again to acquire this lock, instead of waiting.
    #[serde(default)]
    tries: bool,
    /// The sections inside this one.
    #[serde(default)]
    inside: Vec<Section>,
}

fn one() -> usize {
    1
}

/// The lock that a section acquires.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Which {
    /// The lock with this name, which all threads share.
    Shared(String),
    /// One of this many locks, at random.
    Items(usize),
    /// A lock that no other thread acquires.
    Own,
}

/// The measurements in `data/memcached.json`.
pub static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let text = include_str!("../../data/memcached.json");
    serde_json::from_str(text).expect("a test reads it")
});

/// A lock and the lines that it protects.
struct Cell<L: RawLock> {
    lock: Padded<L>,
    data: Vec<Padded<<L::Memory as Memory>::Word>>,
}

impl<L: RawLock> Default for Cell<L> {
    fn default() -> Self {
        Cell { lock: Padded::default(), data: vec![Padded::default()] }
    }
}

/// A way to acquire a lock, with the thread's node. The flag is [`Section::tries`].
type Acquire<L> = unsafe fn(&L, &<L as RawLock>::Node, bool);

/// The locks of a server.
struct Server<L: RawLock> {
    /// The locks that all threads share, by name.
    shared: Vec<(String, Cell<L>)>,
    items: Vec<Cell<L>>,
    own: Vec<Cell<L>>,
}

impl Request {
    /// All sections, including nested ones.
    fn all(&self) -> Vec<&Section> {
        let mut all: Vec<&Section> = self.sections.iter().collect();
        let mut next = 0;
        while let Some(section) = all.get(next) {
            all.extend(&section.inside);
            next += 1;
        }
        all
    }

    /// Cycles of a request outside all sections.
    fn outside(&self) -> u64 {
        let held = self.sections.iter().map(|section| section.times * section.held_ns);
        cycles(self.cpu_ns - held.sum::<f64>())
    }

    fn server<L: RawLock>(&self, threads: usize) -> Server<L> {
        let mut server = Server { shared: Vec::new(), items: Vec::new(), own: Vec::new() };
        server.own.resize_with(threads, Cell::default);
        for section in self.all() {
            match &section.lock {
                Which::Shared(name) => {
                    let known = server.shared.iter().position(|(known, _)| known == name);
                    let at = known.unwrap_or(server.shared.len());
                    if known.is_none() {
                        server.shared.push((name.clone(), Cell::default()));
                    }
                    let data = &mut server.shared[at].1.data;
                    data.resize_with(data.len().max(section.lines), Padded::default);
                }
                Which::Items(count) if server.items.len() < *count => {
                    server.items.resize_with(*count, Cell::default);
                }
                _ => {}
            }
        }
        server
    }
}

impl Section {
    /// Cycles within this section but outside nested ones.
    fn own_cycles(&self) -> u64 {
        let inside = self.inside.iter().map(|section| section.times * section.held_ns);
        cycles(self.held_ns - inside.sum::<f64>())
    }

    /// Runs the section as many times as its field `times` says, with the sections inside it.
    fn pass<W: World, L: RawLock<Memory = W::Memory>>(
        &self,
        server: &Server<L>,
        acquire: Acquire<L>,
        thread: usize,
        chance: &mut fastrand::Rng,
    ) {
        let more = chance.f64() < self.times.fract();
        for _ in 0..self.times as u32 + u32::from(more) {
            let cell = match &self.lock {
                Which::Shared(name) => {
                    let found = server.shared.iter().find(|(known, _)| known == name);
                    found.map_or(&server.own[thread], |(_, cell)| cell)
                }
                Which::Items(count) => &server.items[chance.usize(..*count)],
                Which::Own => &server.own[thread],
            };
            let node = Padded::<L::Node>::default();
            // SAFETY: the node stays in place, and the thread that releases has acquired.
            unsafe { acquire(&cell.lock, &node, self.tries) };
            for line in cell.data.iter().take(self.lines) {
                // Relaxed: the lock orders the accesses.
                line.store(line.load(Relaxed).wrapping_add(1), Relaxed);
            }
            W::delay(self.own_cycles());
            for section in &self.inside {
                section.pass::<W, L>(server, acquire, thread, chance);
            }
            // SAFETY: as above.
            unsafe { cell.lock.release(&node) };
        }
    }
}

/// Converts nanoseconds to cycles of the measured machine. Other machines are assumed to need the
/// same number of cycles.
fn cycles(ns: f64) -> u64 {
    (ns.max(0.0) * RECORDED.hertz / 1e9) as u64
}

/// Measures threads that do nothing but handle requests, with another lock in place of each mutex.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    request: &Request,
    load: &Load,
) -> Outcome {
    // SAFETY: our caller, `Section::pass`, keeps the node in place and then releases.
    measure::<W, L>(world, request, load, |lock, node, _| unsafe { lock.acquire(node) })
}

/// Measures threads that handle requests and wait for locks as memcached does. For sections with
/// `tries`, the threads try again and again to acquire the lock.
pub fn run_with_own_waiting<W: World, L: TryLock<Memory = W::Memory>>(
    world: &W,
    request: &Request,
    load: &Load,
) -> Outcome {
    measure::<W, L>(world, request, load, |lock, node, tries| {
        // SAFETY: our caller, `Section::pass`, keeps the node in place and then releases.
        while tries && !unsafe { lock.try_acquire(node) } {}
        if !tries {
            // SAFETY: our caller, `Section::pass`, keeps the node in place and then releases.
            unsafe { lock.acquire(node) };
        }
    })
}

fn measure<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    request: &Request,
    load: &Load,
    acquire: Acquire<L>,
) -> Outcome {
    let places = world.places(load.threads, load.placement);
    let server = request.server::<L>(load.threads);
    let outside = request.outside();
    let mut tallies = vec![Tally::default(); load.threads];
    let threads = places.iter().zip(&mut tallies).enumerate().map(|(number, (&place, tally))| {
        let server = &server;
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            let mut counted = Tally::default();
            loop {
                rest::<W>(&mut chance, outside);
                let sections = &request.sections;
                for section in sections {
                    section.pass::<W, L>(server, acquire, number, &mut chance);
                }
                match watch.phase() {
                    Phase::WarmUp => {}
                    Phase::Measured => counted.note(true, 0),
                    Phase::Over => break,
                }
            }
            *tally = counted;
        });
        (place, body)
    });
    let seconds = world.run(&load.course_of_all(), threads.collect());
    outcome(&tallies, seconds, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_takes_global_locks_and_a_get_takes_none() {
        let shared = |request: &Request| {
            let all = request.all();
            all.iter().filter(|section| matches!(section.lock, Which::Shared(_))).count()
        };
        assert_eq!((shared(&RECORDED.set), shared(&RECORDED.get)), (8, 0));
        let outside = RECORDED.set.outside() as f64 / RECORDED.hertz * 1e9;
        // The request's sections take 2 * 27 + 72 + 373 + 362 + 19 of 10,200 ns.
        assert!((outside - 9320.0).abs() < 1.0, "{outside}");
        let item = &RECORDED.set.sections[3];
        assert_eq!(item.own_cycles(), ((362.0 - 193.0 - 84.0 - 15.0) * 4.3) as u64);
    }
}
