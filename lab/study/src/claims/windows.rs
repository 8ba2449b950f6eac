//! Sections 6.3 and 6.4 of the paper on MPI's passive target: locks of windows (M1 to M4).

use super::check::{Part, SAME, near, that};
use crate::figure::{Book, Panel};
use crate::figures::sentence::number;
use crate::figures::windows::{BYTES, MIXES, READERS, row};

const MACHINE: &str = "scc";
/// Table 2's medians, in microseconds: shared, mixed, exclusive.
const MEDIANS: [(&str, [f64; 3]); 3] = [
    ("GBH", [3.39, 13.62, 54.86]),
    ("GBH back-off", [3.35, 6.33, 12.31]),
    ("MCS-WP", [20.13, 20.52, 16.90]),
];
/// Table 3, in microseconds. Each row is for a number and a distance of readers. In a row, the
/// values of GBH with back-off come before those of MCS-WP. Each scheme has three values, one for
/// each size.
const WRITER: [[[f64; 3]; 2]; 6] = [
    [[5.4, 18.8, 34.3], [4.9, 18.4, 33.9]],
    [[6.3, 20.2, 35.6], [8.7, 22.0, 37.4]],
    [[6.5, 19.9, 35.4], [6.8, 22.5, 38.1]],
    [[13.2, 46.0, 86.3], [18.3, 51.7, 90.9]],
    [[12.9, 45.3, 86.1], [10.6, 24.6, 41.0]],
    [[90.6, 136.4, 244.4], [23.1, 51.7, 89.7]],
];
/// "Near constant" means that the time grows at most by this factor from 12 processes to 48.
const CONSTANT: f64 = 1.5;
/// "Linear" means that the time grows at least by this factor with four times the processes.
const LINEAR: f64 = 2.5;

/// Checks M1.
pub fn quartiles(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("scc-table-2", MACHINE) else { return Vec::new() };
    let median = |scheme: &str, mix: &str| panel.value(&row(scheme, mix), 2).unwrap_or(f64::NAN);
    let mut parts = Vec::new();
    for (scheme, medians) in MEDIANS {
        for ((mix, _), paper) in MIXES.iter().zip(medians) {
            let (what, ours) = (format!("{}, median", row(scheme, mix)), median(scheme, mix));
            parts.push(near(what, ours, paper, 0.25).if_there(ours));
        }
    }
    for (mix, _) in MIXES {
        let (below, above) = (median("GBH back-off", mix), median("MCS-WP", mix));
        let told = format!("{} and {}", number(below), number(above));
        let holds = below < above * (1.0 - SAME);
        parts.push(that(format!("{mix}: GBH back-off is below MCS-WP"), holds, told, "below"));
    }
    parts
}

/// Checks M2.
pub fn grows(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for (figure, mix) in [("scc-figure-7", "mixed"), ("scc-figure-8", "exclusive")] {
        let Some(panel) = book.panel(figure, MACHINE) else { continue };
        for (scheme, _) in MEDIANS {
            let grown = grown(panel, scheme, 12, 48);
            let told = format!("{} times from 12 to 48", number(grown));
            let (what, holds) = match scheme {
                "GBH" => ("grows linearly", grown >= LINEAR),
                _ => ("is near constant", grown <= CONSTANT),
            };
            let part = that(format!("{}: {what}", row(scheme, mix)), holds, told, what);
            parts.push(part.if_there(grown));
        }
    }
    parts
}

fn grown(panel: &Panel, scheme: &str, from: usize, to: usize) -> f64 {
    let value = |processes| panel.value(scheme, processes).unwrap_or(f64::NAN);
    value(to) / value(from)
}

/// Checks M3.
pub fn controllers(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("scc-figure-6", MACHINE) else { return Vec::new() };
    let (rises, stays) = (grown(panel, "MCS-WP", 8, 24), grown(panel, "MCS-WP", 24, 48));
    let drops = grown(panel, "MCS-WP", 24, 32);
    let told = |times: f64| format!("{} times", number(times));
    vec![
        that("rises from 8 to 24 processes", rises > 1.1, told(rises), "rises"),
        that("stays from 24 to 48", (0.85..=1.15).contains(&stays), told(stays), "stays"),
        that("drops at 32", drops < 1.0 - SAME / 2.0, told(drops), "slightly"),
    ]
}

/// Checks M4.
pub fn writer(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("scc-table-3", MACHINE) else { return Vec::new() };
    let mut parts = Vec::new();
    let schemes = ["GBH back-off", "MCS-WP"];
    let value = |scheme: &str, at: usize| panel.value(scheme, at).unwrap_or(f64::NAN);
    for (place, (readers, _)) in READERS.iter().enumerate() {
        for (scheme, paper) in schemes.iter().zip(WRITER[place]) {
            for (size, bytes) in BYTES.iter().enumerate() {
                let what = format!("{scheme}, readers {readers}, {bytes} bytes");
                let ours = value(scheme, place * BYTES.len() + size);
                parts.push(near(what, ours, paper[size], 0.3));
            }
        }
    }
    for (size, bytes) in BYTES.iter().enumerate() {
        let at = (READERS.len() - 1) * BYTES.len() + size;
        let ahead = value(schemes[0], at) / value(schemes[1], at);
        let told = format!("{} times", number(ahead));
        let holds = (2.7 * 0.7..=3.9 * 1.3).contains(&ahead);
        let what = format!("47 readers, {bytes} bytes: MCS-WP is ahead");
        parts.push(that(what, holds, told, "2.7 to 3.9 times"));
    }
    parts
}
