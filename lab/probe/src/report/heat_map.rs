//! Shows the matrix of all pairs of threads as a picture: the larger the cost, the stronger the
//! colour.
//!
//! The style of the page mixes these colours from its own colours, so they fit both a light and a
//! dark page. Cells with a number get at most half of the colour, so that the number stays legible.

use std::fmt::Write as _;

use super::number::cycles;
use crate::measurement::Measurement;

/// The number of steps of colour. Each is a class in the page's style.
pub const STEPS: usize = 10;

/// The most cells in a row of a picture that shows numbers.
const NUMBERS: usize = 24;
/// The size in pixels of a cell with a number, and of the whole picture if it has no numbers.
const CELL: usize = 44;
const PICTURE: usize = 900;
/// The space in pixels for the numbers of processors.
const MARGIN: usize = 40;

/// The largest value of the scale is at least this many times the smallest, since smaller
/// differences need no colours.
const SPAN: f64 = 2.0;

/// A logarithmic scale from the least to the most cycles. On one machine, these may differ by a
/// factor of a hundred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// The scale of a matrix's values.
    pub fn of(matrix: &[Vec<Option<f64>>]) -> Scale {
        let all = || matrix.iter().flatten().flatten().copied();
        let least = all().fold(f64::INFINITY, f64::min).clamp(1.0, 1e9);
        Scale { least, most: all().fold(SPAN * least, f64::max) }
    }

    /// The position of a value on the scale, from 0 to 1.
    pub fn share(&self, cycles: f64) -> f64 {
        let at = (cycles.max(self.least) / self.least).ln();
        (at / (self.most / self.least).ln()).min(1.0)
    }

    /// The value at a position on the scale.
    pub fn cycles(&self, share: f64) -> f64 {
        self.least * (self.most / self.least).powf(share)
    }

    fn step(&self, cycles: f64) -> usize {
        ((self.share(cycles) * STEPS as f64) as usize).min(STEPS - 1)
    }
}

/// Draws the picture. It is empty if there is a single thread.
pub fn heat_map(measurement: &Measurement) -> String {
    let threads = measurement.matrix.len();
    if threads < 2 {
        return String::new();
    }
    let scale = Scale::of(&measurement.matrix);
    let few = threads <= NUMBERS;
    let cell = if few { CELL } else { (PICTURE / threads).max(3) };
    let size = MARGIN + cell * threads;
    let mut svg = format!(
        "<svg class=\"heat {}\" width=\"{size}\" height=\"{size}\" viewBox=\"0 0 {size} {size}\" \
         role=\"img\" aria-label=\"Cycles from each hardware thread to each other\">\n",
        if few { "few" } else { "many" }
    );
    axes(&mut svg, &measurement.subject.processors, cell);
    for (row, cells) in measurement.matrix.iter().enumerate() {
        let y = MARGIN + row * cell;
        let _ = write!(svg, "<g transform=\"translate({MARGIN} {y})\">");
        if few {
            numbers(&mut svg, measurement, row, cells, &scale);
        } else {
            runs(&mut svg, cells, cell, &scale);
        }
        svg += "</g>\n";
    }
    svg + "</svg>\n" + &legend(&scale, few)
}

fn axes(svg: &mut String, processors: &[usize], cell: usize) {
    // Only one in this many processors gets its number, because a number needs 24 pixels.
    let every = 24_usize.div_ceil(cell);
    for (n, processor) in processors.iter().enumerate().step_by(every) {
        let middle = MARGIN + n * cell + cell / 2;
        let _ = write!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{processor}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{processor}</text>",
            MARGIN - 8,
            MARGIN - 8,
            middle + 4,
        );
    }
    svg.push('\n');
}

/// A row of cells with their numbers.
fn numbers(
    svg: &mut String,
    measurement: &Measurement,
    row: usize,
    cells: &[Option<f64>],
    scale: &Scale,
) {
    let processors = &measurement.subject.processors;
    for (column, cell) in cells.iter().enumerate() {
        let Some(found) = *cell else { continue };
        let x = column * CELL;
        let _ = write!(
            svg,
            "<g><title>processor {} loads what {} has changed: {} cycles, {} ns</title>\
             <rect class=\"h{}\" x=\"{x}\" width=\"{CELL}\" height=\"{CELL}\"/>\
             <text class=\"number\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>",
            processors[row],
            processors[column],
            cycles(found),
            cycles(measurement.nanoseconds(found)),
            scale.step(found),
            x + CELL / 2,
            CELL / 2 + 4,
            cycles(found),
        );
    }
}

/// A row of cells without numbers. Neighbouring cells of one colour are drawn as one rectangle.
fn runs(svg: &mut String, cells: &[Option<f64>], size: usize, scale: &Scale) {
    let steps: Vec<Option<usize>> = cells.iter().map(|c| c.map(|c| scale.step(c))).collect();
    let mut column = 0;
    for run in steps.chunk_by(|a, b| a == b) {
        if let Some(step) = run[0] {
            let (x, width) = (column * size, run.len() * size);
            let _ = write!(
                svg,
                "<rect class=\"h{step}\" x=\"{x}\" width=\"{width}\" height=\"{size}\"/>"
            );
        }
        column += run.len();
    }
}

fn legend(scale: &Scale, few: bool) -> String {
    let mut html = format!(
        "<p class=\"legend\">{} <svg class=\"heat {}\" width=\"200\" height=\"14\" \
         aria-hidden=\"true\">",
        cycles(scale.cycles(0.0)),
        if few { "few" } else { "many" }
    );
    for step in 0..STEPS {
        let width = 200 / STEPS;
        let x = step * width;
        let _ = write!(html, "<rect class=\"h{step}\" x=\"{x}\" width=\"{width}\" height=\"14\"/>");
    }
    let _ = writeln!(html, "</svg> {} cycles</p>", cycles(scale.cycles(1.0)));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_goes_by_orders_of_magnitude() {
        let scale = Scale::of(&[vec![None, Some(10.0)], vec![Some(1000.0), None]]);
        assert_eq!(scale.share(10.0), 0.0);
        assert!((scale.share(100.0) - 0.5).abs() < 1e-9);
        assert_eq!(scale.share(1000.0), 1.0);
        assert!((scale.cycles(0.5) - 100.0).abs() < 1e-9);
        assert_eq!((scale.step(1.0), scale.step(1000.0), scale.step(1e6)), (0, 9, 9));
    }

    #[test]
    fn small_differences_have_one_colour() {
        let scale = Scale::of(&[vec![None, Some(50.0)], vec![Some(50.0), None]]);
        assert_eq!([50.0, 51.0, 100.0].map(|cycles| scale.step(cycles)), [0, 0, 9]);
        assert_eq!(Scale::of(&[vec![None]]).share(5.0), 0.0);
    }

    #[test]
    fn cells_of_one_colour_are_one_piece() {
        let mut svg = String::new();
        let cells = [None, Some(10.0), Some(10.0), Some(1000.0)];
        runs(&mut svg, &cells, 5, &Scale { least: 10.0, most: 1000.0 });
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains("class=\"h0\" x=\"5\" width=\"10\""), "{svg}");
        assert!(svg.contains("class=\"h9\" x=\"15\" width=\"5\""), "{svg}");
    }
}
