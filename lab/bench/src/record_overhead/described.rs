//! `./x bench record-overhead --programs DIR`: the cost of recording programs that the user has
//! built. Files describe them as for `accuracy` ([`description`]).
//!
//! In each round, a program runs in all ways in turn: alone, recorded, and under each library that
//! the user names as a peer.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use super::cost;
use super::peer::Peer;
use super::rounded;
use crate::compare::{Row, Side};
use crate::lab::Lab;
use crate::origin;
use crate::programs::description::{self, Description};
use crate::programs::{CPU, PEAK, WALL, Wrapper};
use crate::recorder::Recorder;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::table::Table;

const SECTION: &str = "Programs";

/// The last line of output. Each ratio is the value with recording over the value without.
#[derive(Serialize)]
struct Summary {
    programs: usize,
    wall_ratio: f64,
    wall_worst: f64,
    cpu_ratio: f64,
    cpu_worst: f64,
    memory_ratio: f64,
    memory_worst: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  programs                    number of programs that were run
  wall_ratio, wall_worst      wall time with recording over without: geometric mean, and
                              largest value of a program
  cpu_ratio, cpu_worst        likewise for processor time
  memory_ratio, memory_worst  likewise for peak memory
";

/// Runs all programs of a folder, prints each row of the table as soon as it is known, and returns
/// the JSON line.
pub fn run(folder: &Path, peers: &[Peer], size: Size) -> anyhow::Result<String> {
    println!("{}\n", origin::recorder()?);
    let lab = Lab::new(size)?;
    let recorder = Recorder::find(&lab)?;
    let programs = description::all(folder)?;
    let ways: Vec<Way> =
        [Way::Recorded(&recorder)].into_iter().chain(peers.iter().map(Way::Under)).collect();
    let times = size.pick(1, 5, 15);
    let bar = rounds::bar((programs.len() * (ways.len() + 1) * (times + 1)) as u64)?;
    let mut table = Table::new("without", "with");
    // For each way to run the programs, the rows of its results.
    let mut rows: Vec<Vec<Row>> = ways.iter().map(|_| Vec::new()).collect();

    println!("What recording costs: without and with it, in turn; medians over the rounds");
    for known in &programs {
        bar.set_message(known.name.clone());
        let mut sides: Vec<Once<Vec<f64>>> = vec![Box::new(|| Way::Alone.run(known, &lab))];
        sides.extend(ways.iter().map(|way| -> Once<_> { Box::new(|| way.run(known, &lab)) }));
        let results = rounds::run(&mut sides, times, &bar, 1)?;
        for ((way, with), rows) in ways.iter().zip(&results[1..]).zip(&mut rows) {
            let new = way.rows(known, &results[0], with);
            bar.suspend(|| table.print(&new));
            rows.extend(new);
        }
    }
    bar.finish_and_clear();

    let ends = |way: usize| {
        [WALL, CPU, PEAK].map(|measure| ends(&rows[way], measure, &ways[way].suffix()))
    };
    (0..ways.len()).for_each(|way| table.print(ends(way).as_flattened()));
    println!();
    let [wall, cpu, memory] = ends(0).map(|ends| ends.map(|row| rounded(row.change().median)));
    Ok(serde_json::to_string(&Summary {
        programs: programs.len(),
        wall_ratio: wall[0],
        wall_worst: wall[1],
        cpu_ratio: cpu[0],
        cpu_worst: cpu[1],
        memory_ratio: memory[0],
        memory_worst: memory[1],
    })?)
}

/// Two rows for a measure: the geometric mean over all programs, and the program with the largest
/// ratio.
fn ends(rows: &[Row], measure: &str, suffix: &str) -> [Row; 2] {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.measure.label == measure).collect();
    let change = |row: &Row| row.change().median;
    let worst = rows.iter().max_by(|a, b| change(a).total_cmp(&change(b)));
    let worst = *worst.expect("a folder describes one program or more");
    let worst = Row::mean(&format!("worst, {}", worst.case), &[worst]);
    [Row::mean(&format!("geometric mean{suffix}"), &rows), worst]
}

/// A way to run a program.
enum Way<'a> {
    Alone,
    Recorded(&'a Recorder),
    Under(&'a Peer),
}

impl Way<'_> {
    /// The suffix of a program's name in the table.
    fn suffix(&self) -> String {
        match self {
            Way::Under(peer) => format!(", {}", peer.name),
            _ => String::new(),
        }
    }

    /// Runs a program once in this way, and returns the figures for [`cost::measures`].
    fn run(&self, known: &Description, lab: &Lab) -> anyhow::Result<Vec<f64>> {
        let (program, arguments) = (&known.command[0], &known.command[1..]);
        let mut recording = None;
        let command = match self {
            Way::Alone => Command::new(program),
            Way::Under(peer) => peer.command(program),
            Way::Recorded(recorder) => {
                recording = Some(recorder.recording(&known.name));
                recorder.command(Side::Subject, &known.name, program.as_ref())?
            }
        };
        let finished = known.run(lab, command, arguments);
        let finished = finished.with_context(|| format!("{}{}", known.name, self.suffix()))?;
        Ok(cost::figures(&finished, recording.as_deref())?)
    }

    /// A program's rows, from the values of each round without this way and with it.
    fn rows(&self, known: &Description, without: &[Vec<f64>], with: &[Vec<f64>]) -> Vec<Row> {
        let case = known.name.clone() + &self.suffix();
        let pairs = |m: usize| without.iter().zip(with).map(|(a, b)| (a[m], b[m])).collect();
        let mut rows = Vec::new();
        for (number, measure) in cost::measures().into_iter().enumerate() {
            // The files that a peer writes are not measured.
            if measure.label != cost::SIZE || matches!(self, Way::Recorded(_)) {
                let (case, pairs) = (case.clone(), pairs(number));
                rows.push(Row { section: SECTION, case, measure, pairs, looks: 1 });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Change, Measure};

    #[test]
    fn the_worst_program_is_the_one_with_the_largest_change() {
        let row = |case: &str, label, with| Row {
            section: "",
            case: case.to_owned(),
            measure: Measure { label, change: Change::Ratio, aim: None },
            pairs: vec![(1.0, with)],
            looks: 1,
        };
        let rows = [row("a", WALL, 1.0), row("b", WALL, 4.0), row("a", CPU, 9.0)];
        let [mean, worst] = ends(&rows, WALL, ", peer");
        assert_eq!((mean.case.as_str(), worst.case.as_str()), ("geometric mean, peer", "worst, b"));
        assert_eq!([mean, worst].map(|row| rounded(row.change().median)), [2.0, 4.0]);
    }
}
