//! Section 6.3: the hash table (S15 to S17).

use super::check::{Part, SAME, median, near, that};
use crate::figure::{Book, Panel};
use crate::figures::scalability::THREADS;
use crate::figures::sentence::number;
use crate::figures::table::{SERVED, SHAPES, name};
use crate::target::MACHINES;

/// Locks of one or two words on which waiters spin.
const SPIN: [&str; 3] = ["tas", "ttas", "ticket"];

/// The highest value of a series.
fn most(panel: &Panel, name: &str) -> f64 {
    let points = panel.series(name).map_or(&[][..], |series| &series.points);
    points.iter().map(|point| point.y).fold(0.0, f64::max)
}

/// The value of a series at the greatest measured number of threads.
fn last(panel: &Panel, name: &str) -> f64 {
    panel.value(name, panel.last()).unwrap_or(f64::NAN)
}

/// Checks S15.
pub fn low_contention(book: &Book) -> Vec<Part> {
    let [short, long] = [name(SHAPES[0]), name(SHAPES[1])];
    let mut parts = Vec::new();
    let mut highest = Vec::new();
    for machine in MACHINES {
        let Some(panel) = book.panel("figure-11", machine) else { continue };
        highest.push((machine, most(panel, &short)));
        let scales = |name: &str| last(panel, name) / panel.value(name, 1).unwrap_or(f64::NAN);
        let (few, many) = (scales(&short), scales(&long));
        let told = format!("{} with 12 keys, {} with 48", number(few), number(many));
        let (what, holds) = match machine {
            "tilera" => ("longer sections scale no better", many <= few * (1.0 + SAME)),
            _ => ("longer sections scale better", many > few),
        };
        parts.push(that(format!("{machine}: {what}"), holds, told, what));
        let below = [&short, &long]
            .map(|name| (last(panel, &format!("{name}{SERVED}")), last(panel, name)));
        let told =
            below.map(|(served, locked)| format!("{} below {}", number(served), number(locked)));
        let holds = below.iter().all(|(served, locked)| served < locked);
        parts.push(that(
            format!("{machine}: messages below locks"),
            holds,
            told.join(", "),
            "below",
        ));
        let points = panel.series(&short).map_or(&[][..], |series| &series.points);
        let simple = points.iter().filter(|point| SPIN.contains(&point.note.as_str())).count();
        let told = format!("{simple} of {} points", points.len());
        let holds = 2 * simple > points.len();
        parts.push(that(format!("{machine}: spin locks are best"), holds, told, "best"));
    }
    let best = highest.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some((machine, value)), true) = (best, highest.len() == MACHINES.len()) {
        let told = format!("{machine}, {} Mops/s", number(*value));
        parts.push(that("highest throughput", *machine == "xeon", told, "xeon"));
    }
    parts
}

/// Checks S16.
pub fn high_contention(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in MACHINES {
        let Some(panel) = book.panel("figure-11", machine) else { continue };
        let ratios = SHAPES[2..].iter().map(|&shape| {
            last(panel, &format!("{}{SERVED}", name(shape))) / last(panel, &name(shape))
        });
        let ratio = median(ratios);
        let told = format!("{} times the best lock", number(ratio));
        let (what, holds) = match machine {
            "niagara" => ("messages do not beat locks", ratio <= 1.0),
            _ => ("messages beat locks", ratio > 1.0),
        };
        parts.push(that(format!("{machine}: {what}"), holds, told, what));
    }
    if let Some(panel) = book.panel("figure-11", "niagara") {
        let scales = SHAPES[2..].iter().filter_map(|&shape| {
            Some(panel.value(&name(shape), THREADS)? / panel.value(&name(shape), 1)?)
        });
        let most = scales.fold(0.0, f64::max);
        parts.push(near("niagara: 36 threads, times one", most, 10.0, 0.25));
    }
    parts
}

/// S17: in the paper, throughput without pinning is lower by a factor from 4 to 6. The claim still
/// holds with a quarter less than the smaller factor, or a quarter more than the greater one.
const LOWER: (f64, f64) = (4.0, 6.0);

/// Checks S17.
pub fn unpinned(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in ["opteron", "xeon"] {
        let panels = (book.panel("figure-11", machine), book.panel("figure-11-unpinned", machine));
        let (Some(pinned), Some(free)) = panels else { continue };
        for &shape in &SHAPES[2..] {
            // The best value with locks or with servers, among those with several threads: pinning
            // makes no difference to a single thread.
            let best = |panel: &Panel| {
                let ways = [name(shape), format!("{}{SERVED}", name(shape))];
                let series = ways.iter().filter_map(|way| panel.series(way));
                let points = series.flat_map(|series| &series.points);
                points.filter(|p| p.x > 1.0).map(|p| p.y).fold(0.0, f64::max)
            };
            let (pinned, free) = (best(pinned), best(free));
            let told = format!("{} times lower", number(pinned / free));
            let holds = (LOWER.0 * 0.75..=LOWER.1 * 1.25).contains(&(pinned / free));
            parts.push(that(format!("{machine}, {}", name(shape)), holds, told, "4 to 6 times"));
        }
    }
    parts
}
