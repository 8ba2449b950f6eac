//! Compares the library's channels with others on this machine, and measures the cost of a message
//! on simulated machines.
//!
//! Channels whose waiters sleep are compared with each other, and so are channels whose waiters
//! yield. A waiter that doesn't sleep needs no wake-up, so it is faster if processors are free.

mod contender;
mod load;
mod many;
mod transfers;

use serde::Serialize;

use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::{Spread, median, spread};
use contender::{
    Contender, Crossbeam, Flume, Kanal, Parking, Rtrb, SingleParking, SingleYielding, Std, Yielding,
};

/// The fields of the last line.
pub const FIELDS: &str = "\
one_way_transfers  simulated: a message's time over that of a line's transfer; the median of SSYNC's
                   machines, near and far
throughput_ratio   messages per second, ours over those of the best peer that waits in the same
                   way; the least over the streams and the server
many_ratio         likewise for a channel with two senders and two receivers
";

const CLIENTS: usize = 3;

#[derive(Serialize)]
struct Line {
    one_way_transfers: f64,
    throughput_ratio: f64,
    many_ratio: f64,
}

/// A kind of channel under a load, or the transfers of a line, which run in the same rounds.
struct Side {
    name: &'static str,
    /// Whether waiters sleep; `None` if this is not a channel.
    sleeps: Option<bool>,
    run: fn(u64) -> f64,
}

/// The number of transfers from which each round computes a line's transfer time. It is so large
/// that the start of the threads doesn't matter.
const TRANSFERS: u64 = 40_000;
const LINE: Side = Side { name: "a line alone", sleeps: None, run: |_| load::transfers(TRANSFERS) };

/// Distances between the two processors, by the nanoseconds of a transfer. If a hypervisor moves
/// the processors, the distance changes from one round to another.
const DISTANCES: [(&str, f64, f64); 3] =
    [("of one core", 0.0, 25.0), ("of one socket", 25.0, 100.0), ("farther", 100.0, f64::INFINITY)];

struct Load {
    name: &'static str,
    /// The number of messages of a run, relative to a stream's.
    part: f64,
    /// Whether the load measures throughput.
    throughput: bool,
    sides: Vec<Side>,
}

macro_rules! load {
    ($name:literal, $part:literal, $throughput:literal, $parks:ident $yields:ident,
     |$C:ident| $run:expr) => {{
        fn side<$C: Contender>() -> Side {
            Side { name: $C::NAME, sleeps: Some($C::SLEEPS), run: $run }
        }
        let sides = vec![
            side::<$parks>(),
            side::<Crossbeam>(),
            side::<Std>(),
            side::<Flume>(),
            side::<Kanal>(),
            side::<$yields>(),
            side::<Rtrb>(),
            LINE,
        ];
        Load { name: $name, part: $part, throughput: $throughput, sides }
    }};
}

fn loads() -> Vec<Load> {
    vec![
        load!("stream of 8-byte messages", 1.0, true, Parking Yielding,
            |C| load::numbers::<C>),
        load!("the same, 64 at a time", 1.0, true, Parking Yielding,
            |C| load::batches::<C>),
        load!("stream of 56-byte messages", 1.0, true, Parking Yielding,
            |C| load::lines::<C>),
        load!("a server of 3 clients", 0.1, true, Parking Yielding,
            |C| |messages| load::server::<C>(CLIENTS, messages)),
        load!("round trips of two threads", 0.1, false, SingleParking SingleYielding,
            |C| load::round_trips::<C>),
    ]
}

/// The results of a load.
struct Outcome {
    load: Load,
    /// Messages per second, by side and round.
    results: Vec<Vec<f64>>,
}

impl Outcome {
    /// The best peer among the channels that sleep (or that don't), and the ratio of our results to
    /// that peer's over the rounds.
    fn versus(&self, sleep: bool) -> (&'static str, Spread) {
        let (peer, ratios) = self.ratios(sleep);
        (peer, spread(&ratios))
    }

    fn ratios(&self, sleep: bool) -> (&'static str, Vec<f64>) {
        let sides = || self.load.sides.iter().zip(&self.results);
        let mut alike = sides().filter(|(side, _)| side.sleeps == Some(sleep));
        let (_, ours) = alike.next().expect("ours comes first");
        let best = alike.max_by(|one, other| median(one.1).total_cmp(&median(other.1)));
        let (peer, theirs) = best.expect("there are peers");
        (peer.name, ours.iter().zip(theirs).map(|(ours, peer)| ours / peer).collect())
    }

    /// Considers the rounds in which a line's transfer took from `least` to `below` nanoseconds.
    /// Returns the median ratio of our results to the best peer's, and the number of these rounds.
    /// `None` if there were none.
    fn ratio_where(&self, sleep: bool, least: f64, below: f64) -> Option<(f64, usize)> {
        let line = self.load.sides.iter().position(|side| side.sleeps.is_none());
        let transfers = &self.results[line.expect("it is measured in each load")];
        let taken = transfers.iter().map(|rate| 1e9 / rate);
        let rounds = self.ratios(sleep).1.into_iter().zip(taken);
        let ratios: Vec<f64> = rounds
            .filter(|&(_, time)| time >= least && time < below)
            .map(|(ratio, _)| ratio)
            .collect();
        (!ratios.is_empty()).then(|| (median(&ratios), ratios.len()))
    }
}

/// Compares the channels.
pub fn run(size: Size) -> anyhow::Result<String> {
    let messages = size.pick(200, 40_000, 400_000);
    let repetitions = size.pick(1, 7, 25);
    let loads = loads();
    let steps = loads.iter().map(|load| load.sides.len() * (repetitions + 1)).sum::<usize>();
    let bar = rounds::bar(steps as u64)?;
    let mut outcomes = Vec::new();
    for load in loads {
        bar.set_message(load.name);
        let count = (messages as f64 * load.part) as u64;
        let once = |side: &Side| -> Once<f64> {
            let run = side.run;
            Box::new(move || Ok(run(count)))
        };
        let mut sides: Vec<_> = load.sides.iter().map(once).collect();
        let results = rounds::run(&mut sides, repetitions, &bar, 1)?;
        drop(sides);
        outcomes.push(Outcome { load, results });
    }
    bar.finish_and_clear();
    print(&outcomes);
    let throughputs = outcomes.iter().filter(|outcome| outcome.load.throughput);
    let ratios = throughputs.flat_map(|o| [true, false].map(|sleep| o.versus(sleep).1.median));
    let throughput_ratio = rounded(ratios.fold(f64::INFINITY, f64::min));

    let many_ratio = rounded(many::compare(size)?);
    let costs = transfers::costs(size.pick(20, 500, 2000));
    print_costs(&costs);
    let one_way: Vec<f64> = costs.iter().map(|cost| cost.one_way).collect();
    let one_way_transfers = rounded(median(&one_way));
    Ok(serde_json::to_string(&Line { one_way_transfers, throughput_ratio, many_ratio })?)
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn print(outcomes: &[Outcome]) {
    println!("Million messages in a second: medians of {} rounds", outcomes[0].results[0].len());
    for Outcome { load, results } in outcomes {
        println!("\n{}", load.name);
        for (side, results) in load.sides.iter().zip(results) {
            let Spread { median, low, high } = spread(results);
            let [median, low, high] = [median, low, high].map(|rate| rate / 1e6);
            println!("  {:<18}{median:>9.3}   {low:.3} to {high:.3}", side.name);
        }
    }
    println!("\nOurs over the best peer that waits in the same way, and its 95 % interval\n");
    for outcome in outcomes {
        for sleep in [true, false] {
            let (peer, Spread { median, low, high }) = outcome.versus(sleep);
            let how = if sleep { "park" } else { "yield" };
            let name = outcome.load.name;
            println!("  {name:<28}{how:<7}{peer:<14}{median:>6.2}   {low:.2} to {high:.2}");
        }
    }
    println!("\nThe same ratios by the distance of the two processors, and in how many rounds\n");
    print!("  {:<35}", "");
    println!("{}", DISTANCES.map(|(name, ..)| format!("{name:>18}")).concat());
    for outcome in outcomes {
        for sleep in [true, false] {
            let how = if sleep { "park" } else { "yield" };
            print!("  {:<28}{how:<7}", outcome.load.name);
            for (_, least, below) in DISTANCES {
                let ratio = outcome.ratio_where(sleep, least, below);
                let text = ratio.map(|(ratio, rounds)| format!("{ratio:.2} ({rounds})"));
                print!("{:>18}", text.unwrap_or_default());
            }
            println!();
        }
    }
}

fn print_costs(costs: &[transfers::Cost]) {
    println!("\nSimulated: a message's time over that of a line's transfer\n");
    println!("  {:<10}{:>9}{:>10}{:>12}{:>8}", "", "distance", "one way", "round trip", "ring");
    for transfers::Cost { machine, distance, one_way, round_trip, ring } in costs {
        println!("  {machine:<10}{distance:>9}{one_way:>10.2}{round_trip:>12.2}{ring:>8.2}");
    }
    println!();
}
