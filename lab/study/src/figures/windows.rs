//! Figures 6 to 8 and Tables 2 and 3 of the paper on MPI's passive target: window locks on the SCC.

use syncline_sim::Machine;

use super::plan::Plan;
use super::sentence::number;
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::{Effort, Lab, each};
use crate::stress::windows::{Scheme, pairs, write_and_unlock};
use crate::target::Target;
use crate::world::Elsewhere;

type Measure = fn(&Lab, &Target) -> Option<Panel>;

/// The plan of a figure over numbers of processes.
const fn over(id: &'static str, title: &'static str, kind: Kind, measure: Measure) -> Plan {
    let (x, y) = ("processes", "median of lock and unlock, microseconds");
    Plan { id, title, x, y, kind, measure, says }
}

/// The plan of the SCC's figure 6.
pub const SHARED: Plan =
    over("scc-figure-6", "Locks of a window that are only shared", Kind::Lines, |lab, target| {
        over_processes(lab, target, 0.0)
    });
/// The plan of the SCC's figure 7.
pub const MIXED: Plan = over(
    "scc-figure-7",
    "Locks of a window, half of them shared",
    Kind::LogLines,
    |lab, target| over_processes(lab, target, 0.5),
);
/// The plan of the SCC's figure 8.
pub const EXCLUSIVE: Plan = over(
    "scc-figure-8",
    "Locks of a window, none of them shared",
    Kind::LogLines,
    |lab, target| over_processes(lab, target, 1.0),
);

/// The plan of the SCC's table 2.
pub const QUARTILES: Plan = Plan {
    id: "scc-table-2",
    title: "Lock and unlock of a window by 48 processes",
    x: "quartile",
    y: "microseconds",
    kind: Kind::Table,
    measure: quartiles,
    says: say_quartiles,
};

/// The plan of the SCC's table 3.
pub const WRITER: Plan = Plan {
    id: "scc-table-3",
    title: "PUT and UNLOCK of a writer while readers wait to lock the same part",
    x: "readers that wait, and bytes",
    y: "microseconds",
    kind: Kind::Table,
    measure: writer,
    says: say_writer,
};

/// The paper's mixes, each with the share of locks that are exclusive.
pub const MIXES: [(&str, f64); 3] = [("shared", 0.0), ("mixed", 0.5), ("exclusive", 1.0)];
/// The name of a set of readers, and the cores on which these run.
pub type Readers = (&'static str, fn() -> Vec<usize>);

/// Table 3's sets of readers. A name has the number of readers and their distance from the writer.
pub const READERS: [Readers; 6] = [
    ("0", Vec::new),
    ("1 close", || vec![1]),
    ("1 distant", || vec![6]),
    ("11 close", || (1..6).chain(12..18).collect()),
    ("11 distant", || (6..12).chain(18..23).collect()),
    ("47", || (1..48).collect()),
];
/// Table 3's message sizes, in bytes.
pub const BYTES: [usize; 3] = [32, 512, 1024];

/// The numbers of processes of figures 6 to 8.
const PROCESSES: [usize; 10] = [1, 2, 4, 6, 8, 12, 24, 32, 36, 48];
/// The number of processes for table 2: one on each core of the SCC.
const ALL: usize = 48;

fn scc(target: &Target) -> Option<&Machine> {
    match target {
        Target::Simulated(machine) if machine.is_uncached() => Some(machine),
        _ => None,
    }
}

fn microseconds(target: &Target, cycles: f64) -> f64 {
    cycles / target.hertz() * 1e6
}

/// The number of pairs of lock and unlock that each process makes: the paper's thousand, or fewer
/// in tests.
fn count(lab: &Lab) -> usize {
    if lab.effort == Effort::Small { 100 } else { 1000 }
}

fn quartile(sorted: &[u64], quarters: usize) -> f64 {
    sorted.get(sorted.len() * quarters / 4).map_or(f64::NAN, |&cycles| cycles as f64)
}

fn over_processes(lab: &Lab, target: &Target, exclusive: f64) -> Option<Panel> {
    let machine = scc(target)?;
    let few: Vec<usize> = PROCESSES.into_iter().filter(|&n| n <= machine.threads()).collect();
    let mut points = Vec::new();
    for (scheme, _) in Scheme::ALL {
        points.extend(few.iter().map(|&processes| (scheme, processes)));
    }
    let medians = each::<Elsewhere<'_>, _, _>(&points, |&(scheme, processes)| {
        let taken = pairs(machine, scheme, processes, exclusive, count(lab), lab.seed);
        microseconds(target, quartile(&taken, 2))
    });
    let mut medians = medians.into_iter();
    let series = Scheme::ALL.map(|(_, name)| {
        let points = few.iter().zip(&mut medians).map(|(&n, median)| Point::at(n, median));
        Series { name: name.to_owned(), points: points.collect() }
    });
    Some(Panel { machine: machine.description.name.clone(), series: series.into() })
}

/// The name of a row of Table 2.
pub fn row(scheme: &str, mix: &str) -> String {
    format!("{scheme}, {mix}")
}

fn quartiles(lab: &Lab, target: &Target) -> Option<Panel> {
    let machine = scc(target)?;
    let mut rows = Vec::new();
    for (scheme, name) in Scheme::ALL {
        rows.extend(MIXES.map(|(mix, exclusive)| (scheme, exclusive, row(name, mix))));
    }
    let taken = each::<Elsewhere<'_>, _, _>(&rows, |&(scheme, exclusive, _)| {
        pairs(machine, scheme, ALL, exclusive, count(lab), lab.seed)
    });
    let series = rows.into_iter().zip(taken).map(|((_, _, name), taken)| {
        let point = |quarters: usize| Point {
            x: quarters as f64,
            label: format!("Q{quarters}"),
            y: microseconds(target, quartile(&taken, quarters)),
            note: String::new(),
        };
        Series { name, points: (1..=3).map(point).collect() }
    });
    Some(Panel { machine: machine.description.name.clone(), series: series.collect() })
}

fn writer(lab: &Lab, target: &Target) -> Option<Panel> {
    let machine = scc(target)?;
    let rounds = if lab.effort == Effort::Small { 11 } else { 101 };
    let mut cells = Vec::new();
    for (scheme, _) in Scheme::ALL {
        for reading in READERS {
            cells.extend(BYTES.map(|bytes| (scheme, reading, bytes)));
        }
    }
    let times = each::<Elsewhere<'_>, _, _>(&cells, |&(scheme, (_, cores), bytes)| {
        let cycles = write_and_unlock(machine, scheme, &cores(), bytes, rounds, lab.seed);
        microseconds(target, cycles as f64)
    });
    let mut points = cells
        .iter()
        .zip(times)
        .map(|(&(_, (readers, _), bytes), y)| (format!("{readers}, {bytes}"), y));
    let series = Scheme::ALL.map(|(_, name)| {
        let points = points.by_ref().take(READERS.len() * BYTES.len()).enumerate();
        let points =
            points.map(|(at, (label, y))| Point { x: at as f64, label, y, note: String::new() });
        Series { name: name.to_owned(), points: points.collect() }
    });
    Some(Panel { machine: machine.description.name.clone(), series: series.into() })
}

const NOWHERE: &str = "not measured: this figure needs a machine without coherent caches";

fn says(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let all = panel.last();
    let told = panel.series.iter().map(|series| {
        let at = |processes| number(series.value(processes).unwrap_or(f64::NAN));
        format!("{} {} (with 12 processes {})", series.name, at(all), at(12))
    });
    format!(
        "with {all} processes a lock and an unlock take, in microseconds: {}",
        told.collect::<Vec<_>>().join(", ")
    )
}

fn say_quartiles(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let widest = panel.series.iter().max_by(|a, b| spread(a).total_cmp(&spread(b)));
    let widest = widest.map_or(String::new(), |series| {
        format!("{}, {} times its median", series.name, number(spread(series)))
    });
    format!("the widest spread between the first and the third quartile is that of {widest}")
}

/// The distance between the first and the third quartile, as a multiple of the median.
fn spread(series: &Series) -> f64 {
    let of = |quarters| series.value(quarters).unwrap_or(f64::NAN);
    (of(3) - of(1)) / of(2)
}

fn say_writer(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let told = panel.series.iter().map(|series| {
        let last = &series.points[series.points.len() - BYTES.len()..];
        let times: Vec<String> = last.iter().map(|point| number(point.y)).collect();
        format!("{} for {}", times.join(", "), series.name)
    });
    format!(
        "with 47 readers a writer of 32, 512 and 1,024 bytes takes, in microseconds, {}",
        told.collect::<Vec<_>>().join(", and ")
    )
}
