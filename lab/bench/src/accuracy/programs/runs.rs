//! Runs a real program with recording, and its two variants without recording.

use std::process::{Child, Command};

use indicatif::ProgressBar;

use super::verdict::{Verdict, of_recording};
use crate::compare::Side;
use crate::lab::Lab;
use crate::programs::Wrapper;
use crate::programs::description::Description;
use crate::recorder::Recorder;

/// Results of a program on one machine, idle or busy.
#[derive(Default)]
pub struct Shown {
    /// The verdict of each recorded run.
    pub verdicts: Vec<Verdict>,
    /// Seconds without and with recording, in the same round.
    pub cost: Vec<(f64, f64)>,
    /// Seconds with the problem and with the fix, in consecutive runs of a round.
    pub mended: Vec<(f64, f64)>,
}

/// Runs the program `times` times in each way: alone, with the fix, and recorded. The order is
/// reversed every other time.
pub fn of(
    known: &Description,
    times: usize,
    lab: &Lab,
    recorder: &Recorder,
    bar: &ProgressBar,
) -> anyhow::Result<Shown> {
    let mut shown = Shown::default();
    for time in 0..times {
        let recorded = || -> anyhow::Result<(f64, Verdict)> {
            let command =
                recorder.command(Side::Subject, &known.name, known.command[0].as_ref())?;
            let finished = known.run(lab, command, &known.command[1..])?;
            Ok((finished.wall_seconds, of_recording(known, &recorder.recording(&known.name))?))
        };
        let plain = |words: &[String]| -> anyhow::Result<f64> {
            Ok(known.run(lab, Command::new(&words[0]), &words[1..])?.wall_seconds)
        };
        let (alone, (with, verdict), mended);
        if time % 2 == 0 {
            alone = plain(&known.command)?;
            mended = time_fixed(known, plain)?;
            (with, verdict) = recorded()?;
        } else {
            (with, verdict) = recorded()?;
            mended = time_fixed(known, plain)?;
            alone = plain(&known.command)?;
        }
        shown.verdicts.push(verdict);
        shown.cost.push((alone, with));
        shown.mended.extend(mended.map(|mended| (alone, mended)));
        bar.inc(1);
    }
    Ok(shown)
}

fn time_fixed(
    known: &Description,
    run: impl Fn(&[String]) -> anyhow::Result<f64>,
) -> anyhow::Result<Option<f64>> {
    if known.mended.is_empty() { Ok(None) } else { run(&known.mended).map(Some) }
}

/// Two processes that only use processor time, until this value is dropped.
pub struct Busy(Vec<Child>);

impl Busy {
    pub fn new() -> anyhow::Result<Busy> {
        let mut busy = Busy(Vec::new());
        for _ in 0..2 {
            busy.0.push(Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // An error means that the process has ended already, as intended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
