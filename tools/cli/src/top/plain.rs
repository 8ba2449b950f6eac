//! Prints plain tables, one after another: to a pipe or a file, or one to a terminal.

use std::io::{IsTerminal, Write, stdout};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::view::{COLUMNS, View};
use super::watch::Watch;
use crate::failure::{Failure, REPORT_FAILED};
use crate::terminal::style;
use syncline_present::terminal::{Style, cell, table, wrapped};

/// The most locks that a table has.
const ROWS: usize = 20;
/// The time between two checks whether a user has asked the command to end.
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
        let terminal = stdout().is_terminal().then(|| style().width());
        write(&text(&watch.command, &view, terminal))?;
        if once {
            return Ok(());
        }
        if !watch.goes_on() {
            return write(&format!("{}\n", watch.ending_text()));
        }
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Failure::new(REPORT_FAILED, e))
}

/// A table for a terminal of this width. With `None`, for a pipe or a file, lines are never broken.
fn text(command: &str, view: &View, terminal: Option<usize>) -> String {
    let style = |width| Style { color: false, width };
    let lines = terminal.map_or_else(Style::default, style);
    let mut text = format!("{command}\n{}\n", view.headline);
    view.stuck.iter().for_each(|stuck| text += &format!("{stuck}\n"));
    let mut text = wrapped(&text, &lines).into_bytes();
    let rows = view.rows.iter().take(ROWS).map(|row| row.cells.clone().map(cell)).collect();
    let titles = COLUMNS.map(|(title, _)| title);
    table::write(&mut text, &style(terminal.unwrap_or(usize::MAX)), titles, rows)
        .expect("memory takes all");
    if view.rows.is_empty() {
        text.extend(format!("  {}\n", titles.join("  ")).bytes());
    }
    text.push(b'\n');
    String::from_utf8(text).expect("cells are text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::view::tests::{example, example_of_a_deadlock};

    #[test]
    fn a_table_has_aligned_columns() {
        let text = text("./app", &View::of(&[example()]), None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "./app");
        assert!(lines[2].starts_with("  WAITED  NOW  CONTENDED  CALLS/S  "), "{text}");
        assert_eq!(lines[3].find("busy"), lines[2].find("LOCK"));
        assert_eq!(lines[3].find("busy at"), lines[2].find("MOSTLY"));
    }

    #[test]
    fn a_deadlock_stands_before_the_table() {
        let text = text("./app", &View::of(&[example_of_a_deadlock()]), None);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].starts_with("DEADLOCK  each thread waits for a lock"), "{text}");
        assert!(lines[3].ends_with("(two) waits for b.") && lines[4].starts_with("  WAITED"));
    }
}
