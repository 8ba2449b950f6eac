//! A figure as data: what is drawn, written to CSV, and held against the paper's claims.

use serde::Serialize;

/// A figure, or a table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// As SSYNC calls it: `figure-5`, `table-2`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What its horizontal axis is, with the unit.
    pub x: &'static str,
    /// What its vertical axis is, with the unit.
    pub y: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// A part for each machine.
    pub panels: Vec<Panel>,
    /// What it says, in a sentence.
    pub says: String,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Lines over numbers.
    Lines,
    /// Lines whose values are far apart: the vertical axis is logarithmic.
    LogLines,
    /// Bars in groups.
    Bars,
    /// Numbers in rows.
    Table,
}

/// What was measured on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The machine's name.
    pub machine: String,
    /// What was measured on it, line by line.
    pub series: Vec<Series>,
}

/// A line, a colour of bars, or a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// In the order of `x`.
    pub points: Vec<Point>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where it stands.
    pub x: f64,
    /// What that is called, if it is no number.
    pub label: String,
    /// The value.
    pub y: f64,
    /// What else there is to say about it.
    pub note: String,
}

impl Point {
    /// A value at a number.
    pub fn at(x: usize, y: f64) -> Point {
        Point { x: x as f64, label: String::new(), y, note: String::new() }
    }
}

impl Panel {
    /// A series by its name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The value of a series.
    pub fn value(&self, name: &str, x: usize) -> Option<f64> {
        self.series(name)?.value(x)
    }

    /// The series that is highest at a place, and how high.
    pub fn best(&self, x: usize) -> Option<(&str, f64)> {
        let values = self.series.iter().filter_map(|s| Some((s.name.as_str(), s.value(x)?)));
        values.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The greatest place at which something was measured.
    pub fn last(&self) -> usize {
        let all = self.series.iter().flat_map(|series| &series.points);
        all.map(|point| point.x as usize).max().unwrap_or(0)
    }
}

impl Series {
    /// The value at a place.
    pub fn value(&self, x: usize) -> Option<f64> {
        self.points.iter().find(|point| point.x == x as f64).map(|point| point.y)
    }
}

/// What a study has measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Book {
    /// In the order of the paper.
    pub figures: Vec<Figure>,
}

impl Book {
    /// What was measured on a machine for a figure.
    pub fn panel(&self, id: &str, machine: &str) -> Option<&Panel> {
        let figure = self.figures.iter().find(|figure| figure.id == id)?;
        figure.panels.iter().find(|panel| panel.machine == machine)
    }

    /// The figures as CSV, one value in a line.
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
