//! Writes the report for a terminal, in at most 100 columns.

use std::io::{self, Write};

use super::heat_map::Scale;
use super::number::{self, cycles, heading, spread};
use super::shape::shape;
use crate::case::{ACCESSES, Access, STATES, State, state_name};
use crate::measurement::Measurement;
use syncline_statistics::Summary;

/// The largest width of the report in columns.
const WIDTH: usize = 100;

/// The most threads of a matrix that is printed with numbers. In a larger matrix there is a shade
/// for each pair.
const NUMBERS: usize = 15;
/// The most threads of a matrix that has a shade for each pair. For a larger matrix, only some of
/// the threads are shown.
const SHADES: usize = 90;

/// Writes the report.
///
/// # Errors
/// If writing to `out` fails.
pub fn terminal(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let subject = &measurement.subject;
    writeln!(out, "{}", subject.title)?;
    for line in wrapped(&shape(subject), WIDTH) {
        writeln!(out, "{line}")?;
    }
    write!(out, "{:.2} GHz", subject.hertz / 1e9)?;
    if subject.native {
        let (rate, reading) = (subject.ticks_per_second / 1e9, cycles(subject.clock_cycles));
        write!(out, "; a clock of {rate:.4} GHz, read in {reading} cycles")?;
    }
    writeln!(out, "; topology: {}\n", subject.topology)?;
    writeln!(out, "cycles ± half of the distance between the quartiles, then nanoseconds\n")?;
    local(measurement, out)?;
    for distance in 0..measurement.distances.len() {
        remote(measurement, distance, out)?;
    }
    sharers(measurement, out)?;
    matrix(measurement, out)?;
    if !measurement.notes.is_empty() {
        writeln!(out, "WHAT TO KNOW")?;
        for note in &measurement.notes {
            for line in wrapped(&note.to_string(), WIDTH - 4).iter().enumerate() {
                let (first, text) = (line.0 == 0, line.1);
                writeln!(out, "  {} {text}", if first { '-' } else { ' ' })?;
            }
        }
    }
    Ok(())
}

/// The heading of a table with a column for each operation.
fn head(out: &mut impl Write, title: &str) -> io::Result<()> {
    writeln!(out, "{title}")?;
    write!(out, "{:12}", "")?;
    for access in ACCESSES {
        write!(out, "{:>14}", heading(access))?;
    }
    writeln!(out)
}

/// A row of such a table. Cases that were not measured stay empty.
fn row<'m>(
    measurement: &Measurement,
    out: &mut impl Write,
    name: &str,
    cell: impl Fn(Access) -> Option<&'m Summary>,
) -> io::Result<()> {
    let cells = ACCESSES.map(cell);
    let Some(last) = cells.iter().rposition(Option::is_some) else {
        return Ok(());
    };
    write!(out, "  {name:10}")?;
    for cell in &cells[..=last] {
        match cell {
            Some(summary) => write!(
                out,
                "{:>5} ±{:<3}{:>4}",
                cycles(summary.median),
                spread(summary),
                cycles(measurement.nanoseconds(summary.median))
            )?,
            None => write!(out, "{:>14}", "-")?,
        }
    }
    writeln!(out)
}

fn local(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let local = &measurement.local;
    head(out, "ACCESSES THAT NEED NO OTHER THREAD")?;
    row(measurement, out, "own line", |access| measurement.own(access))?;
    let loads = [
        ("L2", local.l2.as_ref()),
        ("last level", local.llc.as_ref()),
        ("memory", Some(&local.memory)),
        ("far pages", local.far_memory.as_ref()),
    ];
    for (name, load) in loads {
        row(measurement, out, name, |access| load.filter(|_| access == Access::Load))?;
    }
    writeln!(out)
}

fn remote(measurement: &Measurement, distance: usize, out: &mut impl Write) -> io::Result<()> {
    let about = &measurement.distances[distance];
    let (a, b) = about.example;
    let pairs = if about.pairs == 1 { "pair" } else { "pairs" };
    let title = format!(
        "{}   {} {pairs} of processors, such as {a} and {b}",
        about.name.to_uppercase(),
        about.pairs
    );
    head(out, &title)?;
    for state in STATES {
        let cell = |access| measurement.cell(access, state, distance);
        row(measurement, out, state_name(state), cell)?;
        if state == State::Owned {
            let mine = |access| measurement.mine(access, distance);
            row(measurement, out, "own, read", mine)?;
        }
    }
    if let Some(stays) = measurement.stays.iter().find(|stays| stays.distance == distance) {
        writeln!(out, "  {}", number::stays(&stays.share))?;
    }
    if let Some(of) = measurement.under_way.iter().find(|of| of.distance == distance) {
        writeln!(out, "  {}", number::under_way(&of.loads))?;
    }
    writeln!(out)
}

fn sharers(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    if measurement.sharers.is_empty() {
        return Ok(());
    }
    head(out, "LINES THAT SEVERAL SHARE   by the number of other sharers, the nearest ones")?;
    let mut numbers: Vec<usize> = measurement.sharers.iter().map(|s| s.sharers).collect();
    numbers.dedup();
    for number in numbers {
        row(measurement, out, &number.to_string(), |access| {
            let mut all = measurement.sharers.iter();
            let wanted = all.find(|s| s.sharers == number && s.access == access);
            wanted.map(|shared| &shared.cycles)
        })?;
    }
    writeln!(out)
}

fn matrix(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let processors = &measurement.subject.processors;
    if processors.len() < 2 {
        return Ok(());
    }
    writeln!(
        out,
        "FROM ONE TO THE OTHER   cycles of a load (row) of a line that another has changed (column)"
    )?;
    if processors.len() <= NUMBERS {
        write!(out, "  {:>4}", "")?;
        for processor in processors {
            write!(out, "{processor:>6}")?;
        }
        writeln!(out)?;
        for (processor, row) in processors.iter().zip(&measurement.matrix) {
            write!(out, "  {processor:>4}")?;
            for cell in row {
                write!(out, "{:>6}", cell.map_or("-".to_owned(), cycles))?;
            }
            writeln!(out)?;
        }
        return writeln!(out);
    }
    let scale = Scale::of(&measurement.matrix);
    let every = processors.len().div_ceil(SHADES);
    for (processor, row) in processors.iter().zip(&measurement.matrix).step_by(every) {
        let shade = |cell: &Option<f64>| cell.map_or(' ', |cycles| shade(scale.share(cycles)));
        let shades: String = row.iter().step_by(every).map(shade).collect();
        writeln!(out, "  {processor:>4} {shades}")?;
    }
    let each = if every > 1 { format!("; one in {every} threads") } else { String::new() };
    writeln!(out, "       {}{each}\n", legend(&scale))
}

/// The shades, from near to far.
const SHADE: [char; 4] = ['░', '▒', '▓', '█'];

fn shade(share: f64) -> char {
    SHADE[((share * SHADE.len() as f64) as usize).min(SHADE.len() - 1)]
}

fn legend(scale: &Scale) -> String {
    let parts = SHADE.len() as f64;
    let upto = |n: usize| cycles(scale.cycles((n + 1) as f64 / parts));
    let shades = SHADE.iter().enumerate().map(|(n, shade)| format!("{shade} to {}", upto(n)));
    shades.collect::<Vec<_>>().join("  ")
}

/// Breaks a text into lines of at most this width. A longer word gets a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_the_given_width() {
        assert_eq!(wrapped("aa bb  cc dddddd e", 5), ["aa bb", "cc", "dddddd", "e"]);
    }

    #[test]
    fn shades_go_from_near_to_far() {
        assert_eq!([0.0, 0.3, 0.6, 1.0].map(shade), SHADE);
    }
}
