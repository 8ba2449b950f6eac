//! The terminal that standard output or standard error may be: its width, and whether to use colours.

use std::io::{IsTerminal, stderr, stdout};

use ratatui::crossterm::terminal;
use syncline_present::terminal::{Style, wrapped};

/// The width, in columns, of a report that goes to a file or a pipe.
const PLAIN_WIDTH: usize = 100;

/// Lines for standard error. On a terminal they are broken to its width; scripts get whole lines.
pub fn to_terminal(text: &str) -> String {
    match width(stderr().is_terminal()) {
        Some(width) => wrapped(text, &Style { color: false, width }),
        None => format!("{}\n", text.trim_end()),
    }
}

/// The style of standard output: colours and the real width on a terminal, otherwise no colours and
/// [`PLAIN_WIDTH`].
pub fn style() -> Style {
    let on_terminal = stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = width(on_terminal).unwrap_or(PLAIN_WIDTH);
    Style { color: on_terminal && !no_color, width }
}

/// The columns of the terminal; `None` if the output is not a terminal, or its size is unknown.
/// Without a terminal, querying the columns would run a program twice, which takes longer than
/// everything else at the end of a recording.
fn width(on_terminal: bool) -> Option<usize> {
    let (columns, _) = on_terminal.then(terminal::size)?.ok()?;
    Some(columns.into())
}
