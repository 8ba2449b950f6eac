//! Stress tests as a user asks for them: which ones, on which machine, under which load; and what
//! came of them, as a table or as data.

mod compare;
mod programs;

use std::fmt::Write as _;

use serde::Serialize;

use crate::figures::sentence::number;
use crate::figures::uncontended::ALONE;
use crate::on;
use crate::stress::atomics::{self, Operation};
use crate::stress::contenders::{self, Contender};
use crate::stress::uncontended::Turns;
use crate::stress::{Homes, Load, Outcome};
use crate::target::Target;
use crate::world::World;
pub use compare::{Comparison, compared, error_percent};
pub use programs::{SERVERS, channels, table as tables, transactions};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The load; threads and seed are set test by test.
    pub load: Load,
    /// Numbers of threads; none stands for those that are worth it on the machine.
    pub threads: Vec<usize>,
    /// Names of locks or of operations; none stands for all.
    pub names: Vec<String>,
    /// How often each test is run, each time with another seed.
    pub repetitions: usize,
}

/// Why a test can't be run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("there is no {kind} `{name}`: there are {known}")]
    Name { kind: &'static str, name: String, known: String },
    #[error("here memory is where the system has put it: only a simulated machine can spread it")]
    Homes,
}

/// A test's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The lock or the operation.
    pub name: String,
    /// Threads; or, of a free lock, where its last holder was.
    pub at: String,
    /// The average of the repetitions.
    pub outcome: Outcome,
    /// The least and the most of what the table shows, over the repetitions.
    pub spread: [f64; 2],
}

/// What a table shows of each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Million operations in a second.
    Throughput,
    /// Cycles of an operation.
    Cycles,
}

impl Shown {
    fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Shown::Throughput => outcome.per_second / 1e6,
            Shown::Cycles => outcome.cycles,
        }
    }
}

/// Threads that take locks.
///
/// # Errors
/// If a name is not known, or memory can't be placed as asked.
pub fn locks(target: &Target, request: &Request, shown: Shown) -> Result<Vec<Line>, Error> {
    on!(target, world => {
        let contenders = chosen(world, request)?;
        let tests = contenders.iter().map(|c| (c.name, c.throughput));
        over_threads(world, request, shown, tests.collect(), |test, load| test(world, load))
    })
}

/// Threads that do one atomic operation on one word.
///
/// # Errors
/// Same errors as [`locks`].
pub fn atomics(target: &Target, request: &Request, shown: Shown) -> Result<Vec<Line>, Error> {
    let known = Operation::ALL.map(Operation::name);
    let names = names(request, "operation", &known)?;
    let operations = names.iter().filter_map(|name| Some((*name, Operation::named(name)?)));
    let operations: Vec<_> = operations.collect();
    on!(target, world => {
        over_threads(world, request, shown, operations, |&operation, load| {
            atomics::run(world, operation, load)
        })
    })
}

/// A free lock, by where its last holder was: this many acquisitions of each.
///
/// # Errors
/// If a name is not known.
pub fn uncontended(target: &Target, request: &Request, turns: u32) -> Result<Vec<Line>, Error> {
    on!(target, world => {
        let partners = world.partners().into_iter().map(|(name, place)| (name, Some(place)));
        let places: Vec<_> = [(ALONE.to_owned(), None)].into_iter().chain(partners).collect();
        let contenders = chosen(world, request)?;
        let tests = contenders.iter().map(|c| (c.name, c.uncontended));
        Ok(over_places(request, tests.collect(), &places, |test, partner, seed| {
            test(world, *partner, &Turns { warm_up: turns / 10, measured: turns, seed })
        }))
    })
}

/// Cycles of each test by the distance of a partner.
fn over_distances<W: World, T>(
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
fn over_places<T, P>(
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

/// The names that are asked for, all of which must be known.
fn names<'a>(
    request: &Request,
    kind: &'static str,
    known: &[&'a str],
) -> Result<Vec<&'a str>, Error> {
    if request.names.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |name: &String| {
        let unknown = || Error::Name { kind, name: name.clone(), known: known.join(", ") };
        known.iter().copied().find(|known| known == name).ok_or_else(unknown)
    };
    request.names.iter().map(find).collect()
}

fn chosen<W: World>(_: &W, request: &Request) -> Result<Vec<Contender<W>>, Error> {
    let known: Vec<&str> = contenders::all::<W>().iter().map(|contender| contender.name).collect();
    Ok(Contender::named(&names(request, "lock", &known)?))
}

fn over_threads<W: World, T>(
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

fn line(name: &str, at: String, shown: Shown, outcomes: Vec<Outcome>) -> Line {
    let average = |field: fn(&Outcome) -> f64| {
        outcomes.iter().map(field).sum::<f64>() / outcomes.len() as f64
    };
    let values = || outcomes.iter().map(|outcome| shown.of(outcome));
    Line {
        name: name.to_owned(),
        at,
        outcome: Outcome {
            per_second: average(|o| o.per_second),
            success_percent: average(|o| o.success_percent),
            cycles: average(|o| o.cycles),
            fairness: average(|o| o.fairness),
        },
        spread: [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)],
    }
}

/// The results for a terminal: a row for each name, a column for each number of threads or place.
pub fn table(lines: &[Line], shown: Shown) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<&str> = Vec::new();
    for line in lines {
        if !columns.contains(&line.at.as_str()) {
            columns.push(&line.at);
        }
        if !rows.contains(&line.name.as_str()) {
            rows.push(&line.name);
        }
    }
    let width = columns.iter().map(|column| column.len() + 2).max().unwrap_or(0).max(9);
    let names = rows.iter().map(|row| row.len() + 1).max().unwrap_or(0).max(16);
    let mut text = format!("{:<names$}", "");
    for column in &columns {
        let _ = write!(text, "{column:>width$}");
    }
    for row in rows {
        let _ = write!(text, "\n{row:<names$}");
        for line in lines.iter().filter(|line| line.name == row) {
            let _ = write!(text, "{:>width$}", number(shown.of(&line.outcome)));
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::Pause;
    use crate::world::Placement;

    fn request(names: &[&str]) -> Request {
        let load = Load {
            threads: 1,
            placement: Placement::Near,
            locks: 1,
            data: true,
            pause: Pause::Transfer,
            homes: Homes::First,
            timed: false,
            warm_up: 1e-6,
            measured: 20e-6,
            seed: 1,
        };
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Request { load, threads: vec![1, 2], names, repetitions: 2 }
    }

    #[test]
    fn a_table_has_a_row_for_each_name_and_a_column_for_each_number_of_threads() {
        let target = Target::named("xeon").unwrap();
        let lines = locks(&target, &request(&["mcs", "tas"]), Shown::Throughput).unwrap();
        let text = table(&lines, Shown::Throughput);
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["1", "2"]);
        assert_eq!((rows[1][0], rows[2][0], rows[2].len()), ("mcs", "tas", 3));
        assert!(lines.iter().all(|line| line.spread[0] <= line.spread[1] && line.spread[0] > 0.0));
    }

    #[test]
    fn names_that_are_not_there_are_told_with_those_that_are() {
        let target = Target::named("xeon").unwrap();
        let error = atomics(&target, &request(&["cas", "dcas"]), Shown::Cycles).unwrap_err();
        let told = "there is no operation `dcas`: there are cas, tas, cas-fai, swap, fai";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn memory_can_be_spread_where_it_is_simulated_only() {
        let mut request = request(&["fai"]);
        request.load.homes = Homes::Spread;
        let simulated = Target::named("opteron").unwrap();
        assert!(atomics(&simulated, &request, Shown::Throughput).is_ok());
        let here = Target::named("native").unwrap();
        assert!(matches!(atomics(&here, &request, Shown::Throughput), Err(Error::Homes)));
    }
}
