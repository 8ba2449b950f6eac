//! The ladder: access patterns (rungs) as small as litmus tests. Each is written once, over a
//! [`World`].
//!
//! If the simulated time of a lock is wrong, the time does not show which of the lock's accesses
//! has the wrong cost. The time of a pattern of one or two accesses does. So a machine's
//! description is compared with the machine rung by rung, and a change of the simulator is judged
//! by rungs before it is judged by locks.
//!
//! - `turns`: rungs whose threads take turns, and do something in each turn.
//! - `free`: rungs whose threads take no turns. They wait for each other at most until a value
//!   arrives.
//!
//! The rungs do not cover large numbers of threads, or time slices. They run one, two or three
//! threads, each on a processor of its own.

mod free;
mod size;
#[cfg(test)]
mod tests;
mod turns;

pub use size::Size;
use syncline::lock::Ticket;
use syncline::wait::Spin;

use crate::on;
use crate::stress::table::{self, Shape};
use crate::stress::{Homes, Load, Outcome, Pause, throughput};
use crate::target::Target;
use crate::world::{Placement, World};

/// A rung: a pattern of accesses.
struct Rung<W: World> {
    name: &'static str,
    /// The number of threads, each of which needs a processor.
    threads: usize,
    /// Runs the pattern. Returns the nanoseconds of a turn, an access or an operation. The rung
    /// `increments in a row` returns the number of increments instead.
    run: fn(&W, &Size) -> f64,
}

/// All rungs, the simplest first. Each name says what its number measures, in nanoseconds unless
/// the name says `in a row`.
fn rungs<W: World>() -> Vec<Rung<W>> {
    let rung = |name, threads, run| Rung { name, threads, run };
    vec![
        rung("alone: swap, then store", 1, free::own_word),
        rung("alone: a pause", 1, free::pause),
        rung("alone: ticket lock", 1, |w, s| lock(w, s, 1, false)),
        rung("alone: ticket lock and a line", 1, |w, s| lock(w, s, 1, true)),
        rung("alone: operation of a table", 1, look_up),
        rung("ping-pong", 2, |w, s| turns::nothing(w, s, 2)),
        rung("three in a ring", 3, |w, s| turns::nothing(w, s, 3)),
        rung("two lines in turn", 2, turns::second_line),
        rung("own line after a miss", 2, turns::after_a_miss),
        rung("one line, loaded", 2, |w, s| turns::loads(w, s, 1, true)),
        rung("eight lines, loaded dependently", 2, |w, s| turns::loads(w, s, 8, true)),
        rung("eight lines, loaded", 2, |w, s| turns::loads(w, s, 8, false)),
        rung("eight lines, stored to", 2, |w, s| turns::writes(w, s, 8, false)),
        rung("eight lines, exchanged", 2, |w, s| turns::writes(w, s, 8, true)),
        rung("a reader polls a writer", 2, free::polled),
        rung("increments", 2, |w, s| free::increments(w, s).nanoseconds),
        rung("increments in a row", 2, |w, s| free::increments(w, s).in_a_row),
        rung("twice at once, then a pause", 2, |w, s| free::two_increments(w, s, false)),
        rung("twice with a hint between, then a pause", 2, |w, s| free::two_increments(w, s, true)),
        rung("ticket lock", 2, |w, s| lock(w, s, 2, false)),
        rung("ticket lock and a line", 2, |w, s| lock(w, s, 2, true)),
    ]
}

/// The names of all rungs, each with its number of threads.
pub fn names(target: &Target) -> Vec<(&'static str, usize)> {
    fn of<W: World>(_: &W) -> Vec<(&'static str, usize)> {
        rungs::<W>().iter().map(|rung| (rung.name, rung.threads)).collect()
    }
    on!(target, world => of(world))
}

/// Runs the rung of this name. Returns `None` if there is no such rung, or if the machine has too
/// few processors for it.
pub fn run(target: &Target, name: &str, size: &Size) -> Option<f64> {
    fn of<W: World>(world: &W, name: &str, size: &Size) -> Option<f64> {
        let rung = rungs::<W>().into_iter().find(|rung| rung.name == name)?;
        (rung.threads <= world.threads()).then(|| (rung.run)(world, size))
    }
    on!(target, world => of(world, name, size))
}

fn load<W: World>(world: &W, size: &Size, threads: usize, data: bool) -> Load {
    let pause = if threads > 1 { (size.pause * world.hertz()).round() as u64 } else { 0 };
    Load {
        threads,
        placement: Placement::Near,
        locks: 1,
        data,
        pause: Pause::Cycles(pause),
        homes: Homes::Machine,
        fetch_for_writing: false,
        timed: false,
        warm_up: size.seconds / 10.0,
        measured: size.seconds,
        seed: size.seed,
    }
}

fn nanoseconds(outcome: Outcome) -> f64 {
    1e9 / outcome.per_second.max(1.0)
}

/// Nanoseconds to acquire and release a ticket lock; with `data`, holders also write a line of
/// data.
fn lock<W: World>(world: &W, size: &Size, threads: usize, data: bool) -> f64 {
    let load = load(world, size, threads, data);
    nanoseconds(throughput::run::<W, Ticket<Spin, W::Memory>>(world, &load))
}

/// Nanoseconds of an operation on the study's hash table by a single thread. Most operations are
/// look-ups.
fn look_up<W: World>(world: &W, size: &Size) -> f64 {
    let (load, shape) = (load(world, size, 1, false), Shape { buckets: 12, keys: 12 });
    nanoseconds(table::run::<W, Ticket<Spin, W::Memory>>(world, shape, &load))
}
