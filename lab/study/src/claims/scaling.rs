//! Sections 6.1.2, 6.1.3 and 8: scalability under different contention (S10), and that no lock is
//! best everywhere (S11).

use std::collections::BTreeSet;

use super::check::{Part, SAME, near, that};
use crate::figure::{Book, Panel, Series};
use crate::figures::NINE;
use crate::figures::scalability::{LOCKS, THREADS, name};
use crate::figures::sentence::number;
use crate::figures::uncontended::ALONE;
use crate::target::MACHINES;

/// S10: the throughput of the best lock scales "poorly" if it is less than this many times that of
/// one thread, with every number of threads.
const POORLY: f64 = 2.0;
/// The number of cores of a socket of the Xeon.
const SOCKET: usize = 10;

/// The throughput of the best of SSYNC's locks with `threads` threads, divided by that with one
/// thread; `None` if one of the two was not measured.
fn scalability(panel: &Panel, locks: usize, threads: usize) -> Option<f64> {
    let series = panel.series(&name(locks))?;
    Some(series.value(threads)? / series.value(1)?)
}

/// Checks S10.
pub fn check(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    if let (Some(niagara), Some(tilera)) =
        (book.panel("figure-8", "niagara"), book.panel("figure-8", "tilera"))
    {
        let times = |panel| scalability(panel, LOCKS[0], THREADS).unwrap_or(f64::NAN);
        let what = "4 locks: Niagara's scalability over Tilera's";
        parts.push(near(what, times(niagara) / times(tilera), 1.7, 0.25));
    }
    if let Some(panel) = book.panel("figure-8", "xeon") {
        for locks in &LOCKS[1..] {
            let at = |threads| panel.value(&name(*locks), threads).unwrap_or(f64::NAN);
            let (two, socket, more) = (at(2), at(SOCKET), at(SOCKET + 1));
            let told = [two, socket, more].map(number).join(", ");
            let what =
                format!("xeon, {locks} locks: scales in a socket, falls beyond (2, 10, 11 cores)");
            parts.push(that(what, socket > two && more < socket, told, "rises, falls"));
        }
    }
    if let Some(panel) = book.panel("figure-8", "opteron") {
        for locks in LOCKS {
            let points = panel.series(&name(locks)).map_or(&[][..], |series| &series.points);
            let times = |threads: f64| scalability(panel, locks, threads as usize);
            let most = points.iter().filter_map(|point| times(point.x)).fold(0.0, f64::max);
            let what = format!("opteron, {locks} locks: scales poorly");
            parts.push(that(
                what,
                most < POORLY,
                format!("{} times at most", number(most)),
                "poorly",
            ));
        }
    }
    parts
}

/// For each workload on a machine, the locks that are best or as good as the best. Figure 8 names
/// only the best lock of each workload.
fn winners<'a>(book: &'a Book, machine: &str) -> Vec<BTreeSet<&'a str>> {
    let mut workloads = Vec::new();
    for id in ["figure-5", "figure-7"] {
        let Some(panel) = book.panel(id, machine) else { continue };
        let steps = panel.series.first().map_or(&[][..], |series| &series.points);
        workloads.extend(steps.iter().map(|step| level(panel, |s| s.value(step.x as usize))));
    }
    if let Some(panel) = book.panel("figure-8", machine) {
        let notes = panel.series.iter().flat_map(|series| &series.points);
        let lock = |note: &'a str| note.rsplit(' ').next().unwrap_or_default();
        workloads.extend(notes.map(|point| BTreeSet::from([lock(&point.note)])));
    }
    if let Some(panel) = book.panel("figure-6", machine) {
        let places = panel.series.first().map_or(&[][..], |series| &series.points);
        let places = places.iter().filter(|place| place.label != ALONE);
        workloads.extend(
            places.map(|place| level(panel, |s| s.value(place.x as usize).map(|y| 1.0 / y))),
        );
    }
    workloads
}

/// The names of the series with the greatest value, and of those that are as good up to [`SAME`].
fn level(panel: &Panel, value: impl Fn(&Series) -> Option<f64>) -> BTreeSet<&str> {
    let values: Vec<(&str, f64)> =
        panel.series.iter().filter_map(|s| Some((s.name.as_str(), value(s)?))).collect();
    let most = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let good = values.into_iter().filter(|(_, value)| *value >= most * (1.0 - SAME));
    good.map(|(name, _)| name).collect()
}

/// Checks S11.
pub fn none_is_best(book: &Book) -> Vec<Part> {
    let by_machine: Vec<(&str, Vec<BTreeSet<&str>>)> =
        MACHINES.map(|machine| (machine, winners(book, machine))).into();
    if by_machine.iter().any(|(_, workloads)| workloads.is_empty()) {
        return Vec::new();
    }
    let always = |workloads: &[BTreeSet<&str>]| {
        let best = NINE.into_iter().filter(|lock| workloads.iter().all(|w| w.contains(lock)));
        best.collect::<Vec<_>>().join(", ")
    };
    let none = |names: String| if names.is_empty() { "none".to_owned() } else { names };
    let mut parts: Vec<Part> = by_machine
        .iter()
        .map(|(machine, workloads)| {
            let best = always(workloads);
            let what = format!("{machine}: best in all {} workloads", workloads.len());
            that(what, best.is_empty(), none(best), "none")
        })
        .collect();
    let all: Vec<BTreeSet<&str>> = by_machine.into_iter().flat_map(|(_, w)| w).collect();
    let best = always(&all);
    parts.push(that("best on all machines", best.is_empty(), none(best), "none"));
    let never = NINE.into_iter().filter(|lock| !all.iter().any(|w| w.contains(lock)));
    let never = never.collect::<Vec<_>>().join(", ");
    parts.push(that("best nowhere", never.is_empty(), none(never), "none of nine"));
    parts
}
