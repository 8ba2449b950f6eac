//! Ratios of throughputs that others have measured on today's machines or similar ones.

use syncline_sim::Machine;

use crate::figures::load;
use crate::lab::Lab;
use crate::stress::contenders::Contender;
use crate::stress::{Load, Pause};
use crate::world::Elsewhere;

/// A ratio of two throughputs. In both measurements, threads do nothing outside their critical
/// sections.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// The publication, and the machine that it measured.
    pub source: &'static str,
    /// The throughputs that the ratio compares, in the source's terms.
    pub what: &'static str,
    /// The most similar simulated machine.
    pub machine: &'static str,
    /// The number of locks; for each acquisition, a thread chooses one of them at random.
    pub locks: usize,
    /// The library's lock that is most similar to the dividend's lock, and the dividend's number of
    /// threads.
    pub first: (&'static str, usize),
    /// The library's lock that is most similar to the divisor's lock, and the divisor's number of
    /// threads.
    pub second: (&'static str, usize),
    /// The published ratio.
    pub published: f64,
}

impl Ratio {
    /// Whether a simulated ratio agrees with the published one: the quotient of the two is from 2/3
    /// to 1.5. Two implementations of one kind of lock may differ by such a factor.
    pub fn holds(&self, simulated: f64) -> bool {
        let off = simulated / self.published;
        (1.0 / 1.5..=1.5).contains(&off)
    }
}

const ZEN: &str = "ordo-one/synchronization-benchmarks, ContentionScaling, EPYC 9454P";
const SAPPHIRE: &str =
    "ordo-one/synchronization-benchmarks, ContentionScaling, two Xeon Platinum 8488C";
const BROADWELL: &str = "tudordavid/libslock, issue 6, Xeon E5-2650 v4";

const fn zen(
    what: &'static str,
    first: (&'static str, usize),
    second: (&'static str, usize),
    published: f64,
) -> Ratio {
    Ratio { source: ZEN, what, machine: "zen4", locks: 1, first, second, published }
}

const fn xeon(
    source: &'static str,
    machine: &'static str,
    what: &'static str,
    first: (&'static str, usize),
    second: (&'static str, usize),
    published: f64,
) -> Ratio {
    Ratio { source, what, machine, locks: 1, first, second, published }
}

const SPINS: &str = "OptimalMutex over Rust's mutex";
const GROWS: &str = "OptimalMutex, several threads over one";
const GLIBC: &str = "glibc's mutex, several threads over one";
const RUST: &str = "Rust's mutex, several threads over one";

/// All published ratios that we have found. If the source gives times, the ratio is inverted.
pub const PUBLISHED: [Ratio; 20] = [
    zen(RUST, ("futex", 2), ("futex", 1), 1180.0 / 4037.0),
    zen(RUST, ("futex", 4), ("futex", 1), 1180.0 / 4944.0),
    zen(RUST, ("futex", 8), ("futex", 1), 1180.0 / 8454.0),
    zen(GLIBC, ("futex", 2), ("futex", 1), 1205.0 / 2298.0),
    zen(GLIBC, ("futex", 8), ("futex", 1), 1205.0 / 7283.0),
    zen(GROWS, ("ttas", 2), ("ttas", 1), 1063.0 / 1240.0),
    zen(GROWS, ("ttas", 8), ("ttas", 1), 1063.0 / 3215.0),
    zen(SPINS, ("ttas", 2), ("futex", 2), 4037.0 / 1240.0),
    zen(SPINS, ("ttas", 4), ("futex", 4), 4944.0 / 1519.0),
    zen(SPINS, ("ttas", 8), ("futex", 8), 8454.0 / 3215.0),
    xeon(SAPPHIRE, "sapphire-rapids", GROWS, ("ttas", 2), ("ttas", 1), 1106.0 / 2451.0),
    xeon(SAPPHIRE, "sapphire-rapids", GROWS, ("ttas", 4), ("ttas", 1), 1106.0 / 8651.0),
    xeon(SAPPHIRE, "sapphire-rapids", GROWS, ("ttas", 8), ("ttas", 1), 1106.0 / 18_563.0),
    xeon(BROADWELL, "ice-lake", "ticket over tas", ("ticket", 1), ("tas", 1), 55.3 / 66.4),
    xeon(BROADWELL, "ice-lake", "mcs over tas", ("mcs", 1), ("tas", 1), 44.2 / 66.4),
    xeon(BROADWELL, "ice-lake", "clh over tas", ("clh", 1), ("tas", 1), 58.6 / 66.4),
    xeon(BROADWELL, "ice-lake", "clh, two threads over one", ("clh", 2), ("clh", 1), 5.0 / 58.6),
    xeon(
        "FD.io VPP, refactoring of clib_spinlock_t (2019), a Xeon",
        "ice-lake",
        "test-and-test-and-set over test-and-set",
        ("ttas", 12),
        ("tas", 12),
        7.456 / 5.640,
    ),
    xeon(
        "FD.io VPP, refactoring of clib_spinlock_t (2019), ThunderX2",
        "graviton4",
        "test-and-test-and-set over test-and-set",
        ("ttas", 12),
        ("tas", 12),
        9.615 / 7.471,
    ),
    Ratio {
        source: "Amanieu/parking_lot, issue 437, two EPYC 7502",
        what: "a spinlock over Rust's mutex",
        machine: "zen4",
        locks: 2,
        first: ("ttas", 32),
        second: ("futex", 32),
        published: 24.5 / 32.5,
    },
];

/// The simulated ratio of the throughputs.
///
/// # Panics
/// If there is no such machine or lock.
pub fn simulated(lab: &Lab, ratio: &Ratio) -> f64 {
    let machine = Machine::named(ratio.machine).expect("it is built in");
    let world = &Elsewhere(&machine);
    let points = [ratio.first, ratio.second];
    let found = lab.measure::<Elsewhere<'_>, _>(&points, |&(lock, threads), seed| {
        let contender = &Contender::named(&[lock])[0];
        let load = load::<Elsewhere<'_>>(lab, threads, ratio.locks, seed);
        (contender.throughput)(world, &Load { pause: Pause::None, ..load }).per_second
    });
    found[0] / found[1]
}
