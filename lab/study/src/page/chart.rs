//! A panel as SVG: lines over numbers, or bars in groups. The page's style defines colours and
//! strokes, so one picture serves the light page and the dark one. Each line has one of five shapes
//! of marks for its points.

use std::fmt::Write;

use syncline_present::page::Escaped;

use super::scale::Scale;
use crate::figure::{Figure, Kind, Panel, Series};
use crate::figures::sentence::number;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
/// The margins, in pixels, for the axes' numbers and names.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// The least distance, in pixels, between the middles of two numbers on the horizontal axis.
const APART: f64 = 24.0;

/// Draws the picture of a panel.
pub fn chart(figure: &Figure, panel: &Panel) -> String {
    let values = || panel.series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (least, most) = values().fold((f64::INFINITY, 0.0f64), |(l, m), y| (l.min(y), m.max(y)));
    let y = match figure.kind {
        Kind::LogLines => Scale::logarithmic(least, most, (HEIGHT - BOTTOM, TOP)),
        _ => Scale::from_zero(most, (HEIGHT - BOTTOM, TOP)),
    };
    let mut svg = format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{}, {}: {} over {}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">",
        Escaped(figure.title),
        Escaped(&panel.machine),
        Escaped(figure.y),
        Escaped(figure.x)
    );
    for (value, at) in y.ticks() {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            number(value)
        );
    }
    svg += &match figure.kind {
        Kind::Bars => bars(panel, &y),
        _ => lines(panel, &y),
    };
    let (middle, height) = (LEFT + (WIDTH - LEFT - RIGHT) / 2.0, (HEIGHT - BOTTOM + TOP) / 2.0);
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{0}H{1}\"/>\
         <text class=\"middle\" x=\"{middle}\" y=\"{2}\">{3}</text>\
         <text class=\"middle\" transform=\"translate(14 {height}) rotate(-90)\">{4}</text></svg>",
        HEIGHT - BOTTOM,
        WIDTH - RIGHT,
        HEIGHT - 8.0,
        Escaped(figure.x),
        Escaped(figure.y)
    );
    svg
}

fn lines(panel: &Panel, y: &Scale) -> String {
    let x = Scale::to(panel.last() as f64, (LEFT + 8.0, WIDTH - RIGHT - 8.0));
    let mut svg = String::new();
    let mut steps: Vec<f64> =
        panel.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let mut latest = f64::NEG_INFINITY;
    for step in steps {
        let at = x.at(step);
        if at - latest >= APART {
            latest = at;
            let _ = write!(
                svg,
                "<text class=\"tick middle\" x=\"{at:.1}\" y=\"{:.1}\">{step}</text>",
                HEIGHT - BOTTOM + 16.0
            );
        }
    }
    for (number, series) in panel.series.iter().enumerate() {
        svg += &line(number, series, &x, y);
    }
    svg
}

fn line(number_of: usize, series: &Series, x: &Scale, y: &Scale) -> String {
    let mut path = String::new();
    let mut marks = String::new();
    for point in &series.points {
        let (px, py) = (x.at(point.x), y.at(point.y));
        let _ = write!(path, "{}{px:.1} {py:.1}", if path.is_empty() { 'M' } else { 'L' });
        let note = if point.note.is_empty() { String::new() } else { format!(" ({})", point.note) };
        let _ = write!(
            marks,
            "<path class=\"mark\" d=\"{}\"><title>{}, {}: {}{}</title></path>",
            mark(number_of, px, py),
            Escaped(&series.name),
            point.x,
            number(point.y),
            Escaped(&note)
        );
    }
    format!("<g class=\"s{number_of}\"><path class=\"line\" d=\"{path}\"/>{marks}</g>")
}

/// The outline of the mark of series `number` around the position (`x`, `y`), as the path data of
/// SVG. Five consecutive series have different shapes.
pub fn mark(number: usize, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    match number % 5 {
        0 => format!("M{}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", at(-3.0, 0.0)),
        1 => format!("M{}h6v6h-6z", at(-3.0, -3.0)),
        2 => format!("M{}l4 7h-8z", at(0.0, -4.0)),
        3 => format!("M{}l4 4l-4 4l-4 -4z", at(0.0, -4.0)),
        _ => format!("M{}l4 -7h-8z", at(0.0, 4.0)),
    }
}

fn bars(panel: &Panel, y: &Scale) -> String {
    let Some(first) = panel.series.first() else { return String::new() };
    let group = (WIDTH - LEFT - RIGHT) / first.points.len().max(1) as f64;
    let bar = group * 0.86 / panel.series.len() as f64;
    let mut svg = String::new();
    for (place, point) in first.points.iter().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"tick middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT + group * (place as f64 + 0.5),
            HEIGHT - BOTTOM + 16.0,
            Escaped(&point.label)
        );
    }
    for (number_of, series) in panel.series.iter().enumerate() {
        let _ = write!(svg, "<g class=\"s{number_of}\">");
        for (place, point) in series.points.iter().enumerate() {
            let x = LEFT + group * (place as f64 + 0.07) + bar * number_of as f64;
            let top = y.at(point.y);
            let _ = write!(
                svg,
                "<rect class=\"column\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
                 <title>{}, {}: {}</title></rect>",
                (bar - 1.0).max(1.0),
                (HEIGHT - BOTTOM - top).max(0.0),
                Escaped(&series.name),
                Escaped(&point.label),
                number(point.y)
            );
        }
        svg += "</g>";
    }
    svg
}
