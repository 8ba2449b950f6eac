//! Runs tests over numbers of threads, and over positions of a partner.

use super::lines::{Line, Shown, line};
use super::request::{Error, Request};
use crate::lab::each;
use crate::stress::{Homes, Load, Outcome};
use crate::world::World;

/// Measures the cycles of each test with a partner at each distance.
pub fn over_distances<W: World, T: Sync>(
    world: &W,
    request: &Request,
    tests: Vec<(&str, T)>,
    cycles: impl Fn(&T, usize, u64) -> f64 + Sync,
) -> Vec<Line> {
    over_places(world, request, tests, &world.partners(), |test, &partner, seed| {
        cycles(test, partner, seed)
    })
}

/// Measures the cycles of each test at each position.
pub fn over_places<W: World, T: Sync, P: Sync>(
    _: &W,
    request: &Request,
    tests: Vec<(&str, T)>,
    places: &[(String, P)],
    cycles: impl Fn(&T, &P, u64) -> f64 + Sync,
) -> Vec<Line> {
    let at = |(name, _): &(String, P)| name.clone();
    let cycles = |test: &T, (_, place): &(String, P), seed| Outcome {
        cycles: cycles(test, place, seed),
        ..Outcome::default()
    };
    lines::<W, _, _>(request, Shown::Cycles, &tests, places, at, cycles)
}

/// Runs each test with each number of threads.
///
/// # Errors
/// If memory can't be placed as requested.
pub fn over_threads<W: World, T: Sync>(
    world: &W,
    request: &Request,
    shown: Shown,
    tests: Vec<(&str, T)>,
    run: impl Fn(&T, &Load) -> Outcome + Sync,
) -> Result<Vec<Line>, Error> {
    if !W::SIMULATED && request.load.homes == Homes::Spread {
        return Err(Error::Homes);
    }
    let steps = if request.threads.is_empty() { world.steps() } else { request.threads.clone() };
    let at = |threads: &usize| threads.to_string();
    let run = |test: &T, &threads: &usize, seed| {
        run(test, &Load { threads, seed, timed: shown == Shown::Cycles, ..request.load.clone() })
    };
    Ok(lines::<W, _, _>(request, shown, &tests, &steps, at, run))
}

/// A line for each test at each position, with the average over the requested repetitions.
fn lines<W: World, T: Sync, P: Sync>(
    request: &Request,
    shown: Shown,
    tests: &[(&str, T)],
    places: &[P],
    at: impl Fn(&P) -> String,
    run: impl Fn(&T, &P, u64) -> Outcome + Sync,
) -> Vec<Line> {
    let mut runs = Vec::new();
    for (_, test) in tests {
        for place in places {
            let seeds = (0..request.repetitions as u64).map(|n| request.load.seed + n);
            runs.extend(seeds.map(|seed| (test, place, seed)));
        }
    }
    let outcomes = each::<W, _, _>(&runs, |&(test, place, seed)| run(test, place, seed));
    let mut outcomes = outcomes.into_iter();
    let mut lines = Vec::new();
    for (name, _) in tests {
        for place in places {
            let of_line = outcomes.by_ref().take(request.repetitions).collect();
            lines.push(line(name, at(place), shown, of_line));
        }
    }
    lines
}
