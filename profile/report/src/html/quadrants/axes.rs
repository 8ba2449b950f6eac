//! The axes of the quadrants. Both axes are logarithmic. Locks and call sites without contention
//! are drawn on a line below the lowest share.

use std::fmt::Write;

use syncline_analysis::Thresholds;
use syncline_analysis::model::Figures;
use syncline_present::page::number::rate;

/// Shares of contention that are labelled on the axis.
const SHARES: [f64; 5] = [0.0001, 0.001, 0.01, 0.1, 1.0];

const LEFT: f64 = 64.0;
/// The x coordinate of the field's right end.
pub const RIGHT: f64 = 700.0;
const TOP: f64 = 16.0;
/// The y coordinate of the lowest share, where the logarithmic part ends.
const FLOOR: f64 = 272.0;
/// The y coordinate of locks and call sites without contention.
const NONE: f64 = 292.0;
/// The y coordinate of the field's lower end.
pub const BOTTOM: f64 = 306.0;

/// The horizontal axis, by the exponents of the powers of ten at its ends.
pub struct Axes {
    /// The exponent at the left end.
    pub low: f64,
    /// The exponent at the right end.
    pub high: f64,
}

impl Axes {
    /// Creates axes that include the rates of all figures and the thresholds.
    pub fn new<'a>(figures: impl Iterator<Item = &'a Figures>, thresholds: &Thresholds) -> Axes {
        let threshold = thresholds.acquisitions_per_second.max(1.0);
        let mut range = (threshold / 100.0, threshold * 100.0);
        for rate in figures.map(|f| f.calls_per_second).filter(|&rate| rate > 0.0) {
            range = (range.0.min(rate), range.1.max(rate));
        }
        Axes { low: range.0.max(0.01).log10().floor(), high: range.1.min(1e12).log10().ceil() }
    }

    /// The x coordinate of a number of acquisitions in a second.
    pub fn x(&self, per_second: f64) -> f64 {
        let power = per_second.max(1e-9).log10().clamp(self.low, self.high);
        LEFT + (power - self.low) / (self.high - self.low) * (RIGHT - LEFT)
    }

    /// The y coordinate of a contention, a share from 0 to 1.
    pub fn y(&self, contention: f64) -> f64 {
        if contention <= 0.0 {
            return NONE;
        }
        let lowest = SHARES[0].log10();
        let share = (contention.clamp(SHARES[0], 1.0).log10() - lowest) / -lowest;
        FLOOR - share * (FLOOR - TOP)
    }

    /// Draws the axes, the thresholds, and the names of the quadrants.
    pub fn draw(&self, svg: &mut String, thresholds: &Thresholds) {
        let (x, y) = (self.x(thresholds.acquisitions_per_second), self.y(thresholds.contention));
        let _ = write!(
            svg,
            "<rect class=\"field\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>\
             <path class=\"axis\" d=\"M{LEFT} {FLOOR}H{RIGHT}\"/>\
             <path class=\"threshold\" d=\"M{x:.1} {TOP}V{BOTTOM}M{LEFT} {y:.1}H{RIGHT}\"/>",
            RIGHT - LEFT,
            BOTTOM - TOP
        );
        let (left, right) = (LEFT + 8.0, RIGHT - 8.0);
        for (label, x, y, anchor) in [
            ("Q1 long sections", left, TOP + 18.0, "start"),
            ("Q2 contended and busy", right, TOP + 18.0, "end"),
            ("Q3 harmless", left, y + 18.0, "start"),
            ("Q4 busy, not contended", right, y + 18.0, "end"),
        ] {
            let _ = write!(
                svg,
                "<text class=\"corner\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>"
            );
        }
        let step = ((self.high - self.low) / 7.0).ceil().max(1.0);
        let mut power = self.low;
        while power <= self.high {
            let (x, rate) = (self.x(10f64.powf(power)), rate(10f64.powf(power)));
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{rate}/s</text>",
                BOTTOM + 16.0
            );
            power += step;
        }
        let label = |svg: &mut String, y: f64, text: &str| {
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        };
        for share in SHARES {
            label(svg, self.y(share), &format!("{}\u{202f}%", share * 100.0));
        }
        label(svg, NONE, "none");
        let (center, middle) = ((LEFT + RIGHT) / 2.0, (TOP + FLOOR) / 2.0);
        let _ = write!(
            svg,
            "<text x=\"{center}\" y=\"{}\" text-anchor=\"middle\">acquisitions in a second</text>\
             <text x=\"12\" y=\"{middle}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 12 {middle})\">contention</text>",
            BOTTOM + 34.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_logarithmic_with_a_position_for_zero() {
        let axes = Axes { low: 0.0, high: 4.0 };
        assert_eq!(axes.x(100.0), (LEFT + RIGHT) / 2.0);
        assert_eq!(axes.x(0.0), LEFT);
        assert_eq!((axes.y(1.0), axes.y(0.01), axes.y(0.0)), (TOP, (TOP + FLOOR) / 2.0, NONE));
        assert!(axes.y(1e-9) <= FLOOR && f64::is_finite(axes.y(f64::MAX)));
    }
}
