//! Which lock to take on a machine of today: the library's locks on the machines that are built
//! from published figures, in a few situations, beside the library's advice (docs/locks.md); and
//! ratios of two locks that others have measured on such machines, beside the simulated ones.

mod published;
mod report;

use syncline_sim::Machine;
use syncline_sim::machine::Description;

pub use published::{PUBLISHED, Ratio, simulated};
pub use report::{MARKS, Measured, markdown};

use crate::figures::load;
use crate::lab::{Effort, Lab};
use crate::stress::contenders::Contender;
use crate::stress::table::Shape;
use crate::stress::{Homes, Load, Pause};
use crate::world::{Elsewhere, World};

/// The machines that are built from published figures.
pub const MACHINES: [&str; 5] = ["ice-lake", "sapphire-rapids", "zen4", "zen5", "graviton4"];

/// The locks that are compared: of the forms of one algorithm, the one that can't give up. Without
/// the futex, which is too good here: waking a thread costs the simulated waker nothing.
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
/// Those of them under which a waiter may starve.
pub const UNFAIR: [&str; 2] = ["tas", "ttas"];
/// The library's default, which the others are divided by.
pub const DEFAULT: &str = "gate";

/// How many threads there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threads {
    /// This many, on cores that follow each other.
    Count(usize),
    /// One for each core of a socket.
    Socket,
    /// One for each core of the machine, where it has several sockets.
    Sockets,
}

/// What the threads do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// They take one of this many locks.
    Locks(usize),
    /// They use a hash table with a lock in each bucket.
    Table(Shape),
}

/// Names of locks: if waiters may starve, and if they may not.
pub type Advice = [&'static [&'static str]; 2];

/// A situation that the library's advice is about.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What to call it.
    pub name: &'static str,
    /// How many threads there are.
    pub threads: Threads,
    /// What they do.
    pub work: Work,
    /// The locks that docs/locks.md advises for it, for pinned threads: if waiters may starve, and
    /// if they may not.
    pub advice: Advice,
}

/// Advice for short sections of pinned threads, without and with an order.
const SHORT: [&[&str]; 2] = [&["ttas", "ticket"], &["ticket"]];
/// The same with many waiters.
const MANY: [&[&str]; 2] = [&["ttas", "ticket"], &["mcs", "clh"]];
/// Contended by all sockets.
const FAR: [&[&str]; 2] = [&["hticket", "cohort_mcs", "hmcs"]; 2];
/// Very many locks, each rarely contended.
const RARE: [&[&str]; 2] = [&["ttas"], &["ticket"]];
/// The one of figure 11 with low contention.
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
    /// How many that is on a machine; `None` if it would be no other than for a socket.
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

/// Operations a second of a lock, seed by seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// The lock.
    pub lock: &'static str,
    /// By the number of the seed.
    pub per_second: Vec<f64>,
}

impl Rate {
    /// The average of the seeds.
    pub fn mean(&self) -> f64 {
        self.per_second.iter().sum::<f64>() / self.per_second.len() as f64
    }

    /// How many times as fast as another lock: least, on average, and most of the seeds.
    pub fn over(&self, other: &Rate) -> [f64; 3] {
        let ratios = self.per_second.iter().zip(&other.per_second).map(|(a, b)| a / b);
        let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(least, most), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        [least, self.mean() / other.mean(), most]
    }
}

/// Seeds of a full measurement, and of a quick one.
const SEEDS: (u64, u64) = (5, 2);

/// Measures all locks in a situation; `None` if the machine does not have it.
pub fn rates(lab: &Lab, machine: &Machine, situation: &Situation) -> Option<Vec<Rate>> {
    let world = &Elsewhere(machine);
    let threads = situation.threads.on(&machine.description)?;
    let contenders = Contender::named(&LOCKS);
    let seeds = if lab.effort == Effort::Full { SEEDS.0 } else { SEEDS.1 };
    // Each seed is a point of its own, so none is averaged away.
    let each = Lab { effort: lab.effort.min(Effort::Quick), ..*lab };
    let points: Vec<_> =
        contenders.iter().flat_map(|c| (0..seeds).map(move |seed| (c, seed))).collect();
    let values = each.measure::<Elsewhere<'_>, _>(&points, |(contender, number), seed| {
        run(&each, world, contender, threads, situation.work, seed + number)
    });
    let found = values.chunks(seeds as usize).zip(&contenders);
    Some(found.map(|(of, c)| Rate { lock: c.name, per_second: of.to_vec() }).collect())
}

fn run<W: World>(
    lab: &Lab,
    world: &W,
    contender: &Contender<W>,
    threads: usize,
    work: Work,
    seed: u64,
) -> f64 {
    match work {
        Work::Locks(locks) => {
            let load = load::<W>(lab, threads, locks, seed);
            (contender.throughput)(world, &load).per_second
        }
        Work::Table(shape) => {
            let load = load::<W>(lab, threads, 1, seed);
            let load = Load { pause: Pause::None, homes: Homes::Machine, ..load };
            (contender.table)(world, shape, &load).per_second
        }
    }
}
