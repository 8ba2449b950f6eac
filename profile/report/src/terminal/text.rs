//! Headings, paragraphs, and what a table left out.

use std::io::{self, Write};

use syncline_present::number;
use syncline_present::terminal::{Paint, Style};

/// Writes a heading and its explanation.
pub fn heading(title: &str, remark: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let title = Paint::Bold.on(title, style);
    let remark = Paint::Dim.on(remark, style);
    writeln!(out, "\n{}", format!("{title}  {remark}").trim_end())
}

/// Writes how many things a table left out; nothing if it is complete. `one` is what is counted, in
/// the singular. Only its first word gets a plural, so the rest has to suit both.
pub fn more(count: usize, one: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    match count {
        0 => Ok(()),
        _ => {
            let (noun, rest) = one.split_once(' ').map_or((one, ""), |(noun, rest)| (noun, rest));
            let plural = match (count, noun) {
                (1, _) => noun.to_owned(),
                (_, "process") => "processes".to_owned(),
                _ => format!("{noun}s"),
            };
            let text = format!("… and {} more {plural} {rest}", number::grouped(count as u64));
            writeln!(out, "  {}", Paint::Dim.on(text.trim_end(), style))
        }
    }
}

/// Writes a paragraph, broken into lines of the style's width. The first line starts with `start`,
/// the others with as many spaces.
pub fn paragraph(start: &str, text: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let indent = start.chars().count();
    let mut line = start.to_owned();
    for word in together(text) {
        let length = columns(&line);
        if length > indent && length + 1 + columns(&word) > style.width() {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
        } else if length > indent {
            line.push(' ');
        }
        line.push_str(&word);
    }
    writeln!(out, "{line}")
}

/// The columns that a text takes. The escape sequences of colours take none.
fn columns(text: &str) -> usize {
    let colours = text.split('\x1b').skip(1);
    let escapes = colours.map(|part| part.find('m').map_or(0, |end| end + 2));
    text.chars().count() - escapes.sum::<usize>()
}

/// The words of a text. A number is one word with the word that follows it, which may be its unit.
fn together(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(number) if number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = ["waited 3.61 s"; 12].join(", ");
        let mut out = Vec::new();
        paragraph("  - ", &text, &mut out, &Style::default()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().count() > 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with('s')), "{text}");
    }
}
