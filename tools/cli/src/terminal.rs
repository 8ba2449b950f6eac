//! The terminal that standard output or standard error may be: its width, and whether to use colours.

use std::io::{IsTerminal, stderr, stdout};

use ratatui::crossterm::terminal;
use syncline_present::terminal::{Style, wrapped};

/// Columns of a report that goes to a file or a pipe.
const PLAIN_WIDTH: usize = 100;

/// Lines for standard error, broken to its width if it is a terminal: scripts get whole lines.
pub fn to_terminal(text: &str) -> String {
    match terminal::size() {
        Ok((columns, _)) if stderr().is_terminal() => {
            wrapped(text, &Style { color: false, width: columns.into() })
        }
        _ => format!("{}\n", text.trim_end()),
    }
}

/// Colours and the real width on a terminal; neither for anything else.
pub fn style() -> Style {
    let on_terminal = stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = match terminal::size() {
        Ok((columns, _)) if on_terminal => usize::from(columns),
        _ => PLAIN_WIDTH,
    };
    Style { color: on_terminal && !no_color, width }
}
