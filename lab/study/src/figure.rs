//! A figure as data, which is drawn, written to CSV, and compared with the paper's claims.

use serde::Serialize;

/// A figure, or a table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The paper's name for the figure: `figure-5`, `table-2`. Names from papers other than SSYNC
    /// have a prefix, as in `scc-figure-5`.
    pub id: &'static str,
    /// The title, which says what the figure shows.
    pub title: &'static str,
    /// The horizontal axis, with its unit.
    pub x: &'static str,
    /// The vertical axis, with its unit.
    pub y: &'static str,
    /// The way in which the figure is drawn.
    pub kind: Kind,
    /// One part for each machine.
    pub panels: Vec<Panel>,
    /// The figure's result, in a sentence.
    pub says: String,
}

/// The way in which a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Lines over a numeric axis.
    Lines,
    /// Lines over a numeric axis, drawn with a logarithmic vertical axis since the values are far
    /// apart.
    LogLines,
    /// Bars in groups.
    Bars,
    /// Numbers in rows.
    Table,
}

/// The measurements on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The machine's name.
    pub machine: String,
    /// The measured series.
    pub series: Vec<Series>,
}

/// A line of a figure, its bars of one colour, or a row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// The values, in ascending order of `x`.
    pub points: Vec<Point>,
}

/// A value of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The name of the position; empty if the position is just a number.
    pub label: String,
    /// The value.
    pub y: f64,
    /// A remark about the value.
    pub note: String,
}

impl Point {
    /// A value at a numeric position.
    pub fn at(x: usize, y: f64) -> Point {
        Point { x: x as f64, label: String::new(), y, note: String::new() }
    }
}

impl Panel {
    /// The series with this name; `None` if the panel has no such series.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The value of a series at a position; `None` if the series does not exist or was not measured
    /// there.
    pub fn value(&self, name: &str, x: usize) -> Option<f64> {
        self.series(name)?.value(x)
    }

    /// The name of the series with the greatest value at a position, and that value; `None` if no
    /// series was measured there.
    pub fn best(&self, x: usize) -> Option<(&str, f64)> {
        let values = self.series.iter().filter_map(|s| Some((s.name.as_str(), s.value(x)?)));
        values.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The greatest position with a measurement; 0 if nothing was measured.
    pub fn last(&self) -> usize {
        let all = self.series.iter().flat_map(|series| &series.points);
        all.map(|point| point.x as usize).max().unwrap_or(0)
    }
}

impl Series {
    /// The value at a position; `None` if nothing was measured there.
    pub fn value(&self, x: usize) -> Option<f64> {
        self.points.iter().find(|point| point.x == x as f64).map(|point| point.y)
    }
}

/// The results of a study.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Book {
    /// The figures, in the order of the papers.
    pub figures: Vec<Figure>,
}

impl Book {
    /// The measurements on a machine for a figure; `None` if the figure was not measured there.
    pub fn panel(&self, id: &str, machine: &str) -> Option<&Panel> {
        let figure = self.figures.iter().find(|figure| figure.id == id)?;
        figure.panels.iter().find(|panel| panel.machine == machine)
    }

    /// A figure as CSV, one value per line.
    pub fn csv(figure: &Figure) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let rows = figure.panels.iter().flat_map(|panel| {
            panel.series.iter().flat_map(move |series| {
                series.points.iter().map(move |point| (panel, series, point))
            })
        });
        let mut write = |record: [&str; 6]| {
            writer.write_record(record).expect("memory takes it");
        };
        write(["machine", "series", figure.x, "label", figure.y, "note"]);
        for (panel, series, point) in rows {
            let (x, y) = (point.x.to_string(), format!("{:.4}", point.y));
            write([&panel.machine, &series.name, &x, &point.label, &y, &point.note]);
        }
        let bytes = writer.into_inner().expect("memory takes it");
        String::from_utf8(bytes).expect("it was given text")
    }
}
