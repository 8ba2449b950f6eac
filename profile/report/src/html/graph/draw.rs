//! Draws the graph of who blocks whom.

use std::fmt::Write;

use super::layout::Place;
use super::parts::{Arrow, Node};
use syncline_present::number::of_so_many;
use syncline_present::page::Escaped;
use syncline_present::page::number::{count, duration};

const WIDTH: f64 = 212.0;
const HEIGHT: f64 = 46.0;
/// The distance from one column to the next, and from one row to the next.
const COLUMN: f64 = WIDTH + 100.0;
const ROW: f64 = HEIGHT + 44.0;
const MARGIN: f64 = 8.0;
/// The space above the first row, for the arrow from a call site to itself.
const ABOVE: f64 = 40.0;
/// How far below the boxes an arrow that skips columns passes.
const DETOUR: f64 = HEIGHT + 26.0;
/// The width of the widest arrow.
const WIDEST: f64 = 9.0;
/// The number of characters that fit into a box.
const FITTING: usize = 28;
/// An arrow with less than this share of the widest arrow's waiting has no number.
const WORTH_A_NUMBER: f64 = 0.04;

/// The picture as SVG. Boxes link to table rows whose ids begin with `sites`.
pub fn picture(nodes: &[Node], arrows: &[Arrow], places: &[Place], sites: &str) -> String {
    let columns = 1 + places.iter().map(|p| p.layer).max().unwrap_or(0);
    let rows = 1 + places.iter().map(|p| p.row).max().unwrap_or(0);
    let width = columns as f64 * COLUMN - (COLUMN - WIDTH) + 2.0 * MARGIN;
    let detours = arrows.iter().any(|a| places[a.from].layer.abs_diff(places[a.to].layer) > 1);
    let height = ABOVE + rows as f64 * ROW + if detours { DETOUR } else { 0.0 };
    let corners: Vec<(f64, f64)> =
        places.iter().map(|&place| corner(place, places, rows)).collect();
    let most = arrows.iter().map(|a| a.waited).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!(
        "<div class=\"scroll graph\" tabindex=\"0\" role=\"region\" aria-label=\"Picture of who blocks \
         whom; the table below says the same\"><svg width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">"
    );
    for arrow in arrows {
        line(&mut svg, arrow, &corners, nodes, most);
    }
    for (node, &(x, y)) in nodes.iter().zip(&corners) {
        node_box(&mut svg, node, x, y, sites);
    }
    for arrow in arrows.iter().filter(|a| a.waited >= WORTH_A_NUMBER * most) {
        let (x, y) = Curve::of(arrow, &corners).label();
        let _ = write!(
            svg,
            "<text class=\"weight\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            duration(arrow.waited)
        );
    }
    svg + "</svg></div>"
}

/// The upper left corner of a box. Columns with fewer rows are centred.
fn corner(place: Place, places: &[Place], rows: usize) -> (f64, f64) {
    let own = places.iter().filter(|other| other.layer == place.layer).count();
    let above = (rows - own) as f64 / 2.0;
    (MARGIN + place.layer as f64 * COLUMN, ABOVE + (above + place.row as f64) * ROW)
}

/// The path of an arrow: a cubic Bézier curve.
struct Curve {
    points: [(f64, f64); 4],
}

impl Curve {
    fn of(arrow: &Arrow, corners: &[(f64, f64)]) -> Curve {
        let ((x1, y1), (x2, y2)) = (corners[arrow.from], corners[arrow.to]);
        let right = x1 < x2;
        let points = if arrow.from == arrow.to {
            let (left, right) = (x1 + WIDTH - 84.0, x1 + WIDTH - 28.0);
            [(left, y1), (left, y1 - 38.0), (right, y1 - 38.0), (right, y1 - 2.0)]
        } else if (x1 - x2).abs() > 1.5 * COLUMN {
            let (start, end) =
                ((x1 + WIDTH / 2.0, y1 + HEIGHT), (x2 + WIDTH / 2.0, y2 + HEIGHT + 2.0));
            let below = y1.max(y2) + HEIGHT + DETOUR * 4.0 / 3.0 * if right { 1.0 } else { 1.4 };
            let slope = (end.0 - start.0) * 0.15;
            [start, (start.0 + slope, below), (end.0 - slope, below), end]
        } else {
            // An arrow that points to the left is drawn lower, so that a pair of arrows is two
            // lines.
            let (start, end, height) = match right {
                true => (x1 + WIDTH, x2 - 2.0, HEIGHT * 0.3),
                false => (x1, x2 + WIDTH + 2.0, HEIGHT * 0.75),
            };
            let bend = (end - start) / 2.0;
            let (start, end) = ((start, y1 + height), (end, y2 + height));
            [start, (start.0 + bend, start.1), (end.0 - bend, end.1), end]
        };
        Curve { points }
    }

    /// The position of the number: at the middle of the curve.
    fn label(&self) -> (f64, f64) {
        let [a, b, c, d] = self.points;
        let middle = |a: f64, b: f64, c: f64, d: f64| (a + 3.0 * b + 3.0 * c + d) / 8.0;
        (middle(a.0, b.0, c.0, d.0), middle(a.1, b.1, c.1, d.1) + 4.0)
    }
}

fn line(svg: &mut String, arrow: &Arrow, corners: &[(f64, f64)], nodes: &[Node], most: f64) {
    let [a, b, c, d] = Curve::of(arrow, corners).points;
    let width = 1.5 + (WIDEST - 1.5) * (arrow.waited / most).sqrt();
    // The arrow's head points along the end of the curve, and the line ends where the head begins.
    let (dx, dy) = (d.0 - c.0, d.1 - c.1);
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    let (ux, uy, half) = (dx / length, dy / length, 3.0 + width * 0.7);
    let base = (d.0 - ux * 1.6 * half, d.1 - uy * 1.6 * half);
    let _ = write!(
        svg,
        "<g class=\"arrow\"><path d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\" \
         stroke-width=\"{width:.1}\"/><path class=\"head\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} \
         {:.1}Z\"/>",
        a.0,
        a.1,
        b.0,
        b.1,
        c.0,
        c.1,
        base.0,
        base.1,
        d.0,
        d.1,
        base.0 - uy * half,
        base.1 + ux * half,
        base.0 + uy * half,
        base.1 - ux * half
    );
    let holder = match arrow.from == arrow.to {
        true => "another thread at the same call site".to_owned(),
        false => Escaped(&nodes[arrow.to].name).to_string(),
    };
    let _ = write!(
        svg,
        "<title>{} waited {} {}, {} in all, for {holder}</title></g>",
        Escaped(&nodes[arrow.from].name),
        count(arrow.waits),
        of_so_many(arrow.waits as usize, "time"),
        duration(arrow.waited)
    );
}

fn node_box(svg: &mut String, node: &Node, x: f64, y: f64, sites: &str) {
    if let Some(site) = node.site {
        let _ = write!(svg, "<a href=\"#{sites}{site}\" aria-label=\"{}\">", Escaped(&node.name));
    }
    let (first, second) = node.name.split_once("  ").unwrap_or((&node.name, ""));
    let (left, top) = (x + 10.0, y + if second.is_empty() { 28.0 } else { 20.0 });
    let _ = write!(
        svg,
        "<g class=\"node\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" rx=\"8\"/><text x=\"{left:.1}\" y=\"{top:.1}\">{}</text>\
         <text class=\"where\" x=\"{left:.1}\" y=\"{:.1}\">{}</text></g>",
        Escaped(&node.name),
        Escaped(&end_of(first)),
        y + 36.0,
        Escaped(&end_of(second))
    );
    if node.site.is_some() {
        svg.push_str("</a>");
    }
}

/// The end of a text that is too long for a box, since the end says more than the beginning.
fn end_of(text: &str) -> String {
    let length = text.chars().count();
    match length.checked_sub(FITTING) {
        None | Some(0) => text.to_owned(),
        Some(more) => format!("…{}", text.chars().skip(more + 1).collect::<String>()),
    }
}
