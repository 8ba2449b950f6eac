//! Folded stacks: a line for each stack that waits for a lock, `outermost;...;innermost VALUE`, in
//! the format that tools for flame graphs read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::parts::waits_for_locks;
use syncline_analysis::Analysis;
use syncline_analysis::model::Process;

/// The unit of a flame graph's widths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Microseconds waited.
    #[default]
    Delay,
    /// The number of waits.
    Waits,
}

/// Writes folded stacks of the waiting for locks. Equal stacks are one line; stacks whose value
/// rounds to 0 are left out. If there are several processes, each line starts with the process.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn folded(analysis: &Analysis, value: Value, out: &mut impl Write) -> io::Result<()> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let several = analysis.processes.len() > 1;
    for process in &analysis.processes {
        for (_, stack, way) in waits_for_locks(process) {
            let mut names = names(process, stack);
            if several {
                names.insert(0, format!("{} ({})", frame(&process.name()), process.pid));
            }
            *sums.entry(names.join(";")).or_default() += match value {
                Value::Delay => way.waited * 1e6,
                Value::Waits => way.waits as f64,
            };
        }
    }
    for (stack, sum) in sums {
        let sum = sum.round() as u64;
        if sum > 0 {
            writeln!(out, "{stack} {sum}")?;
        }
    }
    Ok(())
}

/// The functions of a stack, the outermost first.
fn names(process: &Process, stack: usize) -> Vec<String> {
    let mut names: Vec<String> = process.frames_of(stack).map(|f| frame(&f.function)).collect();
    names.reverse();
    if names.is_empty() {
        names.push("unknown place".to_owned());
    }
    names
}

/// The name with `:` for each character that would separate names or lines.
fn frame(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { ':' } else { c }).collect()
}
