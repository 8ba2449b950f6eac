//! Tables for a terminal: columns of numbers, aligned to the right, and a last column that takes
//! the rest of the width.

use std::io::{self, Write};

use super::style::Style;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Not at all.
    Plain,
    /// A heading, or the number that a line is about.
    Bold,
    /// Less than the rest.
    Dim,
    /// Something that costs time.
    Red,
    /// Something that may cost time.
    Yellow,
}

impl Paint {
    /// Returns the text, in this colour if the style has colours.
    pub fn on(self, text: &str, style: &Style) -> String {
        let code = match self {
            _ if !style.color || text.is_empty() => return text.to_owned(),
            Paint::Plain => return text.to_owned(),
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Red => "31",
            Paint::Yellow => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// A cell of a table.
pub struct Cell {
    text: String,
    paint: Paint,
}

/// A plain cell with this text, made [`printable`].
pub fn cell(text: impl Into<String>) -> Cell {
    Cell { text: printable(&text.into()), paint: Paint::Plain }
}

impl Cell {
    /// This cell with a colour.
    pub fn paint(self, paint: Paint) -> Cell {
        Cell { paint, ..self }
    }
}

/// Writes a table, unless it has no rows. Every line starts with two spaces.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn write<const N: usize>(
    out: &mut impl Write,
    style: &Style,
    titles: [&str; N],
    rows: Vec<[Cell; N]>,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let titles = titles.map(|title| cell(title).paint(Paint::Dim));
    let rows: Vec<_> = [titles].into_iter().chain(rows).collect();
    let width = |n: usize| rows.iter().map(|r| r[n].text.chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let taken: usize = widths[..N - 1].iter().map(|width| width + 2).sum();
    let left = style.width().saturating_sub(taken + 2).max(20);
    for row in &rows {
        let mut line = String::from("  ");
        for (place, Cell { text, paint }) in row.iter().enumerate() {
            if place == N - 1 {
                line += &paint.on(&shorten(text, left), style);
            } else {
                line += &" ".repeat(widths[place] - text.chars().count());
                line += &paint.on(text, style);
                line += "  ";
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The text with a placeholder for each control character: a name must not control the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The text, with its middle left out if it is too long. Both ends are kept, since names differ
/// there.
pub fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let end = (width - 1) * 2 / 3;
    let start = width - 1 - end;
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_and_long_names_lose_their_middle() {
        let mut out = Vec::new();
        let style = Style { color: false, width: 80 };
        let long = "a".repeat(50) + &"b".repeat(50);
        let rows = vec![[cell("1"), cell("short")], [cell("1,234"), cell(long)]];
        write(&mut out, &style, ["n", "name"], rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["      n  name", "      1  short"]);
        assert!(lines[2].starts_with("  1,234  aaa") && lines[2].ends_with("bbb"));
        assert!(lines[2].contains('…') && lines[2].chars().count() == 80);
    }

    #[test]
    fn a_name_can_not_command_the_terminal() {
        assert_eq!(cell("a\x1b[2Jb").text, "a\u{fffd}[2Jb");
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        let style = |color| Style { color, width: 80 };
        assert_eq!(Paint::Red.on("x", &style(false)), "x");
        assert_eq!(Paint::Red.on("x", &style(true)), "\x1b[31mx\x1b[0m");
    }
}
