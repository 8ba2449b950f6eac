//! The cost of `syncline inspect` for a program.
//!
//! The baseline is the program alone, and the subject is the same program under the command. There
//! are three groups of cases:
//!
//! - Every critical section is traced: [`locking`]'s programs, which spend much of their time in
//!   critical sections, and the real programs of [`crate::programs`].
//! - The same programs within the default budget, and a program that does nothing, which shows the
//!   time of the start.
//! - Valgrind's lackey, which prints each memory access of the whole program, on the smallest of
//!   these programs.
//!
//! The aims are the budget, and for full traces a smaller slowdown than SyncPerf reports (section
//! 4.5.2). SyncPerf's slowdown is 8.7 times for memcached, 3.5 for the best program, and 11.7 for
//! fluidanimate, which acquires a lock for each small change.

mod inspector;
mod lackey;
mod locking;
mod nothing;

use std::env;

use serde::Serialize;

use crate::compare::{self, Case, Row};
use crate::lab::Lab;
use crate::programs::{Aims, Programs, WALL};
use crate::size::Size;
use crate::statistics::geometric_mean;
use crate::table::Table;

use inspector::{Budget, Inspector};

const FULL: &str = "Every section";
const BUDGET: &str = "Within the budget";
const LACKEY: &str = "Lackey";

/// SyncPerf's least slowdown by its diagnosis (canneal). It is the aim for programs on which
/// SyncPerf was not run.
const FULL_AIMS: Aims = Aims { time: Some(3.5), memory: None };
/// SyncPerf's slowdown of memcached.
const SYNCPERF_MEMCACHED: f64 = 8.7;
/// SyncPerf's slowdown of fluidanimate. It is the aim for [`locking`]'s programs.
const SYNCPERF_LOCKING: f64 = 11.7;
/// The default budget.
const BUDGET_AIMS: Aims = Aims { time: Some(1.1), memory: None };

/// A case is repeated until its interval is on one side of the aim, but at most this many times.
const LOOKS: usize = 3;
/// The environment variable that names the only program to measure.
const ONLY: &str = "SYNCLINE_BENCH_ONLY";

/// The last line of output. Each ratio is time with tracing over time without.
#[derive(Serialize)]
struct Summary {
    /// The geometric mean over the programs, with every section traced.
    full_ratio: f64,
    /// The ratio of the worst program, within the default budget.
    budget_ratio: f64,
    /// The ratio of the program that valgrind's lackey runs.
    lackey_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  full_ratio    time with every section traced over time without tracing: geometric mean over
                the programs
  budget_ratio  likewise with the default budget: the worst program
  lackey_ratio  likewise under valgrind's lackey: the smallest program
";

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    // A full trace of a program that runs for seconds would reach the trace's size limit, and the
    // rest of the run would cost nothing.
    let short = Lab::new(match size {
        Size::Full => Size::Quick,
        size => size,
    })?;
    let full = Inspector::find(&short, Budget::Unlimited)?;
    let budget = Inspector::find(&lab, Budget::Default)?;
    let sides: [(&Lab, &Inspector, &'static str, Aims, usize); 2] = [
        (&short, &full, FULL, FULL_AIMS, size.pick(1, 1, 5)),
        (&lab, &budget, BUDGET, BUDGET_AIMS, size.pick(1, 2, 9)),
    ];
    let mut cases = Vec::new();
    for (lab, wrapper, section, aims, pairs) in sides {
        let mut of_section = locking::cases(lab, wrapper, section, aims)?;
        of_section.extend(Programs { lab, wrapper, section, aims }.cases()?);
        cases.extend(of_section.into_iter().map(|case| Case { pairs, ..case }));
    }
    for case in cases.iter_mut().filter(|case| case.section == FULL) {
        let aim = match &*case.name {
            "memcached" => SYNCPERF_MEMCACHED,
            name if locking::NAMES.contains(&name) => SYNCPERF_LOCKING,
            _ => continue,
        };
        // Measures of memory have no aim, so this replaces only the aims for time.
        case.measures.iter_mut().filter_map(|m| m.aim.as_mut()).for_each(|given| *given = aim);
    }
    cases.push(nothing::case(&lab, &budget, BUDGET)?);
    cases.push(lackey::case(&lab, LACKEY)?);

    if let Ok(only) = env::var(ONLY) {
        cases.retain(|case| case.name == only);
    }

    println!("What inspecting costs: without and with it, in turn; medians over the pairs of runs");
    let mut table = Table::new("without", "with");
    let rows = compare::run_showing(cases, size.pick(1, 1, LOOKS), |rows| table.print(rows))?;

    let ratios = |section: &str| -> Vec<f64> {
        let of_section = |row: &&Row| row.section == section && row.measure.label == WALL;
        rows.iter().filter(of_section).map(|row| row.change().median).collect()
    };
    let rounded = |ratio: f64| (ratio * 1e3).round() / 1e3;
    let summary = Summary {
        full_ratio: rounded(geometric_mean(ratios(FULL).into_iter())),
        budget_ratio: rounded(ratios(BUDGET).into_iter().fold(0.0, f64::max)),
        lackey_ratio: rounded(geometric_mean(ratios(LACKEY).into_iter())),
    };
    Ok(serde_json::to_string(&summary)?)
}
