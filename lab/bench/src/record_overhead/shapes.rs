//! Our own programs with the structure of real programs that are (or may be) hard to record:
//! recursion, tiny sections, many locks, a server, and thousands of processes.
//!
//! Each program prints the number of its acquisitions, so that the recorded number can be checked.

use std::path::PathBuf;

use anyhow::Context;

use super::cost;
use super::pair::figures;
use crate::compare::{Case, Side};
use crate::lab::Lab;
use crate::process;
use crate::programs::Wrapper;
use crate::recorder::Recorder;

pub const SECTION: &str = "Shapes of programs";

struct Shape {
    name: &'static str,
    /// The program's file in `programs`.
    program: &'static str,
    source: &'static str,
    /// The amount of work: for a test, for a quick run, and for a run of about half a second.
    sizes: [u32; 3],
}

macro_rules! shape {
    ($name:literal, $program:literal, $sizes:expr) => {
        Shape {
            name: $name,
            program: $program,
            source: include_str!(concat!("../../programs/", $program, ".c")),
            sizes: $sizes,
        }
    };
}

const SHAPES: [Shape; 5] = [
    shape!("tree of 2,048 locks", "tree", [1, 1, 4]),
    shape!("short sections", "tiles", [1, 10, 50]),
    shape!("92,000 locks and physics", "fluid", [1, 1, 4]),
    shape!("server of 4,096 items", "server", [1000, 100_000, 500_000]),
    shape!("fork server", "forks", [10, 300, 2000]),
];

pub fn cases<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Vec<Case<'a>>> {
    SHAPES.iter().map(|shape| shape.case(lab, recorder)).collect()
}

impl Shape {
    fn case<'a>(&'a self, lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Case<'a>> {
        let program = lab.compile(self.program, self.source)?;
        let [smoke, quick, full] = self.sizes;
        let size = lab.size.pick(smoke, quick, full);
        Ok(Case {
            section: SECTION,
            name: self.name.to_owned(),
            pairs: lab.size.pick(1, 5, 25),
            measures: cost::measures(),
            once: Box::new(move |side| {
                let mut command = recorder.command(side, self.name, &program)?;
                command.arg(size.to_string());
                let finished = process::run(command, lab.folder(), &self.output(side))?;
                let recording = (side == Side::Subject).then(|| recorder.recording(self.name));
                Ok(cost::figures(&finished, recording.as_deref())?)
            }),
        })
    }

    /// The name of the file with the latest output of a side.
    fn output(&self, side: Side) -> String {
        format!("{}-{side:?}", self.program)
    }
}

/// The number of acquisitions that the program of a case counted when it was last recorded. `None`
/// if the case is not one of these programs.
pub fn counted(lab: &Lab, case: &str) -> anyhow::Result<Option<u64>> {
    let Some(shape) = SHAPES.iter().find(|shape| shape.name == case) else { return Ok(None) };
    let printed: PathBuf = lab.path(&format!("{}.out", shape.output(Side::Subject)));
    let count = figures(&printed)?.first().copied().context("a program printed no count")?;
    Ok(Some(count as u64))
}
