//! Tests one after the other: over numbers of threads, and over places.

use super::lines::{Line, Shown, line};
use super::request::{Error, Request};
use crate::stress::{Homes, Load, Outcome};
use crate::world::World;

/// Cycles of each test by the distance of a partner.
pub fn over_distances<W: World, T>(
    world: &W,
    request: &Request,
    tests: Vec<(&str, T)>,
    cycles: impl Fn(&T, usize, u64) -> f64,
) -> Vec<Line> {
    over_places(request, tests, &world.partners(), |test, &partner, seed| {
        cycles(test, partner, seed)
    })
}

/// Cycles of each test at each place.
pub fn over_places<T, P>(
    request: &Request,
    tests: Vec<(&str, T)>,
    places: &[(String, P)],
    cycles: impl Fn(&T, &P, u64) -> f64,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, test) in &tests {
        for (at, place) in places {
            let seeds = (0..request.repetitions as u64).map(|n| request.load.seed + n);
            let outcomes = seeds
                .map(|seed| Outcome { cycles: cycles(test, place, seed), ..Outcome::default() });
            lines.push(line(name, at.clone(), Shown::Cycles, outcomes.collect()));
        }
    }
    lines
}

/// Each test with each number of threads.
pub fn over_threads<W: World, T>(
    world: &W,
    request: &Request,
    shown: Shown,
    tests: Vec<(&str, T)>,
    run: impl Fn(&T, &Load) -> Outcome,
) -> Result<Vec<Line>, Error> {
    if !W::SIMULATED && request.load.homes == Homes::Spread {
        return Err(Error::Homes);
    }
    let steps = if request.threads.is_empty() { world.steps() } else { request.threads.clone() };
    let mut lines = Vec::new();
    for (name, test) in &tests {
        for &threads in &steps {
            let load = Load { threads, timed: shown == Shown::Cycles, ..request.load.clone() };
            let seeds = (0..request.repetitions as u64).map(|n| request.load.seed + n);
            let outcomes = seeds.map(|seed| run(test, &Load { seed, ..load.clone() }));
            lines.push(line(name, threads.to_string(), shown, outcomes.collect()));
        }
    }
    Ok(lines)
}
