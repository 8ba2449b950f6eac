//! Section 5.4 of the paper on MPI's passive target: the placement of synchronization data (M5).

use super::check::{Part, that};
use crate::figure::Book;
use crate::figures::placement::{CENTRAL, SPREAD};
use crate::figures::sentence::number;

/// A speedup is "linear" if it is at least this share of the number of cores.
const LINEAR: f64 = 0.8;
/// A speedup is "poor" if it is at most this share of the speedup with data spread over the
/// controllers.
const POOR: f64 = 0.6;

/// Checks M5.
pub fn check(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("scc-figure-5", "scc") else { return Vec::new() };
    let all = panel.last();
    let [spread, central] = [SPREAD, CENTRAL].map(|name| panel.value(name, all));
    let (spread, central) = (spread.unwrap_or(f64::NAN), central.unwrap_or(f64::NAN));
    let told = |speedup| format!("{} on {all} cores", number(speedup));
    vec![
        that("spread: scales", spread >= LINEAR * all as f64, told(spread), "linear"),
        that("in one place: does not", central <= POOR * spread, told(central), "poor"),
    ]
}
