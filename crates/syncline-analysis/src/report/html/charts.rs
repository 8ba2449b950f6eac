//! The two pictures, as inline SVG: waits by length, and the quadrants.

use std::fmt::Write;

use super::escape::Escaped;
use super::tables::ROWS;
use crate::model::{Histogram, Lock, Process};
use crate::options::Thresholds;
use crate::report::number::{duration, grouped, percent, rate};

/// Waits by length: one bar for each doubling, its height on a logarithmic scale. Empty if
/// there were no waits.
pub fn histogram(histogram: &Histogram, title: &str) -> String {
    const BAR: f64 = 18.0;
    const HEIGHT: f64 = 90.0;
    // The first bucket starts at 0; its place is that of the doubling below its end.
    let lower =
        |b: &crate::model::Bucket| if b.from > 0.0 { b.from } else { b.to.unwrap_or(1.0) / 2.0 };
    let buckets = &histogram.buckets;
    let Some(first) = buckets.first().map(&lower) else { return String::new() };
    let place = |b: &crate::model::Bucket| (lower(b) / first).log2().round();
    let bars = buckets.last().map_or(1.0, place) + 1.0;
    let most = buckets.iter().map(|b| b.waits).max().unwrap_or(1) as f64;
    let width = (bars * BAR).max(3.0 * BAR) + 40.0;
    let mut svg = format!(
        "<svg class=\"chart\" role=\"img\" aria-label=\"{0}\" width=\"{width:.0}\" height=\"{1}\" \
         viewBox=\"0 0 {width:.0} {1}\">",
        Escaped(title),
        HEIGHT + 24.0
    );
    for bucket in buckets {
        let height = HEIGHT * (1.0 + bucket.waits as f64).ln() / (1.0 + most).ln();
        let to = bucket.to.map_or("longer".to_owned(), duration);
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"2\">\
             <title>{} waits of {} to {to}</title></rect>",
            place(bucket) * BAR + 1.0,
            HEIGHT - height + 2.0,
            BAR - 2.0,
            grouped(bucket.waits),
            duration(bucket.from)
        );
    }
    let _ = write!(svg, "<path class=\"axis\" d=\"M0 {0}H{width:.0}\"/>", HEIGHT + 2.0);
    for step in (0..=bars as usize).step_by(5) {
        let at = first * 2f64.powi(step as i32);
        let x = step as f64 * BAR;
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{}\">{}</text>", HEIGHT + 18.0, duration(at));
    }
    svg + "</svg>"
}

/// The quadrants: a dot for each lock, its area by time waited.
pub fn quadrants(process: &Process, thresholds: &Thresholds) -> String {
    let plot = Plot::new(process, thresholds);
    let (x, y) = (plot.x(thresholds.acquisitions_per_second), plot.y(thresholds.contention));
    let mut svg = format!(
        "<svg class=\"chart plot\" role=\"img\" viewBox=\"0 0 {} {}\" aria-label=\"Locks by \
         acquisitions in a second and by contention\">",
        Plot::RIGHT + 40.0,
        Plot::BOTTOM + 40.0
    );
    let _ = write!(
        svg,
        "<rect class=\"field\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\"/>\
         <path class=\"threshold\" d=\"M{x:.1} {1}V{4}M{0} {y:.1}H{5}\"/>",
        Plot::LEFT,
        Plot::TOP,
        Plot::RIGHT - Plot::LEFT,
        Plot::BOTTOM - Plot::TOP,
        Plot::BOTTOM,
        Plot::RIGHT
    );
    let (left, right, top, bottom) =
        (Plot::LEFT + 8.0, Plot::RIGHT - 8.0, Plot::TOP + 20.0, Plot::BOTTOM - 8.0);
    for (label, x, y, anchor) in [
        ("Q1", left, top, "start"),
        ("Q2", right, top, "end"),
        ("Q3", left, bottom, "start"),
        ("Q4", right, bottom, "end"),
    ] {
        let _ = write!(
            svg,
            "<text class=\"corner\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>"
        );
    }
    plot.axes(&mut svg);
    // The small ones last, so that they are not hidden.
    for lock in process.only_locks().take(ROWS) {
        plot.dot(&mut svg, lock);
    }
    svg + "</svg>"
}

struct Plot {
    /// Powers of ten at the left and the right end.
    decades: (f64, f64),
    /// Contention at the top.
    highest: f64,
    most_waited: f64,
}

impl Plot {
    const LEFT: f64 = 48.0;
    const RIGHT: f64 = 620.0;
    const TOP: f64 = 16.0;
    const BOTTOM: f64 = 260.0;

    fn new(process: &Process, thresholds: &Thresholds) -> Plot {
        let rates =
            || process.only_locks().map(|l| l.figures.calls_per_second).filter(|&r| r > 0.0);
        let threshold = thresholds.acquisitions_per_second.max(1.0);
        let lowest = rates().fold(threshold / 100.0, f64::min).max(0.01);
        let highest = rates().fold(threshold * 100.0, f64::max).min(1e12);
        let contentions = process.only_locks().map(|l| l.figures.contention);
        let contended = contentions.fold(3.0 * thresholds.contention, f64::max);
        Plot {
            decades: (lowest.log10().floor(), highest.log10().ceil()),
            highest: (10.0 * contended).ceil().clamp(1.0, 10.0) / 10.0,
            most_waited: process.only_locks().map(|l| l.figures.waited).fold(0.0, f64::max),
        }
    }

    fn x(&self, per_second: f64) -> f64 {
        let (low, high) = self.decades;
        let share = (per_second.max(1e-9).log10().clamp(low, high) - low) / (high - low);
        Plot::LEFT + share * (Plot::RIGHT - Plot::LEFT)
    }

    fn y(&self, contention: f64) -> f64 {
        let share = (contention / self.highest.max(1e-9)).clamp(0.0, 1.0);
        Plot::BOTTOM - share * (Plot::BOTTOM - Plot::TOP)
    }

    fn axes(&self, svg: &mut String) {
        let (low, high) = self.decades;
        let step = ((high - low) / 6.0).ceil().max(1.0);
        let mut decade = low;
        while decade <= high {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}/s</text>",
                self.x(10f64.powf(decade)),
                Plot::BOTTOM + 16.0,
                rate(10f64.powf(decade))
            );
            decade += step;
        }
        for share in [0.0, 0.5, 1.0] {
            let contention = share * self.highest;
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                Plot::LEFT - 6.0,
                self.y(contention) + 4.0,
                percent(contention)
            );
        }
        let middle = (Plot::LEFT + Plot::RIGHT) / 2.0;
        let _ = write!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">acquisitions in a second; \
             upwards: share that was contended</text>",
            Plot::BOTTOM + 34.0
        );
    }

    fn dot(&self, svg: &mut String, lock: &Lock) {
        let figures = &lock.figures;
        let weight = if self.most_waited > 0.0 { figures.waited / self.most_waited } else { 0.0 };
        let quadrant = lock.quadrant.map(|q| format!("{q:?}")).unwrap_or_default();
        let _ = write!(
            svg,
            "<circle class=\"dot {quadrant}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\"><title>{}: waited \
             {}, contended {}, {}/s</title></circle>",
            self.x(figures.calls_per_second),
            self.y(figures.contention),
            3.0 + 11.0 * weight.sqrt(),
            Escaped(&lock.name),
            duration(figures.waited),
            percent(figures.contention),
            rate(figures.calls_per_second)
        );
    }
}
