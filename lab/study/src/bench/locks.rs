//! The stress tests of locks and of atomic operations.

use super::lines::{Line, Shown};
use super::request::{Error, Request, names};
use super::sweep::{over_places, over_threads};
use crate::figures::uncontended::ALONE;
use crate::on;
use crate::stress::atomics::{self, Operation};
use crate::stress::contenders::{self, Contender};
use crate::stress::uncontended::Turns;
use crate::target::Target;
use crate::world::World;

/// Measures threads that acquire locks.
///
/// # Errors
/// If a name is unknown, or memory can't be placed as requested.
pub fn locks(target: &Target, request: &Request, shown: Shown) -> Result<Vec<Line>, Error> {
    on!(target, world => {
        let contenders = chosen(world, request)?;
        let tests = contenders.iter().map(|c| (c.name, c.throughput));
        over_threads(world, request, shown, tests.collect(), |test, load| test(world, load))
    })
}

/// Measures threads that all do the same atomic operation on one word.
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

/// Measures the acquisition of a free lock for each position of its last holder. At each position,
/// each thread acquires the lock `turns` times.
///
/// # Errors
/// If a name is unknown.
pub fn uncontended(target: &Target, request: &Request, turns: u32) -> Result<Vec<Line>, Error> {
    on!(target, world => {
        let partners = world.partners().into_iter().map(|(name, place)| (name, Some(place)));
        let places: Vec<_> = [(ALONE.to_owned(), None)].into_iter().chain(partners).collect();
        let contenders = chosen(world, request)?;
        let tests = contenders.iter().map(|c| (c.name, c.uncontended));
        Ok(over_places(world, request, tests.collect(), &places, |test, partner, seed| {
            let fetch_for_writing = false;
            let turns = Turns { warm_up: turns / 10, measured: turns, fetch_for_writing, seed };
            test(world, *partner, &turns)
        }))
    })
}

fn chosen<W: World>(_: &W, request: &Request) -> Result<Vec<Contender<W>>, Error> {
    let known: Vec<&str> = contenders::all::<W>().iter().map(|contender| contender.name).collect();
    Ok(Contender::named(&names(request, "lock", &known)?))
}

#[cfg(test)]
mod tests {
    use super::super::lines::table;
    use super::*;
    use crate::stress::{Homes, Load, Pause};
    use crate::world::Placement;

    fn request(names: &[&str]) -> Request {
        let load = Load {
            threads: 1,
            placement: Placement::Near,
            locks: 1,
            data: true,
            pause: Pause::Transfer,
            homes: Homes::First,
            fetch_for_writing: false,
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
    fn unknown_names_are_errors_that_list_the_known() {
        let target = Target::named("xeon").unwrap();
        let error = atomics(&target, &request(&["cas", "dcas"]), Shown::Cycles).unwrap_err();
        let told = "there is no operation `dcas`; choose from cas, tas, cas-fai, swap, fai";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn only_simulated_memory_can_be_spread() {
        let mut request = request(&["fai"]);
        request.load.homes = Homes::Spread;
        let simulated = Target::named("opteron").unwrap();
        assert!(atomics(&simulated, &request, Shown::Throughput).is_ok());
        let here = Target::named("native").unwrap();
        assert!(matches!(atomics(&here, &request, Shown::Throughput), Err(Error::Homes)));
    }
}
