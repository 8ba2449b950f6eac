//! Numbers for the page: those of [`crate::number`] as HTML, with narrow spaces, at which no line
//! breaks, between groups of digits and before units.

use crate::number;

/// A time in seconds: `12.3 ms`.
pub fn duration(seconds: f64) -> String {
    narrow(number::duration(seconds))
}

/// A number of things: `9 999`, `12.3 k`.
pub fn count(number: u64) -> String {
    narrow(number::count(number))
}

/// A number of things, with all its digits.
pub fn grouped(number: u64) -> String {
    narrow(number::grouped(number))
}

/// A number of things per second.
pub fn rate(per_second: f64) -> String {
    narrow(number::rate(per_second))
}

/// A share of one: `43.2 %`.
pub fn percent(share: f64) -> String {
    narrow(number::percent(share))
}

/// A number and the name of what is counted: `1 200 locks`.
pub fn counted(number: usize, one: &str) -> String {
    format!("{} {}", grouped(number as u64), number::of_so_many(number, one))
}

/// A number that a program reads: a whole number below ten million with all digits, any other with
/// up to five significant ones; 0 if it is not finite.
pub fn compact(number: f64) -> String {
    if !number.is_finite() {
        "0".to_owned()
    } else if number.fract() == 0.0 && number.abs() < 1e7 {
        format!("{number:.0}")
    } else {
        let text = format!("{number:.4e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn narrow(text: String) -> String {
    text.replace([' ', ','], "\u{202f}").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_break() {
        assert_eq!(duration(0.0123), "12.3\u{202f}ms");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(percent(0.0001), "&lt;0.1\u{202f}%");
        assert_eq!(counted(1200, "lock"), "1\u{202f}200 locks");
    }

    #[test]
    fn numbers_for_programs_are_short_and_near() {
        for (number, text) in [
            (0.0, "0"),
            (1_234_567.0, "1234567"),
            (0.5, "5e-1"),
            (1.0 / 3.0, "3.3333e-1"),
            (123_456_789.0, "1.2346e8"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(compact(number), text);
            assert!(serde_json::from_str::<f64>(text).is_ok());
        }
    }
}
