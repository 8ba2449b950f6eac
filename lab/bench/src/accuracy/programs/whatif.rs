//! Asks `syncline whatif` how much the call site of a program's first finding matters.

use std::fs;
use std::time::Duration;

use serde::Deserialize;
use syncline_analysis::model::WhatIf;

use crate::lab::Lab;
use crate::process;
use crate::programs::description::Description;
use crate::recorder::Recorder;

/// The fewest rounds from which `whatif` draws a conclusion about one call site.
const ROUNDS: u32 = 7;
/// The runs in a round: one without a delay, and one for each size of the delay.
const RUNS: u32 = 4;

/// The part of the document that `syncline whatif --json` prints.
#[derive(Deserialize)]
struct Document {
    places: Vec<WhatIf>,
}

/// The bound that `whatif` measures: the largest share of the run time that the program could save
/// if the critical sections of its latest recording's first finding took no time. `None` if
/// `whatif` can't delay that finding's sections, or gives no bound.
///
/// # Errors
///
/// If the finding is about nothing that `whatif` can delay, or `whatif` fails or does not end.
pub fn bound(known: &Description, lab: &Lab, recorder: &Recorder) -> anyhow::Result<Option<f64>> {
    let mut command = recorder.syncline();
    command.args(["whatif", "--json", "--places", "1", "--runs"]).arg(ROUNDS.to_string());
    command.arg("--from").arg(recorder.recording(&known.name)).arg("--").args(&known.command);
    command.current_dir(&known.folder);
    let limit = Duration::from_secs_f64(known.limit) * (ROUNDS * RUNS + 1);
    let name = format!("{}-whatif", known.name);
    let running = process::start(command, lab.folder(), &name)?;
    let finished = running.finish_as(0, limit)?;
    let document: Document = serde_json::from_slice(&fs::read(finished.stdout)?)?;
    // `whatif` takes the first finding that it can delay, which may be a later one.
    let is_right =
        |place: &&WhatIf| known.place.as_ref().is_some_and(|right| right.is_match(&place.place));
    let saves = document.places.first().filter(is_right).and_then(|place| place.saves_at_most);
    Ok(saves.map(|saves| saves.median))
}
