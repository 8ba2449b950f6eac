//! The claims, measured with little effort. All parts must hold except those that are known to
//! miss. Each of the latter must have a reason, and must still miss. docs/study.md and
//! lab/study/claims.md must agree with the results. The checks themselves are tested with wrong
//! inputs.

use std::path::Path;
use std::sync::OnceLock;

use syncline_study::claims::{self, Check, KNOWN_MISSES, ROWS};
use syncline_study::figure::{Book, Series};
use syncline_study::lab::{Effort, Lab};
use syncline_study::study;

/// All figures that the claims need, measured once.
fn book() -> &'static Book {
    static BOOK: OnceLock<Book> = OnceLock::new();
    BOOK.get_or_init(|| study::claimed(&Lab { effort: Effort::Small, seed: 1 }, |_, _| {}))
}

fn is_known(id: &str, part: &str) -> bool {
    KNOWN_MISSES.iter().any(|miss| miss.id == id && part.starts_with(miss.part))
}

#[test]
fn claims_hold_except_for_known_misses() {
    let mut faults = Vec::new();
    for (row, parts) in claims::outcomes(book()) {
        for part in parts.iter().flatten() {
            match (part.holds, is_known(row.id, &part.what)) {
                (true, true) => {
                    faults.push(format!("{} {} holds now, so it is not a miss", row.id, part.what))
                }
                (false, false) => {
                    faults.push(format!("{} {} misses: {}", row.id, part.what, part.ours))
                }
                _ => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_known_miss_is_a_part_of_a_row() {
    let outcomes = claims::outcomes(book());
    for miss in KNOWN_MISSES {
        let row = outcomes.iter().find(|(row, _)| row.id == miss.id);
        let parts = row.and_then(|(_, parts)| parts.as_ref());
        let found = parts.is_some_and(|parts| parts.iter().any(|p| p.what.starts_with(miss.part)));
        assert!(found, "{} {}", miss.id, miss.part);
    }
}

#[test]
fn rows_whose_numbers_are_inputs_are_marked() {
    let outcomes = claims::outcomes(book());
    let parts = |id: &str| {
        let (_, parts) = outcomes.iter().find(|(row, _)| row.id == id).expect(id);
        parts.clone().expect(id)
    };
    for id in ["S1", "S2", "S14"] {
        assert!(parts(id).iter().all(|part| part.by_construction), "{id}");
    }
    for (id, part, by_construction) in [
        ("S5", "xeon: cycles a call, 2 cores", true),
        ("S5", "xeon: Mops/s within a socket", false),
        ("S19", "xeon-x5660: crossing", true),
        ("S19", "xeon-x5660: one lock is slower", false),
    ] {
        let found = parts(id).into_iter().find(|found| found.what.starts_with(part)).expect(part);
        assert_eq!(found.by_construction, by_construction, "{id} {part}");
    }
    let marked = outcomes.iter().filter_map(|(row, parts)| Some((row.id, parts.as_ref()?)));
    let marked = marked.filter(|(_, parts)| parts.iter().any(|part| part.by_construction));
    assert_eq!(marked.map(|(id, _)| id).collect::<Vec<_>>(), ["S1", "S2", "S5", "S14", "S19"]);
}

#[test]
fn every_row_that_is_built_has_parts() {
    for (row, parts) in claims::outcomes(book()) {
        let built = matches!(row.check, Check::Figures(..));
        assert_eq!(built, parts.is_some_and(|parts| !parts.is_empty()), "{}", row.id);
    }
}

#[test]
fn the_document_says_what_the_claims_say() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        std::fs::read_to_string(path).expect(name)
    };
    let (text, note) = (read("docs/study.md"), read("lab/study/claims.md"));
    for (row, parts) in claims::outcomes(book()) {
        let begin = format!("| {} |", row.id);
        let line = text.lines().find(|line| line.starts_with(&begin)).expect(row.id);
        let verdict = match parts {
            None if matches!(row.check, Check::Elsewhere(..)) => "elsewhere",
            None => "not built",
            Some(parts) if !parts.iter().all(|part| part.holds) => "misses",
            Some(parts) if parts.iter().all(|part| part.by_construction) => "holds by construction",
            Some(_) => "holds",
        };
        assert!(line.ends_with(&format!("| {verdict} |")), "{line}: {verdict}");
    }
    for miss in KNOWN_MISSES {
        let part = format!("{}, {}", miss.id, miss.part);
        assert!(note.contains(&part) && note.contains(miss.why), "{part}: {}", miss.why);
    }
}

#[test]
fn ids_are_unique_and_complete_for_each_paper() {
    let mut ids: Vec<&str> = ROWS.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ROWS.len());
    for (letter, count) in [('S', 20), ('M', 6), ('P', 5), ('C', 4), ('A', 5)] {
        assert_eq!(ids.iter().filter(|id| id.starts_with(letter)).count(), count, "{letter}");
    }
}

/// Whether all parts of a row hold after `change` has changed the figures' series.
fn holds(id: &str, change: impl Fn(&mut Series, &str, &str)) -> bool {
    let mut book = book().clone();
    for figure in &mut book.figures {
        for panel in &mut figure.panels {
            for series in &mut panel.series {
                change(series, figure.id, &panel.machine);
            }
        }
    }
    let (_, parts) =
        claims::outcomes(&book).into_iter().find(|(row, _)| row.id == id).expect("a row");
    parts.expect("it is built").iter().all(|part| part.holds)
}

/// A change that multiplies all values of one series in a machine's figure.
fn scaled<'a>(
    figure: &'a str,
    machine: &'a str,
    name: &'a str,
    by: f64,
) -> impl Fn(&mut Series, &str, &str) + 'a {
    move |series, id, of| {
        if id == figure && of == machine && series.name == name {
            series.points.iter_mut().for_each(|point| point.y *= by);
        }
    }
}

#[test]
fn a_wrong_number_is_found() {
    let same = |_: &mut Series, _: &str, _: &str| {};
    for (id, figure, machine, name, by) in [
        ("S2", "table-2", "opteron", "store, shared by all", 1.2),
        ("S3", "table-2", "opteron", "load, directory two hops away", 0.8),
        ("S5", "figure-4-latency", "xeon", "fai", 2.0),
        ("S8", "figure-5", "xeon", "clh", 10.0),
        ("S8", "figure-5", "niagara", "tas", 100.0),
    ] {
        assert!(holds(id, same), "{id}");
        assert!(!holds(id, scaled(figure, machine, name, by)), "{id} {figure} {machine} {name}");
    }
}

#[test]
fn claims_with_missing_values_do_not_hold() {
    for id in ["S2", "S5", "S8"] {
        assert!(
            !holds(id, |series, _, _| series.points.iter_mut().for_each(|p| p.y = f64::NAN)),
            "{id}"
        );
    }
}
