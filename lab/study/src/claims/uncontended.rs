//! Section 6.1.1: the cost of a free lock, by the position of its last holder (S7).

use super::check::{Part, between, median, near, that};
use crate::figure::{Book, Panel, Series};
use crate::figures::sentence::number;

/// The greatest change of the latency that counts as "unchanged" (`UNCHANGED`), and the greatest
/// increase that counts as "slightly more" (`SLIGHTLY`), as shares of the local latency.
const UNCHANGED: f64 = 0.15;
const SLIGHTLY: f64 = 0.35;

fn ratio(series: &Series) -> Option<f64> {
    Some(series.points.last()?.y / series.points.first()?.y)
}

fn farthest(panel: &Panel) -> f64 {
    median(panel.series.iter().filter_map(|series| Some(series.points.last()?.y)))
}

/// Checks S7.
pub fn check(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for (machine, paper) in [("opteron", 12.5), ("xeon", 11.0)] {
        let Some(panel) = book.panel("figure-6", machine) else { continue };
        let ratios = panel.series.iter().filter_map(|s| Some((ratio(s)?, &s.name)));
        let most = ratios.max_by(|a, b| a.0.total_cmp(&b.0));
        let (most, lock) = most.map_or((f64::NAN, ""), |(ratio, name)| (ratio, name));
        parts.push(near(
            format!("{machine}: farthest over local, at most ({lock})"),
            most,
            paper,
            0.25,
        ));
        let middle = farthest(panel);
        parts.push(between(
            format!("{machine}: cycles, the middle lock"),
            middle,
            (350.0, 450.0),
            0.25,
        ));
    }
    for (machine, what, (least, most)) in [
        ("niagara", "unchanged", (1.0 - UNCHANGED, 1.0 + UNCHANGED)),
        ("tilera", "slightly more", (1.0, 1.0 + SLIGHTLY)),
    ] {
        let Some(panel) = book.panel("figure-6", machine) else { continue };
        let middle = median(panel.series.iter().filter_map(ratio));
        let ours = format!("{} times", number(middle));
        let holds = (least..=most).contains(&middle);
        parts.push(that(
            format!("{machine}: farthest over local, the middle lock"),
            holds,
            ours,
            what,
        ));
        parts.push(near(
            format!("{machine}: cycles, the middle lock"),
            farthest(panel),
            200.0,
            0.25,
        ));
    }
    parts
}
