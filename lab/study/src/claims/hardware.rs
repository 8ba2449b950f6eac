//! Section 5: the tables (S1 to S3), and atomic operations (S5, S6).
//!
//! The tables are in the machines' descriptions. So S1, S2, and the part of S5 about the latency of
//! an atomic operation (alone and with a second core of the same socket) hold by construction.

use super::check::{Part, SAME, near, that};
use super::paper::{PRINTED, Printed};
use crate::figure::{Book, Panel};
use crate::figures::sentence::number;
use crate::figures::tables::{BY_ALL, FAR_DIRECTORY};

/// S1: the greatest relative error that a cell of a table may have.
const CELL: f64 = 0.05;

/// Checks S1.
pub fn tables(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for printed in &PRINTED {
        if let Some(panel) = book.panel("table-2", printed.machine) {
            parts.push(worst_cell(printed, panel).by_construction());
        }
        if let Some(panel) = book.panel("table-3", printed.machine) {
            for &(name, paper) in printed.local {
                let ours = panel.value(name, 0).unwrap_or(f64::NAN);
                let part = near(format!("{}: {name}", printed.machine), ours, paper, CELL);
                parts.push(part.by_construction());
            }
        }
    }
    parts
}

/// A part about all cells of table 2 on a machine, with the greatest error among them.
fn worst_cell(printed: &Printed, panel: &Panel) -> Part {
    let mut worst = (0.0, String::new());
    let mut cells = 0;
    for (row, values) in printed.remote {
        for (column, &paper) in values.iter().enumerate() {
            cells += 1;
            let off = match panel.value(row, column) {
                Some(ours) => (ours - paper).abs() / paper,
                None => f64::INFINITY,
            };
            if off > worst.0 {
                worst = (off, format!(" ({row}, column {})", column + 1));
            }
        }
    }
    let what = format!("{}: {cells} cells of table 2", printed.machine);
    let ours = format!("{} % off at most{}", number(100.0 * worst.0), worst.1);
    that(what, worst.0 <= CELL, ours, "as printed")
}

/// Checks S2.
pub fn shared_by_all(book: &Book) -> Vec<Part> {
    let printed = [("opteron", 296.0), ("xeon", 445.0), ("tilera", 200.0)];
    let part = |(machine, paper)| {
        let ours = book.panel("table-2", machine)?.value(BY_ALL, 0)?;
        Some(near(format!("{machine}: store"), ours, paper, 0.1).by_construction())
    };
    printed.into_iter().filter_map(part).collect()
}

/// Checks S3.
pub fn far_directory(book: &Book) -> Vec<Part> {
    let ours = book.panel("table-2", "opteron").and_then(|panel| panel.value(FAR_DIRECTORY, 0));
    ours.map(|ours| near("opteron: load", ours, 312.0, 0.1)).into_iter().collect()
}

/// The numbers of cores of the Opteron's die and of the Xeon's socket.
const SOCKETS: [(&str, usize); 2] = [("opteron", 6), ("xeon", 10)];

/// Checks S5.
pub fn atomics_of_multi_sockets(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut kept = Vec::new();
    for (machine, socket) in SOCKETS {
        if let Some(panel) = book.panel("figure-4-latency", machine) {
            for (threads, paper) in [(1, 20.0), (2, 120.0)] {
                let ours = panel.value("fai", threads).unwrap_or(f64::NAN);
                let what = format!("{machine}: cycles a call, {threads} cores");
                parts.push(near(what, ours, paper, 0.25).by_construction());
            }
        }
        let Some(panel) = book.panel("figure-4", machine) else { continue };
        let at = |threads| panel.value("fai", threads).unwrap_or(f64::NAN);
        let (within, joined, all) = (at(socket), at(socket + 1), at(panel.last()));
        parts.push(near(format!("{machine}: Mops/s within a socket"), within, 20.0, 0.25));
        let ours = format!("{} to {} Mops/s", number(within), number(joined));
        let what = format!("{machine}: lower once a second socket joins");
        parts.push(that(what, joined < within * (1.0 - SAME), ours, "lower"));
        kept.push(all / within);
    }
    if let [opteron, xeon] = kept[..] {
        let lost = |kept: f64| number(100.0 * (1.0 - kept));
        let ours = format!("{} %, Opteron {} %", lost(xeon), lost(opteron));
        parts.push(that("all cores: Xeon loses more", xeon < opteron, ours, "more"));
    }
    parts
}

/// S6: a throughput "stays" if it keeps at least this share of its greatest value.
const STAYS: f64 = 0.85;

/// Checks S6.
pub fn atomics_of_single_sockets(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in ["niagara", "tilera"] {
        let Some(panel) = book.panel("figure-4", machine) else { continue };
        parts.extend(["cas", "tas", "swap", "fai"].map(|name| rises_and_stays(panel, name)));
    }
    if let Some(panel) = book.panel("figure-4", "niagara") {
        let all = panel.last();
        let [fai, made, tas] =
            ["fai", "cas-fai", "tas"].map(|name| panel.value(name, all).unwrap_or(f64::NAN));
        let ours = format!("{} and {} Mops/s", number(fai), number(made));
        let same = (fai - made).abs() <= 2.0 * SAME * fai;
        parts.push(that("niagara: FAI is as fast as FAI made of CAS", same, ours, "the same"));
        let (name, next) = second(panel, all, "tas");
        let ours = format!("{}, {name} {} Mops/s", number(tas), number(next));
        parts.push(that("niagara: TAS clearly ahead", tas > next * (1.0 + SAME), ours, "ahead"));
    }
    if let Some(panel) = book.panel("figure-4", "tilera") {
        let all = panel.last();
        let fai = panel.value("fai", all).unwrap_or(f64::NAN);
        let (name, next) = second(panel, all, "fai");
        let ours = format!("{}, {name} {} Mops/s", number(fai), number(next));
        parts.push(that("tilera: FAI slightly ahead", fai > next, ours, "slightly ahead"));
    }
    parts
}

fn rises_and_stays(panel: &Panel, name: &str) -> Part {
    let at = |threads| panel.value(name, threads).unwrap_or(f64::NAN);
    let (alone, few, all) = (at(1), at(4), at(panel.last()));
    let points = panel.series(name).map_or(&[][..], |series| &series.points);
    let most = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let ours = [alone, few, most, all].map(number).join(", ");
    let what = format!("{}: {name} rises, then stays (1, 4, best, all)", panel.machine);
    that(what, few > alone && all >= STAYS * most, ours, "rises, stays")
}

/// The series other than `but` with the greatest value at this number of threads, and that value.
fn second<'a>(panel: &'a Panel, threads: usize, but: &str) -> (&'a str, f64) {
    let others = panel.series.iter().filter(|series| series.name != but);
    let values = others.filter_map(|series| Some((series.name.as_str(), series.value(threads)?)));
    values.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("nothing", f64::NAN))
}
