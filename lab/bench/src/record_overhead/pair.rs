//! An uncontended pair of calls, the smallest operation that recording can slow down.
//!
//! `programs/pair.c` times itself in short batches, so the figure includes neither the start of a
//! process nor an interrupt.

use std::fs;
use std::path::Path;

use crate::compare::{Case, Change, Measure};
use crate::lab::Lab;
use crate::process;
use crate::programs::Wrapper;
use crate::recorder::Recorder;

pub const SECTION: &str = "One uncontended pair of calls";
pub const TIME: &str = "ns";
pub const LOCK_ALONE: &str = "mutex lock + unlock, one thread";
pub const LOCK_OF_TWO: &str = "mutex lock + unlock, two threads";

/// The aim: recording adds at most this many nanoseconds to a pair of calls.
const AIM_NANOSECONDS: f64 = 5.0;

/// For each pair of calls: its name, the operation, the number of threads, and whether the aim
/// applies.
const PAIRS: [(&str, &str, u32, bool); 10] = [
    (LOCK_ALONE, "lock", 1, true),
    (LOCK_OF_TWO, "lock", 2, true),
    ("16 mutexes at 16 call sites", "sites", 2, true),
    ("mutex trylock + unlock", "trylock", 2, true),
    ("mutex trylock, refused", "refused", 2, false),
    ("rwlock read + unlock", "read", 2, true),
    ("rwlock write + unlock", "write", 2, true),
    ("spinlock lock + unlock", "spin", 2, true),
    ("semaphore post + wait", "semaphore", 2, true),
    ("condition signal, nobody waits", "signal", 2, false),
];

pub fn cases<'a>(lab: &'a Lab, recorder: &'a Recorder) -> anyhow::Result<Vec<Case<'a>>> {
    let program = lab.compile("pair", include_str!("../../programs/pair.c"))?;
    let batches: u32 = lab.size.pick(5, 500, 2000);
    let mut cases = Vec::new();
    for (name, operation, threads, aim) in PAIRS {
        let program = program.clone();
        cases.push(Case {
            section: SECTION,
            name: name.to_owned(),
            pairs: lab.size.pick(1, 7, 31),
            measures: vec![Measure {
                label: TIME,
                change: Change::Added,
                aim: aim.then_some(AIM_NANOSECONDS),
            }],
            once: Box::new(move |side| {
                let mut command = recorder.command(side, name, &program)?;
                command.arg(operation).args([threads, batches, 2000].map(|n| n.to_string()));
                figures(&process::run(command, lab.folder(), "pair")?.stdout)
            }),
        });
    }
    Ok(cases)
}

/// The numbers that one of our own programs has printed into this file.
pub fn figures(output: &Path) -> anyhow::Result<Vec<f64>> {
    let text = fs::read_to_string(output)?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
