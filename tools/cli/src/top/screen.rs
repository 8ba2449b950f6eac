//! The screen that is refreshed.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, Wrap};
use ratatui::{DefaultTerminal, Frame};

use super::view::{COLUMNS, View};
use super::watch::Watch;
use crate::failure::{Failure, REPORT_FAILED};

/// The longest time between the first and the second view. The first view is shown at once, so it
/// covers hardly any time.
const FIRST: Duration = Duration::from_millis(200);
/// The time between two checks whether the user wants to leave.
const LOOK: Duration = Duration::from_millis(100);

/// Shows the screen until the user leaves or the program ends. Afterwards the terminal is as
/// before.
pub fn show(watch: &mut Watch, interval: Duration) -> Result<(), Failure> {
    let mut terminal = ratatui::try_init().map_err(|e| Failure::new(REPORT_FAILED, e))?;
    let ended = renew(watch, interval, &mut terminal);
    ratatui::restore();
    if ended? {
        println!("{}", watch.ending_text());
    }
    Ok(())
}

/// Refreshes the screen until the user leaves or the program ends. Returns whether the program
/// ended first.
fn renew(
    watch: &mut Watch,
    interval: Duration,
    terminal: &mut DefaultTerminal,
) -> Result<bool, Failure> {
    let failed = |e| Failure::new(REPORT_FAILED, e);
    let mut until = Instant::now() + interval.min(FIRST);
    let mut view = watch.look()?;
    loop {
        terminal.draw(|frame| draw(frame, &watch.command, &view)).map_err(failed)?;
        let look = until.saturating_duration_since(Instant::now()).min(LOOK);
        if watch.is_over() {
            return Ok(false);
        } else if event::poll(look).map_err(failed)? {
            if leaves(&event::read().map_err(failed)?) {
                return Ok(false);
            }
        } else if Instant::now() >= until {
            view = watch.look()?;
            until = Instant::now() + interval;
            if !watch.goes_on() {
                return Ok(true);
            }
        }
    }
}

fn leaves(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let control_c = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
    control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn draw(frame: &mut Frame, command: &str, view: &View) {
    let stuck: Vec<Line> =
        view.stuck.iter().map(|stuck| Line::from(stuck.as_str()).red()).collect();
    let stuck = Paragraph::new(stuck).wrap(Wrap { trim: true });
    let lines = room_for(&view.stuck, frame.area().width).min(frame.area().height / 2);
    let [title, summary, trap, table, help] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(lines),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let headline = Paragraph::new(view.headline.as_str()).wrap(Wrap { trim: true });
    frame.render_widget(Line::from(command).bold(), title);
    frame.render_widget(headline, summary);
    frame.render_widget(stuck, trap);
    frame.render_widget(table_of(view), table);
    let explained = "q quits; WAITED is a share of one thread's time, NOW a number of threads";
    frame.render_widget(Line::from(explained).dim(), help);
}

/// The number of lines that these texts need. It is an estimate: words are not broken, so up to a
/// quarter of each line may stay empty.
fn room_for(texts: &[String], width: u16) -> u16 {
    let filled = usize::from(width * 3 / 4).max(1);
    texts.iter().map(|text| text.chars().count().div_ceil(filled) as u16).sum()
}

fn table_of(view: &View) -> Table<'_> {
    let rows = view.rows.iter().map(|row| {
        let cells = Row::new(row.cells.iter().map(String::as_str));
        if row.notable { cells.bold() } else { cells }
    });
    let widths = COLUMNS.map(|(_, width)| match width {
        0 => Constraint::Fill(1),
        width => Constraint::Length(width as u16),
    });
    let titles = COLUMNS.map(|(title, _)| title);
    Table::new(rows, widths).header(Row::new(titles).reversed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::view::tests::{example, example_of_a_deadlock};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn a_screen_shows_the_command_the_summary_and_the_locks() {
        let mut terminal = Terminal::new(TestBackend::new(100, 8)).unwrap();
        let view = View::of(&[example()]);
        terminal.draw(|frame| draw(frame, "./app -x", &view)).unwrap();
        let shown = terminal.backend().to_string();
        for part in [
            "./app -x",
            "3 threads",
            "of one thread's time lost",
            "50.0 %",
            "1200",
            "busy at app.c",
        ] {
            assert!(shown.contains(part), "no {part} in\n{shown}");
        }
    }

    #[test]
    fn a_deadlock_stands_above_the_locks() {
        let mut terminal = Terminal::new(TestBackend::new(80, 12)).unwrap();
        let view = View::of(&[example_of_a_deadlock()]);
        terminal.draw(|frame| draw(frame, "./app", &view)).unwrap();
        let shown = terminal.backend().to_string();
        let at = |part: &str| shown.find(part).unwrap_or_else(|| panic!("no {part} in\n{shown}"));
        assert!(at("DEADLOCK") < at("waits for b.") && at("waits for b.") < at("busy at"));
    }

    #[test]
    fn q_and_control_c_leave() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        assert!(leaves(&key(KeyCode::Char('q'), KeyModifiers::NONE)));
        assert!(leaves(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!leaves(&key(KeyCode::Char('c'), KeyModifiers::NONE)));
    }
}
