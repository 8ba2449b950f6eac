//! A program that does nothing, whose time is the cost of starting a program under the command.

use crate::compare::{Case, Change, Measure};
use crate::lab::{Lab, find_program};
use crate::process;
use crate::programs::Wrapper;

const NAME: &str = "a program that does nothing";

pub fn case<'a>(
    lab: &'a Lab,
    wrapper: &'a dyn Wrapper,
    section: &'static str,
) -> anyhow::Result<Case<'a>> {
    let program = find_program(&["true"], "coreutils")?;
    let added = |label| Measure { label, change: Change::Added, aim: None };
    Ok(Case {
        section,
        name: NAME.to_owned(),
        pairs: lab.size.pick(1, 7, 31),
        measures: vec![added("wall ms"), added("processor ms")],
        once: Box::new(move |side| {
            let command = wrapper.command(side, NAME, &program)?;
            let finished = process::run(command, lab.folder(), "true")?;
            Ok(vec![finished.wall_seconds * 1e3, finished.cpu_seconds * 1e3])
        }),
    })
}
