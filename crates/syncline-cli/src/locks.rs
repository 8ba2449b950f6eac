//! `syncline locks`: the catalogue of the lock library, for a person or, as Markdown, for
//! `docs/locks.md`.

use std::fmt::Write as _;
use std::io::{Write as _, stdout};
use std::process::ExitCode;

use syncline::lock::{Entry, Order, catalogue};

use crate::args::Locks;
use crate::failure::{Failure, REPORT_FAILED};

/// Prints the catalogue.
pub fn run(args: &Locks) -> Result<ExitCode, Failure> {
    let text = if args.markdown { markdown() } else { plain() };
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(REPORT_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}

/// Who is served next, in a word or two.
fn order(entry: &Entry) -> &'static str {
    match entry.about.order {
        Order::Any => "any",
        Order::Fifo => "arrival",
        Order::FifoInGroup => "arrival in group",
        Order::Bounded => "bounded",
        Order::ReadersFirst => "readers first",
        Order::WritersFirst => "writers first",
    }
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "-" }
}

/// A size that depends on nothing, or none.
fn bytes(bytes: usize) -> String {
    if bytes == 0 { "-".to_owned() } else { bytes.to_string() }
}

fn plain() -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<16} {:<16} {:>6} {:>5}  {:<4} {:<5} {:<5}",
        "name", "order", "bytes", "node", "try", "timed", "NUMA"
    );
    for shared in [false, true] {
        let title = if shared { "Readers and writers" } else { "One holder at a time" };
        let _ = writeln!(text, "\n{title}");
        for entry in catalogue().iter().filter(|entry| entry.shared == shared) {
            let _ = writeln!(
                text,
                "{:<16} {:<16} {:>6} {:>5}  {:<4} {:<5} {:<5}\n    {}",
                entry.name,
                order(entry),
                entry.bytes,
                bytes(entry.node_bytes),
                yes(entry.can_try),
                yes(entry.timed),
                yes(entry.about.numa),
                entry.about.advice,
            );
        }
    }
    text
}

fn markdown() -> String {
    let mut text = String::from(
        "| name | what it is | who is next | bytes, node | try, timed | NUMA | use it for | source |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for entry in catalogue() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {}, {} | {}, {} | {} | {} | {} |",
            entry.name,
            entry.about.idea,
            order(&entry),
            entry.bytes,
            bytes(entry.node_bytes),
            yes(entry.can_try),
            yes(entry.timed),
            yes(entry.about.numa),
            entry.about.advice,
            entry.about.source,
        );
    }
    text
}
