//! Breaks text into lines that fit the terminal's width.

use super::style::Style;

/// How much further continuation lines are indented.
const MORE: usize = 3;

/// Breaks lines that are too long: after a comma, semicolon or colon if there is one in the second
/// half of the line, otherwise at a space, but never between a number and its unit.
pub fn wrapped(text: &str, style: &Style) -> String {
    let mut all = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut rest = line.to_owned();
        while let Some(place) = break_of(&rest, indent, style.width()) {
            all.push_str(rest[..place].trim_end());
            all.push('\n');
            rest = " ".repeat(indent + MORE) + rest[place..].trim_start();
        }
        all.push_str(&rest);
        all.push('\n');
    }
    all
}

/// The position at which to break a line that is indented by `indent` spaces; `None` if the line is
/// short enough, or can't be broken anywhere.
fn break_of(line: &str, indent: usize, width: usize) -> Option<usize> {
    let (end, _) = line.char_indices().nth(width)?;
    let from = indent + MORE;
    let words = line.get(from..end)?;
    let begins = words.len() - words.trim_start().len();
    let after_number = |place: usize| words[..place].ends_with(|c: char| c.is_ascii_digit());
    let at = |pause: &str| {
        let found = words.rmatch_indices(pause).map(|(place, _)| place);
        found.filter(|&place| place > begins).find(|&place| pause != " " || !after_number(place))
    };
    let at_pause = [", ", "; ", ": "].into_iter().filter_map(at).max();
    // A break at a pause far from the end would leave a short line and a long one.
    let at_pause = at_pause.filter(|place| 2 * place > words.len());
    let place = at_pause.map(|place| place + 1).or_else(|| at(" "))?;
    Some(from + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 90;
    const STYLE: Style = Style { color: false, width: WIDTH };

    #[test]
    fn long_lines_go_on_below_and_short_ones_stay() {
        let short = "1. a lock\n   at a place\n\n";
        assert_eq!(wrapped(short, &STYLE), short);
        let words = format!("   inside: {}", vec!["a word (5 %)"; 20].join(", "));
        let text = wrapped(&words, &STYLE);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert!(lines[1..].iter().all(|line| line.starts_with("      a word")), "{text}");
        assert!(lines[..lines.len() - 1].iter().all(|line| line.ends_with(',')), "{text}");
        let joined = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, words.trim());
    }

    /// `break_of` searches from three bytes after the indent. There may be a space there if the
    /// line begins with a short word.
    #[test]
    fn lines_break_between_words_and_not_in_them() {
        let numbers = vec!["100 % of"; 30].join(" ");
        let text = wrapped(&format!("   {numbers}\n"), &STYLE);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= WIDTH));
        let joined = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, numbers);
        for line in lines {
            assert!(!line.trim_start().starts_with('%'), "a unit without its number: {line:?}");
        }
    }

    #[test]
    fn what_can_not_be_broken_stays_whole() {
        let word = format!("   {}\n", "µ".repeat(200));
        assert_eq!(wrapped(&word, &STYLE), word);
        let behind = format!("   at {}\n", "x".repeat(200));
        assert_eq!(wrapped(&behind, &STYLE).replace("\n      ", " "), behind);
    }
}
