//! The claims as a table for a terminal, as tables for docs/study.md and lab/study/claims.md, and
//! as counts for a script.

use std::fmt::Write as _;

use serde::Serialize;

use super::check::Part;
use super::known::KNOWN_MISSES;
use super::rows::{Check, ROWS, Row};
use crate::figure::Book;

/// The number of rows with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All rows.
    pub rows: usize,
    /// Rows whose parts all hold.
    pub hold: usize,
    /// Rows counted in `hold` whose parts all hold by construction.
    pub by_construction: usize,
    /// Rows with a part that does not hold, or without any part.
    pub miss: usize,
    /// Rows that are measured on real programs.
    pub elsewhere: usize,
    /// Rows that can't be checked yet, since the thing that they are about is not built.
    pub not_built: usize,
}

/// Each row with its parts; `None` in place of the parts if the row is not checked on figures.
pub fn outcomes(book: &Book) -> Vec<(&'static Row, Option<Vec<Part>>)> {
    let check = |row: &'static Row| match row.check {
        Check::NotBuilt(_) | Check::Elsewhere(..) => (row, None),
        Check::Figures(_, check) => (row, Some(check(book))),
    };
    ROWS.iter().map(check).collect()
}

fn holds(parts: &[Part]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| part.holds)
}

/// The verdict on rows and parts whose numbers are inputs or follow from inputs.
const BY_CONSTRUCTION: &str = "holds by construction";

fn verdict(row: &Row, parts: Option<&[Part]>) -> &'static str {
    match (&row.check, parts) {
        (Check::Elsewhere(..), _) => "elsewhere",
        (Check::NotBuilt(_), _) | (_, None) => "not built",
        (_, Some(parts)) if !holds(parts) => "misses",
        (_, Some(parts)) if parts.iter().all(|part| part.by_construction) => BY_CONSTRUCTION,
        _ => "holds",
    }
}

impl Summary {
    /// Counts the rows.
    pub fn of(book: &Book) -> Summary {
        let mut summary = Summary::default();
        for (row, parts) in outcomes(book) {
            summary.rows += 1;
            match verdict(row, parts.as_deref()) {
                "holds" => summary.hold += 1,
                BY_CONSTRUCTION => {
                    summary.hold += 1;
                    summary.by_construction += 1;
                }
                "misses" => summary.miss += 1,
                "elsewhere" => summary.elsewhere += 1,
                _ => summary.not_built += 1,
            }
        }
        summary
    }
}

/// Formats the rows for a terminal.
pub fn table(book: &Book) -> String {
    let mut text = String::new();
    for (row, parts) in outcomes(book) {
        let verdict = verdict(row, parts.as_deref());
        let _ = writeln!(text, "{:<4} {verdict:<21} {:<13} {}", row.id, row.place, row.says);
        let _ = match row.check {
            Check::NotBuilt(missing) => writeln!(text, "{:16}needs {missing}", ""),
            Check::Elsewhere(found, holds) => writeln!(text, "{:16}{holds}: {found}", ""),
            Check::Figures(..) => Ok(()),
        };
        for part in parts.unwrap_or_default() {
            let mark = match (part.holds, part.by_construction) {
                (false, _) => "*",
                (true, true) => "=",
                (true, false) => " ",
            };
            let _ = writeln!(
                text,
                "   {mark} {:<58} {:<34} paper: {}",
                part.what, part.ours, part.paper
            );
        }
    }
    text.push_str("\n* misses; lab/study/claims.md has the reasons\n");
    text.push_str("= holds by construction: the number is an input, and so not evidence\n");
    text
}

/// Formats the rows for docs/study.md.
pub fn markdown(book: &Book) -> String {
    let mut text =
        String::from("| id | where | claim | within | verdict |\n|---|---|---|---|---|\n");
    let outcomes = outcomes(book);
    for (row, parts) in &outcomes {
        let verdict = verdict(row, parts.as_deref());
        let Row { id, place, within, says, .. } = row;
        let _ = writeln!(text, "| {id} | {place} | {says} | {within} | {verdict} |");
    }
    text.push_str("\nRows that are measured elsewhere, on real programs:\n\n");
    for (row, _) in &outcomes {
        if let Check::Elsewhere(found, holds) = row.check {
            let _ = writeln!(text, "- **{}** ({holds}): {found}", row.id);
        }
    }
    text
}

/// Formats the parts of the rows, and the reasons for misses, for lab/study/claims.md.
pub fn parts_markdown(book: &Book) -> String {
    let mut text = String::from("Each part of the rows that are checked:\n\n");
    text.push_str("| id | part | ours | paper | |\n|---|---|---|---|---|\n");
    for (row, parts) in outcomes(book) {
        for Part { what, ours, paper, holds, by_construction } in parts.unwrap_or_default() {
            let verdict = match (holds, by_construction) {
                (false, _) => "misses",
                (true, true) => BY_CONSTRUCTION,
                (true, false) => "holds",
            };
            let _ = writeln!(text, "| {} | {what} | {ours} | {paper} | {verdict} |", row.id);
        }
    }
    text.push_str("\nWhy parts miss:\n\n");
    let mut reasons: Vec<&str> = Vec::new();
    for miss in KNOWN_MISSES {
        if !reasons.contains(&miss.why) {
            reasons.push(miss.why);
        }
    }
    for why in reasons {
        let misses = KNOWN_MISSES.iter().filter(|miss| miss.why == why);
        let parts: Vec<String> = misses.map(|miss| format!("{}, {}", miss.id, miss.part)).collect();
        let _ = writeln!(text, "- **{}**: {why}", parts.join("; "));
    }
    text
}
