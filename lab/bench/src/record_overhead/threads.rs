//! Two threads that do little but lock.
//!
//! Under low contention, recording must not add contention between threads, for example for a cache
//! line that both write. The grid has many locks, which are acquired at a high rate, so their
//! counters do not fit into the nearer caches. The grid's random order is the worst case that we
//! know.

use crate::compare::{Case, Change, Measure};
use crate::lab::Lab;
use crate::process;
use crate::programs::Wrapper;
use crate::record_overhead::pair::figures;
use crate::recorder::Recorder;

pub const SECTION: &str = "Two threads";
pub const TIME: &str = "ms";
pub const GRID: &str = "92,000 locks in grid order";

pub fn cases<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Vec<Case<'a>>> {
    let low = lab.compile("low_contention", include_str!("../../programs/low_contention.c"))?;
    let grid = lab.compile("grid", include_str!("../../programs/grid.c"))?;
    let pairs = lab.size.pick(1, 5, 25);
    let ratio = |label| Measure { label, change: Change::Ratio, aim: None };

    let rounds: u32 = lab.size.pick(1000, 1_000_000, 10_000_000);
    let name = "low contention on 256 locks";
    let mut cases = vec![Case {
        section: SECTION,
        name: name.to_owned(),
        pairs,
        measures: vec![ratio(TIME)],
        once: Box::new(move |side| {
            let mut command = recorder.command(side, name, &low)?;
            command.arg(rounds.to_string());
            let finished = process::run(command, lab.folder(), "low-contention")?;
            Ok(milliseconds(figures(&finished.stdout)?))
        }),
    }];

    let sweeps: u32 = lab.size.pick(1, 12, 100);
    for (name, order) in [(GRID, "grid"), ("92,000 locks in random order", "random")] {
        let grid = grid.clone();
        cases.push(Case {
            section: SECTION,
            name: name.to_owned(),
            pairs,
            measures: vec![ratio("first ms"), ratio(TIME), ratio("peak MiB")],
            once: Box::new(move |side| {
                let mut command = recorder.command(side, name, &grid)?;
                command.arg(order).arg(sweeps.to_string());
                let finished = process::run(command, lab.folder(), "grid")?;
                let mut numbers = milliseconds(figures(&finished.stdout)?);
                numbers.push(finished.peak_bytes / f64::from(1 << 20));
                Ok(numbers)
            }),
        });
    }
    Ok(cases)
}

fn milliseconds(nanoseconds: Vec<f64>) -> Vec<f64> {
    nanoseconds.into_iter().map(|ns| ns / 1e6).collect()
}
