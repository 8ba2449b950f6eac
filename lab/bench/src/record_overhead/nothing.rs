//! A program that does nothing, which shows the cost of recording without any events.

use crate::compare::{Case, Change, Measure};
use crate::lab::{Lab, find_program};
use crate::process;
use crate::programs::Wrapper;
use crate::recorder::Recorder;

pub const NAME: &str = "a program that does nothing";

pub fn case<'a>(
    section: &'static str,
    lab: &'a Lab,
    recorder: &'a Recorder,
) -> anyhow::Result<Case<'a>> {
    let program = find_program(&["true"], "coreutils")?;
    Ok(Case {
        section,
        name: NAME.to_owned(),
        pairs: lab.size.pick(1, 7, 31),
        measures: vec![Measure { label: "wall ms", change: Change::Added, aim: None }],
        once: Box::new(move |side| {
            let command = recorder.command(side, NAME, &program)?;
            let finished = process::run(command, lab.folder(), "true")?;
            Ok(vec![finished.wall_seconds * 1e3])
        }),
    })
}
