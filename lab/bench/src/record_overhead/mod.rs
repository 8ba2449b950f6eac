//! The cost of `syncline record` for a program, in time and in memory.
//!
//! The baseline is the program alone. The subject is the same program under the `syncline` command
//! in the folder of this executable. There are four groups of cases:
//!
//! - [`pair`]: an uncontended pair of calls in a loop, in added nanoseconds;
//! - [`threads`]: two threads that seldom contend, and 92,000 locks at the highest rate;
//! - [`shapes`]: small programs whose structure is hard to record;
//! - [`nothing`] and [`crate::programs`]: a program that does nothing, which shows the part of the
//!   cost that doesn't grow with the program; then pbzip2, x264 and memcached from Debian's
//!   packages.
//!
//! Given a folder of the user's own programs, the benchmark runs these instead ([`described`]).
//!
//! The aims are ours. SyncPerf, which records the same data, reports 2.3 % more time on average, 19
//! % at worst, and 36 % more memory.

mod cost;
pub mod described;
mod nothing;
mod pair;
mod peer;
mod shapes;
mod threads;

pub use pair::figures;
pub use peer::Peer;

use serde::Serialize;

use crate::compare::{self, Case, Row};
use crate::lab::Lab;
use crate::origin;
use crate::programs::{self, Aims, Programs};
use crate::recorder::Recorder;
use crate::size::Size;
use crate::statistics::geometric_mean;
use crate::table::Table;

const PROGRAMS: &str = "Programs";
const MEAN: &str = "geometric mean";
/// At most one per cent more time, and at most as much additional memory as SyncPerf needs.
const AIMS: Aims = Aims { time: Some(1.01), memory: Some(1.36) };

/// The last line of output. Each ratio is the value with recording over the value without.
#[derive(Serialize)]
struct Summary {
    /// Nanoseconds that recording adds to an uncontended lock and unlock of a mutex. This is the
    /// larger of two values: for a process with one thread, and for one with two.
    pair_added_ns: f64,
    /// The ratio of the times to acquire 92,000 mutexes in grid order.
    grid_ratio: f64,
    /// The ratios of processor time for the programs of [`shapes`]: the geometric mean, and the
    /// worst.
    shapes_ratio: f64,
    shapes_worst: f64,
    /// The geometric mean of the three real programs' ratios of wall time.
    programs_ratio: f64,
    /// The geometric mean of the three real programs' ratios of peak resident memory.
    memory_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  pair_added_ns   nanoseconds added to lock and unlock of an uncontended mutex: the larger of a
                  process with one thread and one with two
  grid_ratio      time with recording over time without, 92,000 locks in grid order, after
                  the first sweep
  shapes_ratio    processor time with recording over without: geometric mean over the shapes of
                  programs
  shapes_worst    the largest of these
  programs_ratio  wall time likewise: geometric mean over three programs
  memory_ratio    peak memory likewise: geometric mean over three programs
";

pub fn run(size: Size) -> anyhow::Result<String> {
    println!("{}\n", origin::recorder()?);
    let lab = Lab::new(size)?;
    let recorder = Recorder::find(&lab)?;
    let mut cases = pair::cases(&lab, &recorder)?;
    cases.extend(threads::cases(&lab, &recorder)?);
    cases.extend(shapes::cases(&lab, &recorder)?);
    cases.push(nothing::case(PROGRAMS, &lab, &recorder)?);
    let programs = Programs { lab: &lab, wrapper: &recorder, section: PROGRAMS, aims: AIMS };
    cases.extend(programs.cases()?);
    let names: Vec<String> = cases.iter().map(|case: &Case| case.name.clone()).collect();

    println!("What recording costs: without and with it, in turn; medians over the pairs of runs");
    let mut table = Table::new("without", "with");
    let mut rows = compare::run_showing(cases, 1, |rows| table.print(rows))?;
    let of = |section: &str, measure: &str| -> Vec<&Row> {
        rows.iter().filter(|row| row.section == section && row.measure.label == measure).collect()
    };
    let shapes: Vec<f64> =
        of(shapes::SECTION, programs::CPU).iter().map(|row| row.change().median).collect();
    let means = [programs::WALL, programs::CPU, programs::PEAK]
        .map(|measure| Row::mean(MEAN, &of(PROGRAMS, measure)));
    table.print(&means);
    rows.extend(means);
    print_acquisitions(&lab, &recorder, &names)?;

    let change = |case: &str, measure: &str| {
        let found = rows.iter().find(|row| row.case == case && row.measure.label == measure);
        rounded(found.expect("every case was run").change().median)
    };
    let pair_added = |case| change(case, pair::TIME);
    let summary = Summary {
        pair_added_ns: pair_added(pair::LOCK_ALONE).max(pair_added(pair::LOCK_OF_TWO)),
        grid_ratio: change(threads::GRID, threads::TIME),
        shapes_ratio: rounded(geometric_mean(shapes.iter().copied())),
        shapes_worst: rounded(shapes.iter().copied().fold(0.0, f64::max)),
        programs_ratio: change(MEAN, programs::WALL),
        memory_ratio: change(MEAN, programs::PEAK),
    };
    Ok(serde_json::to_string(&summary)?)
}

/// Rounds to four decimal places.
fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

/// Prints the numbers of recorded acquisitions, which show that recording took place.
fn print_acquisitions(lab: &Lab, recorder: &Recorder, cases: &[String]) -> anyhow::Result<()> {
    println!("\nAcquisitions recorded in the last run of each case");
    for case in cases {
        if case != nothing::NAME {
            let (acquisitions, dropped) = recorder.acquisitions(case)?;
            let lost = if dropped == 0 { String::new() } else { format!(", {dropped} DROPPED") };
            let wrong = match shapes::counted(lab, case)? {
                Some(count) if count != acquisitions => format!(", MISCOUNTED: it took {count}"),
                _ => String::new(),
            };
            println!("  {case:<40}{acquisitions:>14}{lost}{wrong}");
        }
    }
    println!();
    Ok(())
}
