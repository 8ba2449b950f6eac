//! Plain tables, one after the other, for a pipe or a file.

use std::io::{Write, stdout};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::view::{COLUMNS, View};
use super::watch::Watch;
use crate::failure::{Failure, REPORT_FAILED};
use syncline_present::terminal::wrapped;

/// Locks in one table.
const ROWS: usize = 20;
/// How often the command checks whether it was asked to end.
const LOOK: Duration = Duration::from_millis(50);

/// Prints a table after each interval.
pub fn print(watch: &mut Watch, interval: Duration, once: bool) -> Result<(), Failure> {
    loop {
        let until = Instant::now() + interval;
        while Instant::now() < until {
            if watch.is_over() {
                return Ok(());
            }
            sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        let view = watch.look()?;
        write(&table(&watch.command, &view))?;
        if once {
            return Ok(());
        }
        if !watch.goes_on() {
            return write(&format!("{}\n", watch.farewell()));
        }
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Failure::new(REPORT_FAILED, e))
}

fn table(command: &str, view: &View) -> String {
    let mut text = format!("{command}\n{}\n", view.headline);
    for stuck in &view.stuck {
        text += &wrapped(stuck);
    }
    let titles = COLUMNS.map(|(title, _)| title.to_owned());
    let rows = view.rows.iter().take(ROWS).map(|row| &row.cells);
    for cells in [&titles].into_iter().chain(rows) {
        let padded = cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!("{cell:<width$}"));
        text += padded.collect::<Vec<_>>().join(" ").trim_end();
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::view::tests::{example, example_of_a_deadlock};

    #[test]
    fn a_table_has_aligned_columns() {
        let text = table("./app", &View::of(&[example()]));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "./app");
        assert!(lines[2].starts_with("WAITED   NOW  CONTENDED CALLS/S    LOCK"));
        assert_eq!(lines[3].find("busy"), lines[2].find("LOCK"));
        assert_eq!(lines[3].find("busy at"), lines[2].find("MOSTLY"));
    }

    #[test]
    fn a_deadlock_stands_before_the_table() {
        let text = table("./app", &View::of(&[example_of_a_deadlock()]));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("DEADLOCK  each thread waits for a lock"), "{text}");
        assert!(lines[3].ends_with("(two) waits for b.") && lines[4].starts_with("WAITED"));
    }
}
