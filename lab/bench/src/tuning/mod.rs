//! Measures whether `syncline tune` finds the lock that is a program's known fix, and whether the
//! measured gain is the one that the report predicts.
//!
//! The programs are those in `workloads/` whose fix in the source is only another lock, so the
//! unmodified program can also get that lock. `syncline tune` runs as a user would run it, with the
//! time that the programs print as its metric. The fix in the source is measured too, as in `./x
//! accuracy`.

mod said;

use std::process::Command;

use serde::Serialize;

use crate::accuracy::workloads::{self, Workload};
use crate::lab::{Lab, built};
use crate::process;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::{Spread, median, percent, spread};

use said::{Said, share};

/// The workloads whose known fix is another lock, each with the replacement in the source.
const CURABLE: [(&str, &str); 3] = [
    ("queue-lock", "a mutex by a spinlock"),
    ("spinning-on-sleeper", "a spinlock by a mutex"),
    ("writers-only", "a reader-writer lock by a mutex"),
];
/// The regular expression for the time that the programs print.
const METRIC: &str = r#""seconds": ([0-9.]+)"#;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    /// The number of workloads whose known fix is another lock.
    workloads: usize,
    /// The number of workloads for which `tune` kept a lock because it is certainly faster.
    found: usize,
    /// The median difference between predicted and measured gain.
    gain_error_median: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  workloads          workloads whose known fix is another lock
  found              those for which tune keeps a lock as certainly faster
  gain_error_median  median difference of predicted and measured gain, as shares of the time;
                     1 if nothing was predicted
";

/// The result for a workload.
struct Row {
    name: &'static str,
    fix: &'static str,
    /// The gain of the fix in the source.
    in_the_source: Spread,
    said: Said,
}

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let bar = rounds::bar(CURABLE.len() as u64)?;
    let mut rows = Vec::new();
    for (name, fix) in CURABLE {
        bar.set_message(name);
        let workload = workloads::named(name)?;
        rows.push(row(&lab, &workload, name, fix)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    print(&rows);
    let errors: Vec<f64> = rows.iter().filter_map(|row| row.said.error()).collect();
    let error = if errors.is_empty() { 1.0 } else { median(&errors) };
    Ok(serde_json::to_string(&Summary {
        workloads: rows.len(),
        found: rows.iter().filter(|row| row.said.kept).count(),
        gain_error_median: (error * 1e4).round() / 1e4,
    })?)
}

/// The size of a run in per cent, the number of rounds, and the most rounds for a lock whose
/// verdict is open. Three locks at one call site need eight rounds.
fn extent(size: Size) -> (u32, usize, usize) {
    (size.pick(5, 20, 100), size.pick(1, 8, 10), size.pick(1, 8, 40))
}

fn row(
    lab: &Lab,
    workload: &Workload,
    name: &'static str,
    fix: &'static str,
) -> anyhow::Result<Row> {
    let program = workload.compile(lab)?;
    let (percent, times, most) = extent(lab.size);
    let work = ["--work".to_owned(), percent.to_string()];
    let once = |fixed: bool| -> anyhow::Result<f64> {
        let mut command = Command::new(&program);
        command.args(&work).args(fixed.then_some("--fixed"));
        workloads::seconds(&process::run(command, lab.folder(), "workload")?.stdout)
    };
    let mut sides: Vec<Once<f64>> = vec![Box::new(|| once(false)), Box::new(|| once(true))];
    let seconds = rounds::run(&mut sides, times, &indicatif::ProgressBar::hidden(), 1)?;
    let gains = seconds[0].iter().zip(&seconds[1]).map(|(problem, fixed)| 1.0 - fixed / problem);
    let in_the_source = spread(&gains.collect::<Vec<_>>());

    let files = ["syncline", "libsyncline_replace.so", "libsyncline_recorder.so"];
    let folder = built(&files, "-p syncline-cli -p syncline-replace -p syncline-recorder")?;
    let mut tune = Command::new(folder.join("syncline"));
    tune.args(["tune", "-n", &times.to_string(), "--at-most", &most.to_string()]);
    tune.args(["--metric", METRIC, "--less-is-better", "-o"]);
    tune.arg(lab.path("policy.toml")).arg("--").arg(&program).args(&work);
    let printed = process::run(tune, lab.folder(), "tune")?.stdout;
    let said = Said::read(&std::fs::read_to_string(printed)?);
    Ok(Row { name, fix, in_the_source, said })
}

fn print(rows: &[Row]) {
    println!(
        "What `syncline tune` finds where the known fix is another lock; shares of the time\n"
    );
    println!(
        "| workload | known fix | in the source | lock | predicted | measured | interval | difference |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for Row { name, fix, in_the_source, said } in rows {
        let kept = if said.kept { "" } else { ", not kept" };
        println!(
            "| {name} | {fix} | {} ({} to {}) | {}{kept} | {} | {} | {} | {} |",
            percent(in_the_source.median),
            percent(in_the_source.low),
            percent(in_the_source.high),
            said.lock,
            said.predicted.map_or_else(|| "-".to_owned(), |gain| percent(share(gain))),
            percent(share(said.gain)),
            said.interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", percent(share(low)), percent(share(high)))
            }),
            said.error().map_or_else(|| "-".to_owned(), percent),
        );
    }
    println!();
}
