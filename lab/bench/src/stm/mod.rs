//! Compares the transactions of several libraries. The structures are written once: a bank, a
//! sorted list, a hash set and a red-black tree, with several rates of updates.
//!
//! There is one thread for each processor. The structure is checked after each run.

mod access;
mod bank;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
mod instructions;
mod itm;
mod list;
mod load;
mod machines;
mod set;
mod tree;

use std::time::Duration;

use serde::Serialize;

use crate::lab::Lab;
use crate::locks::processors;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::{Spread, median, spread};
use load::Load;

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  worst_ratio                 our throughput over that of the best peer, measured in turn in
                              the same run: 1 is equal, more is better. The median over the
                              rounds, the worst of all loads
";

#[derive(Serialize)]
struct Summary {
    worst_ratio: f64,
}

const OURS: &str = "ours";

/// Runs a load once for this long, and returns its transactions per second.
type Run<'a> = Box<dyn Fn(Duration) -> f64 + 'a>;

struct Case<'a> {
    name: String,
    /// The compared libraries, ours first.
    sides: Vec<(&'static str, Run<'a>)>,
}

fn case<'a>(name: String, load: impl Load + Copy + 'a, threads: usize) -> Case<'a> {
    macro_rules! sides {
        ($($side:expr => $Machine:ty),* $(,)?) => {
            vec![$(($side, {
                let run: Run = Box::new(move |slot| load::run::<$Machine>(&load, threads, slot));
                run
            })),*]
        };
    }
    let sides = sides! {
        OURS => machines::Ours,
        "global lock" => machines::GlobalLock,
        "crate stm" => machines::StmCrate,
        "libitm" => itm::Libitm,
    };
    Case { name, sides }
}

fn cases(threads: usize) -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for audits in [0, 10] {
        let name = format!("bank, {} % audits", audits / 10);
        cases.push(case(name, bank::Bank { audits }, threads));
    }
    for updates in [0, 20, 100] {
        for (what, buckets, range) in [("list of 128", 1, 256), ("hash set of 4096", 4096, 8192)] {
            let layout = list::Lists { buckets };
            let set = set::Set { layout, count: list::Count(layout), range, updates, threads };
            cases.push(case(format!("{what}, {updates} % updates"), set, threads));
        }
        let set =
            set::Set { layout: tree::Tree, count: tree::Count, range: 8192, updates, threads };
        cases.push(case(format!("tree of 4096, {updates} % updates"), set, threads));
    }
    cases.sort_by(|one, other| one.name.split(',').next().cmp(&other.name.split(',').next()));
    cases
}

/// The results of a load.
struct Outcome {
    name: String,
    /// Transactions per second, by side and round.
    sides: Vec<(&'static str, Vec<f64>)>,
}

impl Outcome {
    fn best_peer(&self) -> &(&'static str, Vec<f64>) {
        let peers = self.sides.iter().filter(|(name, _)| *name != OURS);
        let best = peers.max_by(|one, other| median(&one.1).total_cmp(&median(&other.1)));
        best.expect("there are peers")
    }

    /// Our results over those of the best peer.
    fn ratio(&self) -> Spread {
        let ratios: Vec<_> = self.sides[0]
            .1
            .iter()
            .zip(&self.best_peer().1)
            .map(|(ours, peer)| ours / peer)
            .collect();
        spread(&ratios)
    }
}

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    itm::load(&lab)?;
    let cases = cases(processors::count());
    let slot = Duration::from_millis(size.pick(1, 40, 200));
    let rounds = size.pick(1, 5, 21);
    let steps = cases.iter().map(|case| case.sides.len() * (rounds + 1)).sum::<usize>();
    let bar = rounds::bar(steps as u64)?;
    let mut outcomes = Vec::new();
    for Case { name, sides } in cases {
        bar.set_message(name.clone());
        let names: Vec<_> = sides.iter().map(|(name, _)| *name).collect();
        let mut once: Vec<Once<f64>> = Vec::new();
        for (_, run) in &sides {
            once.push(Box::new(|| Ok(run(slot))));
        }
        let results = rounds::run(&mut once, rounds, &bar, 1)?;
        outcomes.push(Outcome { name, sides: names.into_iter().zip(results).collect() });
    }
    bar.finish_and_clear();
    print(&outcomes);
    let worst = outcomes.iter().map(|o| o.ratio().median).fold(f64::INFINITY, f64::min);
    Ok(serde_json::to_string(&Summary { worst_ratio: (worst * 1e4).round() / 1e4 })?)
}

fn print(outcomes: &[Outcome]) {
    println!("Transactions, millions in a second, {} threads; medians", processors::count());
    print!("\n  {:<32}", "");
    for (name, _) in &outcomes[0].sides {
        print!("{name:>12}");
    }
    println!("{:>12}{:>17}", "to the best", "95 % interval");
    for outcome in outcomes {
        print!("  {:<32}", outcome.name);
        for (_, rates) in &outcome.sides {
            print!("{:>12.3}", median(rates) / 1e6);
        }
        let Spread { median, low, high } = outcome.ratio();
        println!("{median:>12.2}{:>17}", format!("{low:.2} .. {high:.2}"));
    }
    println!();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::access::{Machine, Op};
    use super::load::Random;
    use super::machines::{GlobalLock, Ours, StmCrate};
    use super::set::{Ask, Asked, Layout};
    use super::{list, tree};

    struct Asking<L>(L, Ask);

    impl<L: Layout> Op for Asking<L> {
        type Out = Asked;

        fn run<A: super::access::Access>(&self, words: &mut A) -> Result<Asked, A::Stop> {
            self.0.run(&self.1, words)
        }
    }

    /// Checks that each operation on the structure has the same result as on std's set.
    fn is_a_set<M: Machine, L: Layout>(layout: L, count: &impl Op<Out = u64>) {
        const RANGE: u64 = 64;
        let machine = M::new(layout.words(RANGE as usize + 1));
        let (mut random, mut truth) = (Random(3), BTreeSet::new());
        let mut spare: Vec<u64> = (1..=RANGE).collect();
        for _ in 0..20_000 {
            let number = random.below(RANGE);
            let ask = match random.below(3) {
                0 => Ask::Contains(number),
                1 => Ask::Insert(number, *spare.last().unwrap_or(&0)),
                _ => Ask::Remove(number),
            };
            match (ask, machine.atomically(&Asking(layout, ask))) {
                (Ask::Insert(..), Asked::Changed(_)) => {
                    assert!(truth.insert(number));
                    spare.pop();
                }
                (Ask::Remove(_), Asked::Changed(node)) => {
                    assert!(truth.remove(&number));
                    spare.push(node);
                }
                (_, Asked::Found(found)) => assert_eq!(found, truth.contains(&number)),
                (Ask::Contains(_), Asked::Changed(_)) => panic!("a look changed the set"),
            }
            assert_eq!(machine.atomically(count), truth.len() as u64);
        }
    }

    #[test]
    fn lists_and_trees_behave_as_sets() {
        let lists = list::Lists { buckets: 5 };
        is_a_set::<GlobalLock, _>(lists, &list::Count(lists));
        is_a_set::<Ours, _>(lists, &list::Count(lists));
        is_a_set::<GlobalLock, _>(tree::Tree, &tree::Count);
        is_a_set::<Ours, _>(tree::Tree, &tree::Count);
        is_a_set::<StmCrate, _>(tree::Tree, &tree::Count);
    }
}
