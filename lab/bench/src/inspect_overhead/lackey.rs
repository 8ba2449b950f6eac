//! The peer: valgrind's lackey, which also reports each memory access, but for the whole program.

use std::process::Command;

use crate::accuracy::workloads;
use crate::compare::{Case, Change, Measure, Side};
use crate::lab::{Lab, find_program};
use crate::process;
use crate::programs::WALL;

/// The size of the work. Since each access is printed, an instruction takes some 800 ns, so only a
/// small part of the work is done. There is one thread, because valgrind runs one thread at a time.
const SIZE: [&str; 4] = ["--work", "1", "--threads", "1"];
const NAME: &str = "one-table-lock";

pub fn case<'a>(lab: &'a Lab, section: &'static str) -> anyhow::Result<Case<'a>> {
    let valgrind = find_program(&["valgrind"], "valgrind")?;
    let program = workloads::named(NAME)?.compile(lab)?;
    Ok(Case {
        section,
        name: NAME.to_owned(),
        pairs: lab.size.pick(1, 1, 3),
        measures: vec![Measure { label: WALL, change: Change::Ratio, aim: None }],
        once: Box::new(move |side| {
            let mut command = match side {
                Side::Baseline => Command::new(&program),
                Side::Subject => {
                    let mut command = Command::new(&valgrind);
                    command.args(["--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null"]);
                    command.arg(&program);
                    command
                }
            };
            command.args(SIZE);
            let stdout = process::run(command, lab.folder(), "lackey")?.stdout;
            Ok(vec![workloads::seconds(&stdout)?])
        }),
    })
}
