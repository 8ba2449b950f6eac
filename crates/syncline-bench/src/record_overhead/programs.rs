//! Real programs, from start to end: what a user of `syncline record` pays. A program that
//! does nothing goes first: it shows the share of that which doesn't grow with the program.
//!
//! pbzip2 hands few, large blocks from thread to thread; x264 waits for rows of its
//! reference frames; memcached ([`memcached`]) takes several locks for each request. Their
//! output with recording must be what it is without.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;

use crate::compare::{Case, Change, Measure};
use crate::lab::{Lab, find_program};
use crate::process::{self, Finished};
use crate::record_overhead::{inputs, memcached};
use crate::recorder::Recorder;

pub const SECTION: &str = "Programs";
pub const NOTHING: &str = "a program that does nothing";
pub const WALL: &str = "wall s";
pub const CPU: &str = "processor s";
pub const PEAK: &str = "peak MiB";

/// Aim: at most one per cent more time.
const AIM_TIME: f64 = 1.01;
/// Aim: less than what SyncPerf adds.
const AIM_MEMORY: f64 = 1.36;

pub fn cases<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Vec<Case<'a>>> {
    Ok(vec![
        nothing(lab, recorder)?,
        pbzip2(lab, recorder)?,
        x264(lab, recorder)?,
        memcached::case(lab, recorder)?,
    ])
}

fn nothing<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Case<'a>> {
    let program = find_program(&["true"], "coreutils")?;
    Ok(Case {
        section: SECTION,
        name: NOTHING.to_owned(),
        pairs: lab.size.pick(1, 7, 31),
        measures: vec![Measure { label: "wall ms", change: Change::Added, aim: None }],
        once: Box::new(move |side| {
            let command = recorder.command(side, NOTHING, &program)?;
            let finished = process::run(command, lab.folder(), "true")?;
            Ok(vec![finished.wall_seconds * 1e3])
        }),
    })
}

fn pbzip2<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Case<'a>> {
    let program = find_program(&["pbzip2"], "pbzip2")?;
    let input = lab.path("text");
    inputs::write_text(&input, lab.size.pick(100_000, 12_000_000, 80_000_000))?;
    let mut first = None;
    Ok(case(lab, "pbzip2", move |side| {
        let mut command = recorder.command(side, "pbzip2", &program)?;
        command.args(["-p2", "-k", "-c"]).arg(&input);
        let finished = process::run(command, lab.folder(), "pbzip2")?;
        require_same(&mut first, digest(&finished.stdout)?)?;
        Ok(used(&finished))
    }))
}

fn x264<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Case<'a>> {
    let program = find_program(&["x264"], "x264")?;
    let (input, output) = (lab.path("video.y4m"), lab.path("video.264"));
    inputs::write_video(&input, lab.size.pick(2, 40, 250))?;
    let mut first = None;
    Ok(case(lab, "x264", move |side| {
        let mut command = recorder.command(side, "x264", &program)?;
        command.args(["--quiet", "--no-progress", "--threads", "2", "-o"]);
        command.arg(&output).arg(&input);
        let finished = process::run(command, lab.folder(), "x264")?;
        require_same(&mut first, digest(&output)?)?;
        Ok(used(&finished))
    }))
}

/// A case of a program, with the measures that all of them have.
pub fn case<'a>(
    lab: &Lab,
    name: &str,
    once: impl FnMut(crate::compare::Side) -> anyhow::Result<Vec<f64>> + 'a,
) -> Case<'a> {
    let ratio = |label, aim| Measure { label, change: Change::Ratio, aim: Some(aim) };
    Case {
        section: SECTION,
        name: name.to_owned(),
        pairs: lab.size.pick(1, 5, 31),
        measures: vec![ratio(WALL, AIM_TIME), ratio(CPU, AIM_TIME), ratio(PEAK, AIM_MEMORY)],
        once: Box::new(once),
    }
}

/// The figures for those measures.
pub fn used(finished: &Finished) -> Vec<f64> {
    let mebibytes = finished.peak_bytes / f64::from(1 << 20);
    vec![finished.wall_seconds, finished.cpu_seconds, mebibytes]
}

fn require_same(first: &mut Option<u64>, digest: u64) -> anyhow::Result<()> {
    let first = *first.get_or_insert(digest);
    anyhow::ensure!(first == digest, "the output is not that of the first run");
    Ok(())
}

/// Equal for equal files, and piece by piece: see [`process`] on why.
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
