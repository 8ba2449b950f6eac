//! Stress tests of structures that are built from locks: channels, the hash table, and
//! transactions.

use super::lines::{Line, Shown};
use super::request::{Error, Request, names};
use super::sweep::{over_distances, over_threads};
use crate::figures::messages::{ONE_WAY, PLAIN, ROUND_TRIP};
use crate::figures::transactions::{LOCKED, SERVED, SHARED};
use crate::on;
use crate::stress::contenders::{self, Contender};
use crate::stress::messages::{self, Fetched, Plain, Way};
use crate::stress::table::{self, Shape};
use crate::stress::transactions::{self, Bank};
use crate::stress::uncontended::Turns;
use crate::stress::{Load, Outcome};
use crate::target::Target;
use crate::world::World;

/// A test, which runs on a world under a load.
type Run<'a, W> = Box<dyn Fn(&W, &Load) -> Outcome + Sync + 'a>;

/// Converts a name of several words, as figures have it, into one with hyphens for the command
/// line.
fn hyphened(words: &str) -> String {
    words.replace(", ", "-").replace(' ', "-")
}

/// The names of the channels, whose messages fill one cache line. The first two channels fetch the
/// line for writing at once, and the last two read it first.
pub fn channels_known() -> [String; 4] {
    let names = [ONE_WAY, ROUND_TRIP].map(hyphened);
    let plain = [ONE_WAY, ROUND_TRIP].map(|way| hyphened(&format!("{way}{PLAIN}")));
    let ([one, round], [plain_one, plain_round]) = (names, plain);
    [one, round, plain_one, plain_round]
}

/// A copy of the request in which each number of threads is at least two.
fn with_at_least_two_threads<W: World>(world: &W, request: &Request) -> Request {
    let all = if request.threads.is_empty() { world.steps() } else { request.threads.clone() };
    let mut threads: Vec<usize> = all.into_iter().map(|count| count.max(2)).collect();
    threads.dedup();
    Request { threads, ..request.clone() }
}

/// Measures messages from all other threads to the first one. If `between_two` is given, measures
/// that number of messages between two threads instead, for each distance between the two.
///
/// # Errors
/// If a name is unknown, or memory can't be placed as requested.
pub fn channels(
    target: &Target,
    request: &Request,
    shown: Shown,
    between_two: Option<u32>,
) -> Result<Vec<Line>, Error> {
    let known = channels_known();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let chosen = names(request, "channel", &known)?;
    let kinds = chosen.into_iter().filter_map(|name| {
        let number = known.iter().position(|known| *known == name)?;
        Some((name, (if number % 2 == 0 { Way::One } else { Way::Round }, number >= 2)))
    });
    let kinds: Vec<(&str, (Way, bool))> = kinds.collect();
    on!(target, world => match between_two {
        Some(count) => Ok(over_distances(world, request, kinds, |&(way, plain), partner, seed| {
            let turns = Turns { warm_up: count / 10, measured: count, fetch_for_writing: false, seed };
            pair(world, way, plain, partner, &turns)
        })),
        None => {
            let request = with_at_least_two_threads(world, request);
            over_threads(world, &request, shown, kinds, |&(way, plain), load| {
                server(world, way, plain, load)
            })
        }
    })
}

fn pair<W: World>(world: &W, way: Way, plain: bool, partner: usize, turns: &Turns) -> f64 {
    match plain {
        true => messages::between_two::<W, Plain<W>>(world, way, partner, turns),
        false => messages::between_two::<W, Fetched<W>>(world, way, partner, turns),
    }
}

fn server<W: World>(world: &W, way: Way, plain: bool, load: &Load) -> Outcome {
    match plain {
        true => messages::one_server::<W, Plain<W>>(world, way, load),
        false => messages::one_server::<W, Fetched<W>>(world, way, load),
    }
}

/// The name of the table with servers. A request lists it among the names of locks.
pub const SERVERS: &str = "servers";

/// Measures the hash table, with a lock in each bucket or with servers.
///
/// # Errors
/// Same errors as [`channels`].
pub fn table(
    target: &Target,
    request: &Request,
    shown: Shown,
    shape: Shape,
) -> Result<Vec<Line>, Error> {
    on!(target, world => {
        let tests = tables(world, request, shape)?;
        over_threads(world, request, shown, tests, |test, load| test(world, load))
    })
}

fn tables<'a, W: World + 'a>(
    _: &W,
    request: &Request,
    shape: Shape,
) -> Result<Vec<(&'static str, Run<'a, W>)>, Error> {
    let locks = contenders::all::<W>().into_iter().map(|contender| contender.name);
    let known: Vec<&'static str> = locks.chain([SERVERS]).collect();
    let test = |name: &'static str| -> (&'static str, Run<'a, W>) {
        match Contender::<W>::named(&[name]).pop() {
            Some(contender) => {
                (name, Box::new(move |world, load| (contender.table)(world, shape, load)))
            }
            None => (name, Box::new(move |world, load| table::served(world, shape, load))),
        }
    };
    Ok(names(request, "table", &known)?.into_iter().map(test).collect())
}

/// Measures transactions of a bank, for each kind of engine.
///
/// # Errors
/// Same errors as [`channels`].
pub fn transactions(
    target: &Target,
    request: &Request,
    shown: Shown,
    bank: Bank,
) -> Result<Vec<Line>, Error> {
    let known = [SHARED, SERVED, LOCKED].map(hyphened);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let chosen = names(request, "kind of transactions", &known)?;
    on!(target, world => {
        let tests = chosen.iter().map(|&name| (name, kind(world, name == known[0], name == known[1])));
        over_threads(world, request, shown, tests.collect(), |run, load| run(world, bank, load))
    })
}

fn kind<W: World>(_: &W, shared: bool, served: bool) -> fn(&W, Bank, &Load) -> Outcome {
    match (shared, served) {
        (true, _) => transactions::shared,
        (_, true) => transactions::served,
        _ => transactions::locked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::{Homes, Pause};
    use crate::world::Placement;

    const SHAPE: Shape = Shape { buckets: 12, keys: 12 };
    const BANK: Bank = Bank { branches: 2, audits: 40 };

    fn request(threads: &[usize], names: &[&str]) -> Request {
        let load = Load {
            threads: 1,
            placement: Placement::Near,
            locks: 1,
            data: true,
            pause: Pause::None,
            homes: Homes::Machine,
            fetch_for_writing: false,
            timed: false,
            warm_up: 10e-6,
            measured: 50e-6,
            seed: 1,
        };
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Request { load, threads: threads.to_vec(), names, repetitions: 1 }
    }

    fn opteron() -> Target {
        Target::named("opteron").unwrap()
    }

    #[test]
    fn each_program_runs_with_any_number_of_threads() {
        let (target, request) = (opteron(), request(&[1, 7], &[]));
        let all = [
            channels(&target, &request, Shown::Throughput, None),
            tables(&target, &request),
            transactions(&target, &request, Shown::Throughput, BANK),
        ];
        for (lines, least) in all.into_iter().zip([8, 20, 6]) {
            let lines = lines.unwrap();
            assert!(lines.len() >= least, "{}", lines.len());
            assert!(lines.iter().all(|line| line.outcome.per_second > 1e4), "{lines:?}");
        }
    }

    fn tables(target: &Target, request: &Request) -> Result<Vec<Line>, Error> {
        table(target, request, Shown::Throughput, SHAPE)
    }

    #[test]
    fn a_round_trip_takes_longer_and_so_does_a_greater_distance() {
        let names = ["one-way", "round-trip"];
        let lines = channels(&opteron(), &request(&[], &names), Shown::Cycles, Some(50)).unwrap();
        let cycles: Vec<f64> = lines.iter().map(|line| line.outcome.cycles).collect();
        let (one, round) = cycles.split_at(cycles.len() / 2);
        assert!(
            one.is_sorted() && one.iter().zip(round).all(|(one, round)| round > one),
            "{lines:?}"
        );
    }

    #[test]
    fn requested_pauses_and_homes_are_used() {
        let rate = |pause, homes| {
            let mut request = request(&[12], &["mcs"]);
            (request.load.pause, request.load.homes) = (pause, homes);
            tables(&opteron(), &request).unwrap()[0].outcome.per_second
        };
        let plain = rate(Pause::None, Homes::Machine);
        assert!(rate(Pause::Cycles(20_000), Homes::Machine) < plain / 2.0);
        let (first, spread) = (rate(Pause::None, Homes::First), rate(Pause::None, Homes::Spread));
        assert!(spread < first, "twelve threads of two dies: {spread} {first}");
    }

    #[test]
    fn timed_runs_have_cycles() {
        let mut timed = request(&[3], &[]);
        timed.load.timed = true;
        for lines in [
            channels(&opteron(), &timed, Shown::Cycles, None),
            table(&opteron(), &timed, Shown::Cycles, SHAPE),
            transactions(&opteron(), &timed, Shown::Cycles, BANK),
        ] {
            assert!(lines.unwrap().iter().all(|line| line.outcome.cycles > 20.0));
        }
    }

    #[test]
    fn unknown_names_and_homes_are_errors() {
        let error = channels(&opteron(), &request(&[2], &["carrier"]), Shown::Throughput, None);
        let told = error.unwrap_err().to_string();
        assert!(told.contains("`carrier`") && told.contains("one-way, round-trip"), "{told}");
        let mut spread = request(&[2], &["one-lock"]);
        spread.load.homes = Homes::Spread;
        let here = Target::named("native").unwrap();
        let error = transactions(&here, &spread, Shown::Throughput, BANK);
        assert!(matches!(error, Err(Error::Homes)));
    }
}
