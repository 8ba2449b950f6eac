//! Properties of the terminal that standard output or standard error may be: its width, and whether
//! to use colours.

use std::io::{IsTerminal, stderr, stdout};

use ratatui::crossterm::terminal;
use syncline_present::terminal::{Style, wrapped};

/// The width, in columns, of a report that is written to a file or a pipe.
const PLAIN_WIDTH: usize = 100;

/// Formats lines for standard error. If that is a terminal, the lines are broken at its width;
/// otherwise they stay whole, for scripts.
pub fn to_terminal(text: &str) -> String {
    match width(stderr().is_terminal()) {
        Some(width) => wrapped(text, &Style { color: false, width }),
        None => format!("{}\n", text.trim_end()),
    }
}

/// The style of standard output. On a terminal it has colours and the terminal's width, and
/// otherwise no colours and [`PLAIN_WIDTH`].
pub fn style() -> Style {
    let on_terminal = stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = width(on_terminal).unwrap_or(PLAIN_WIDTH);
    Style { color: on_terminal && !no_color, width }
}

/// The number of the terminal's columns, or `None` if the output is not a terminal or the number is
/// unknown. It is queried only for a terminal: otherwise the query would run a program twice, which
/// takes longer than everything else at the end of a recording.
fn width(on_terminal: bool) -> Option<usize> {
    let (columns, _) = on_terminal.then(terminal::size)?.ok()?;
    Some(columns.into())
}
