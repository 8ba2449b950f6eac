//! Argo, sections 5.1, 5.2 and 5.4: distributed shared memory (A2 to A4).

use super::check::{Part, SAME, that};
use crate::cluster::programs::{LARGE_PRODUCT, SMALL_PRODUCT};
use crate::figure::{Book, Panel, Series};
use crate::figures::sentence::number;
use crate::figures::shared_memory::{NODE, WRITTEN_BACK};

/// "Neither helps nor hurts" means that the time changes by at most this share.
const LEVEL: f64 = 0.1;
/// "Devastated" means that a program takes more than this many times as long.
const DEVASTATED: f64 = 2.0;
/// "Correlates well" means that the correlation coefficient is at least this.
const CORRELATED: f64 = 0.9;
/// "Flattening out" means that four times the nodes have less than this many times the speedup.
const FLAT: f64 = 1.5;

/// Checks A2.
pub fn schemes(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("argo-figure-8", NODE) else { return Vec::new() };
    let times = |name: &str| -> Vec<f64> {
        panel.series(name).map_or(Vec::new(), |s| s.points.iter().map(|p| p.y).collect())
    };
    let (private, writers) = (times("P/S"), times("P/S3"));
    let logarithms = writers.iter().map(|time| time.ln()).sum::<f64>();
    let (mean, all) =
        ((logarithms / writers.len() as f64).exp(), writers.iter().copied().fold(0.0, f64::max));
    let brought = |times: &[f64]| times.iter().map(|time| 1.0 - time).sum::<f64>();
    let (first, both) = (brought(&private), brought(&writers));
    vec![
        that(
            "P/S3 beats S",
            mean < 1.0 - SAME && all < 1.0 + SAME,
            format!("{} of its time in the mean, {} at most", number(mean), number(all)),
            "beats it",
        ),
        that(
            "private pages bring most of it",
            first > 0.5 * both,
            format!("{} of what P/S3 brings", number(first / both)),
            "the major part",
        ),
        that("naive P/S is no better than S", false, "not built", "no better"),
    ]
}

/// Checks A3.
pub fn buffers(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("argo-figure-9", NODE) else { return Vec::new() };
    let times = || panel.series.iter().filter(|series| !series.name.ends_with(WRITTEN_BACK));
    let slowest = times().map(|s| s.points[0].y).fold(0.0, f64::max);
    let mut worst = 1.0_f64;
    for series in times() {
        let enough = series.points.iter().skip_while(|point| point.y > 1.0 + LEVEL);
        worst = enough.map(|point| (point.y - 1.0).abs() + 1.0).fold(worst, f64::max);
    }
    let correlations = times().filter_map(|series| {
        let written = panel.series(&format!("{}{WRITTEN_BACK}", series.name))?;
        let changes = series.points.iter().any(|point| point.y > 1.0 + LEVEL);
        changes.then(|| correlation(series, written))
    });
    let least = correlations.fold(1.0, f64::min);
    vec![
        that(
            "a minimum is needed",
            slowest > DEVASTATED,
            format!("up to {} times as long with {} pages", number(slowest), first(panel)),
            "some did not complete",
        ),
        that(
            "a larger one neither helps nor hurts",
            worst <= 1.0 + LEVEL,
            format!("at most {} times", number(worst)),
            "neither",
        ),
        that(
            "time follows what is written back",
            least >= CORRELATED,
            format!("correlation at least {}", number(least)),
            "correlates well",
        ),
    ]
}

fn first(panel: &Panel) -> f64 {
    panel.series.first().and_then(|series| series.points.first()).map_or(f64::NAN, |point| point.x)
}

/// Pearson's correlation coefficient of two series.
fn correlation(a: &Series, b: &Series) -> f64 {
    let values = |series: &Series| -> Vec<f64> {
        let all: Vec<f64> = series.points.iter().map(|point| point.y).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        all.into_iter().map(|value| value - mean).collect()
    };
    let (a, b) = (values(a), values(b));
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// Checks A4.
pub fn scaling(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("argo-figure-13", NODE) else { return Vec::new() };
    let speedup = |name: &str, nodes| panel.value(name, nodes).unwrap_or(f64::NAN);
    let gains = |name: &str, to: usize| {
        let (before, after) = (speedup(name, to / 2), speedup(name, to));
        let told = format!("{} after {}", number(after), number(before));
        that(format!("{name}: gains up to {to} nodes"), after > before, told, "gains")
    };
    let flat = |name: &str, from: usize| {
        let (before, after) = (speedup(name, from), speedup(name, 4 * from));
        let told = format!("{} after {}", number(after), number(before));
        that(format!("{name}: flat from {from} nodes on"), after < FLAT * before, told, "flat")
    };
    vec![
        gains("n-body", 32),
        gains("Blackscholes", 128),
        gains("LU", 8),
        flat("LU", 8),
        gains(SMALL_PRODUCT, 8),
        flat(SMALL_PRODUCT, 8),
        gains(LARGE_PRODUCT, 32),
        gains("EP", 128),
        gains("CG", 32),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Point;

    fn series(values: [f64; 3]) -> Series {
        let points = values.iter().enumerate().map(|(x, y)| Point::at(x, *y)).collect();
        Series { name: String::new(), points }
    }

    #[test]
    fn series_that_rise_together_correlate() {
        let with = |values| correlation(&series([1.0, 2.0, 4.0]), &series(values));
        assert!(with([10.0, 12.0, 16.0]) > 0.999);
        assert!(with([16.0, 12.0, 10.0]) < -0.9);
        assert!(with([2.0, 1.0, 2.0]) < CORRELATED);
    }
}
