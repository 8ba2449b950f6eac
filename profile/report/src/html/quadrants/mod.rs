//! The picture of the quadrants, SyncPerf's figure 1. It shows contention over acquisitions in a
//! second, both on logarithmic axes, with a point for each lock and each call site.
//!
//! Thousands of quiet locks would lie on top of each other. Points that would share a spot become
//! one point, which has the name of the one with most waiting, and the number of the others.

mod axes;

use std::collections::HashMap;
use std::fmt::Write;

use axes::{Axes, BOTTOM, RIGHT};
use syncline_analysis::Thresholds;
use syncline_analysis::model::{Figures, Process, Quadrant};
use syncline_analysis::name;
use syncline_present::page::Escaped;
use syncline_present::page::number::{counted, duration, grouped, percent, rate};

/// The side of the square that has at most one point, in the picture's units.
const SPOT: f64 = 5.0;

/// A lock or a site in the picture.
struct Point {
    name: String,
    x: f64,
    y: f64,
    radius: f64,
    quadrant: Quadrant,
    others: usize,
    about: String,
}

/// The section about quadrants.
pub fn section(process: &Process, thresholds: &Thresholds) -> String {
    let locks = process.locks.iter().filter_map(|lock| Some((&lock.figures, lock.quadrant?)));
    let axes = Axes::new(locks.clone().map(|(figures, _)| figures), thresholds);
    let most = process.locks.iter().map(|lock| lock.figures.waited).fold(0.0, f64::max);
    let lock_names = process.locks.iter().filter(|l| l.quadrant.is_some()).map(|l| l.name.clone());
    let locks = points(&axes, most, locks.zip(lock_names), "lock");
    let sites = process.sites.iter().filter_map(|site| Some((&site.figures, site.quadrant?)));
    let site_names =
        process.sites.iter().filter(|s| s.quadrant.is_some()).map(|s| name::site(process, s));
    let sites = points(&axes, most, sites.zip(site_names), "call site");
    if locks.is_empty() {
        return "<p class=\"empty\">No lock was taken.</p>".to_owned();
    }
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" tabindex=\"0\" aria-label=\"{} and {} by \
         acquisitions in a second and by contention; arrow keys go from one to the next\">",
        RIGHT + 40.0,
        BOTTOM + 40.0,
        counted(process.only_locks().count(), "lock"),
        counted(process.sites.iter().filter(|s| s.quadrant.is_some()).count(), "call site"),
    );
    axes.draw(&mut svg, thresholds);
    // Points with most waiting are drawn first, so that they don't hide small ones.
    for (class, points) in [("sites", &sites), ("locks", &locks)] {
        let _ = write!(svg, "<g class=\"{class}\">");
        points.iter().for_each(|point| point.draw(&mut svg, class == "sites"));
        svg += "</g>";
    }
    format!(
        "<div class=\"quadrants\"><p class=\"legend\"><span class=\"key circle\"></span> lock \
         <span class=\"key square\"></span> call site; a larger mark has more waiting</p>\
         <div class=\"scroll\">{svg}</svg></div>\
         <p class=\"status\" role=\"status\">Point at a mark, or choose the picture and use the \
         arrow keys, to see a name.</p></div>"
    )
}

fn points<'a>(
    axes: &Axes,
    most: f64,
    all: impl Iterator<Item = ((&'a Figures, Quadrant), String)>,
    one: &str,
) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut spots: HashMap<(i64, i64), usize> = HashMap::new();
    for ((figures, quadrant), name) in all {
        let (x, y) = (axes.x(figures.calls_per_second), axes.y(figures.contention));
        let spot = ((x / SPOT).round() as i64, (y / SPOT).round() as i64);
        if let Some(&place) = spots.get(&spot) {
            points[place].others += 1;
            continue;
        }
        spots.insert(spot, points.len());
        let weight = if most > 0.0 { (figures.waited / most).min(1.0) } else { 0.0 };
        points.push(Point {
            about: format!(
                "{one}, {quadrant:?}: waited {}, contended {}, {}/s",
                duration(figures.waited),
                percent(figures.contention),
                rate(figures.calls_per_second)
            ),
            name,
            x,
            y,
            radius: 3.5 + 10.0 * weight.sqrt(),
            quadrant,
            others: 0,
        });
    }
    points
}

impl Point {
    fn draw(&self, svg: &mut String, is_square: bool) {
        let (x, y, r) = (self.x, self.y, self.radius);
        let class = format!("dot {:?}", self.quadrant);
        let others = match self.others {
            0 => String::new(),
            others => format!("; {} more at this spot", grouped(others as u64)),
        };
        let title = format!("{}: {}{others}", Escaped(&self.name), self.about);
        let _ = if is_square {
            let (left, top, side) = (x - 0.9 * r, y - 0.9 * r, 1.8 * r);
            write!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side:.1}\" \
                 height=\"{side:.1}\"><title>{title}</title></rect>"
            )
        } else {
            write!(
                svg,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"><title>{title}\
                 </title></circle>"
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_share_a_spot_are_one() {
        let axes = Axes { low: 0.0, high: 6.0 };
        let quiet = Figures { calls_per_second: 10.0, ..Figures::default() };
        let hot = Figures { contention: 0.5, calls_per_second: 1e5, ..Figures::default() };
        let all = [(&quiet, "a"), (&hot, "b"), (&quiet, "c")];
        let all = all.into_iter().map(|(f, name)| ((f, Quadrant::Q3), name.to_owned()));
        let points = points(&axes, 0.0, all, "lock");
        let found: Vec<_> = points.iter().map(|p| (p.name.as_str(), p.others)).collect();
        assert_eq!(found, [("a", 1), ("b", 0)]);
    }
}
