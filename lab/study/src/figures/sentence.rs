//! Numbers and lists for sentences.

use syncline_present::number::grouped;

/// Formats a number with the digits that matter at its size.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.1 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        size if size < 10_000.0 => format!("{value:.0}"),
        _ if value < 0.0 => format!("-{}", grouped(value.abs().round() as u64)),
        _ => grouped(value.round() as u64),
    }
}

/// Joins parts of a sentence as a list.
pub fn list(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    match parts.split_last() {
        None => "Nothing was measured".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{}; and {last}", rest.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_significant_digits_only() {
        assert_eq!(number(0.0123), "0.012");
        assert_eq!(number(4.25), "4.2");
        assert_eq!((number(12.5), number(16.0)), ("12.5".to_owned(), "16".to_owned()));
        assert_eq!(number(1234.5), "1234");
        assert_eq!(number(847_764.2), "847,764");
        assert_eq!(list(["a".to_owned(), "b".to_owned(), "c".to_owned()]), "a; b; and c");
    }
}
