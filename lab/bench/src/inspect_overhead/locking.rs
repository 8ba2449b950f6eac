//! Programs of `workloads/` that spend much of their time in critical sections: short sections over
//! a table, sections that copy, and long sections.

use crate::accuracy::workloads;
use crate::compare::{Case, Change, Measure};
use crate::lab::Lab;
use crate::process;
use crate::programs::{Aims, CPU, WALL, Wrapper};

/// The programs' names.
pub const NAMES: [&str; 3] = ["one-table-lock", "charset-lock", "long-section"];

pub fn cases<'a>(
    lab: &'a Lab,
    wrapper: &'a dyn Wrapper,
    section: &'static str,
    aims: Aims,
) -> anyhow::Result<Vec<Case<'a>>> {
    let percent: u32 = lab.size.pick(1, 10, 60);
    let mut cases = Vec::new();
    for name in NAMES {
        let program = workloads::named(name)?.compile(lab)?;
        cases.push(Case {
            section,
            name: name.to_owned(),
            pairs: lab.size.pick(1, 5, 15),
            measures: [WALL, CPU]
                .map(|label| Measure { label, change: Change::Ratio, aim: aims.time })
                .into(),
            once: Box::new(move |side| {
                let mut command = wrapper.command(side, name, &program)?;
                command.args(["--work", &percent.to_string()]);
                let finished = process::run(command, lab.folder(), "workload")?;
                Ok(vec![workloads::seconds(&finished.stdout)?, finished.cpu_seconds])
            }),
        });
    }
    Ok(cases)
}
