//! Real programs that run from start to end, alone and under a command of Syncline. The comparison
//! gives the cost that a user sees.
//!
//! pbzip2 passes few, large blocks from thread to thread. x264's threads wait for rows of reference
//! frames. memcached ([`memcached`]) acquires several locks for each request. The output of pbzip2
//! and of x264 under the command must be the same as without it. A user's own programs can be
//! described in files ([`description`]).

pub mod description;
mod inputs;
mod memcached;

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use crate::compare::{Case, Change, Measure, Side};
use crate::lab::{Lab, find_program};
use crate::process::{self, Finished};

pub const WALL: &str = "wall s";
pub const CPU: &str = "processor s";
pub const PEAK: &str = "peak MiB";

/// A command that runs other programs.
pub trait Wrapper {
    /// The command line for the program alone or, on the subject's side, under the command. Removes
    /// what an earlier run of the case has left.
    fn command(&self, side: Side, case: &str, program: &Path) -> anyhow::Result<Command>;
}

/// The programs, to be run under one command.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    pub lab: &'a Lab,
    pub wrapper: &'a dyn Wrapper,
    /// The section of the table in which the rows of the programs are printed.
    pub section: &'static str,
    /// The ratios that the command should not exceed.
    pub aims: Aims,
}

/// Aims for programs under a command, as ratios to the programs alone.
#[derive(Clone, Copy)]
pub struct Aims {
    pub time: Option<f64>,
    pub memory: Option<f64>,
}

impl<'a> Programs<'a> {
    pub fn cases(self) -> anyhow::Result<Vec<Case<'a>>> {
        Ok(vec![self.pbzip2()?, self.x264()?, self.memcached()?])
    }

    fn pbzip2(self) -> anyhow::Result<Case<'a>> {
        let lab = self.lab;
        let program = find_program(&["pbzip2"], "pbzip2")?;
        let input = lab.path("text");
        inputs::write_text(&input, lab.size.pick(100_000, 12_000_000, 80_000_000))?;
        let mut first = None;
        Ok(self.case("pbzip2", move |side| {
            let mut command = self.wrapper.command(side, "pbzip2", &program)?;
            command.args(["-p2", "-k", "-c"]).arg(&input);
            let finished = process::run(command, lab.folder(), "pbzip2")?;
            require_same(&mut first, digest(&finished.stdout)?)?;
            Ok(used(&finished))
        }))
    }

    fn x264(self) -> anyhow::Result<Case<'a>> {
        let lab = self.lab;
        let program = find_program(&["x264"], "x264")?;
        let (input, output) = (lab.path("video.y4m"), lab.path("video.264"));
        inputs::write_video(&input, lab.size.pick(2, 40, 250))?;
        let mut first = None;
        Ok(self.case("x264", move |side| {
            let mut command = self.wrapper.command(side, "x264", &program)?;
            command.args(["--quiet", "--no-progress", "--threads", "2", "-o"]);
            command.arg(&output).arg(&input);
            let finished = process::run(command, lab.folder(), "x264")?;
            require_same(&mut first, digest(&output)?)?;
            Ok(used(&finished))
        }))
    }

    /// A case for a program, with the measures that all cases have.
    fn case(self, name: &str, once: impl FnMut(Side) -> anyhow::Result<Vec<f64>> + 'a) -> Case<'a> {
        Case {
            section: self.section,
            name: name.to_owned(),
            pairs: self.lab.size.pick(1, 5, 31),
            measures: measures(self.aims),
            once: Box::new(once),
        }
    }
}

/// The measures of a program under the command, relative to the program alone.
pub fn measures(aims: Aims) -> Vec<Measure> {
    let ratio = |label, aim| Measure { label, change: Change::Ratio, aim };
    vec![ratio(WALL, aims.time), ratio(CPU, aims.time), ratio(PEAK, aims.memory)]
}

/// The values of [`measures`] for a run, in the same order.
pub fn used(finished: &Finished) -> Vec<f64> {
    let mebibytes = finished.peak_bytes / f64::from(1 << 20);
    vec![finished.wall_seconds, finished.cpu_seconds, mebibytes]
}

fn require_same(first: &mut Option<u64>, digest: u64) -> anyhow::Result<()> {
    let first = *first.get_or_insert(digest);
    anyhow::ensure!(first == digest, "the output differs from that of the first run");
    Ok(())
}

/// A hash of a file. The file is read in pieces, since this process has to stay small
/// ([`process`]).
fn digest(file: &Path) -> anyhow::Result<u64> {
    let mut file = File::open(file)?;
    let mut hasher = DefaultHasher::new();
    let mut piece = [0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&piece[..read]),
        }
    }
}
