//! `syncline locks`: prints the catalogue of the lock library, as text or as the Markdown of
//! `docs/locks.md`.

use std::fmt::Write as _;
use std::io::{Write as _, stdout};
use std::process::ExitCode;

use syncline::delegation;
use syncline::lock::{Entry, Order, catalogue};

use crate::failure::{Failure, REPORT_FAILED};

/// List the locks of the library
///
/// Prints for each lock the order in which waiters get it, the sizes in bytes of the lock and of an
/// acquisition's queue node, whether it has a try and a timeout, whether it is made for NUMA
/// machines, and when to use it.
#[derive(clap::Args)]
pub struct Locks {
    /// Print the Markdown table of docs/locks.md instead
    #[arg(long)]
    pub markdown: bool,
}

/// Prints the catalogue.
pub fn run(args: &Locks) -> Result<ExitCode, Failure> {
    let text = if args.markdown { markdown() } else { plain() };
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(REPORT_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}

/// The order in which waiters are served, in a few words.
fn order(entry: &Entry) -> &'static str {
    match entry.about.order {
        Order::Any => "any",
        Order::Fifo => "arrival",
        Order::FifoInGroup => "arrival in group",
        Order::Bounded => "bounded",
        Order::ReadersFirst => "readers first",
        Order::WritersFirst => "writers first",
        Order::NewReadersLast => "new readers last",
    }
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "-" }
}

/// A number of bytes. A dash stands for 0.
fn bytes(bytes: usize) -> String {
    if bytes == 0 { "-".to_owned() } else { bytes.to_string() }
}

/// The parts of the catalogue, each with a title.
fn parts() -> [(&'static str, Vec<Entry>); 3] {
    let (shared, exclusive) = catalogue().into_iter().partition(|entry| entry.shared);
    [
        ("One holder at a time", exclusive),
        ("Readers and writers", shared),
        ("Delegation: the section goes to the holder", delegation::catalogue()),
    ]
}

fn plain() -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<16} {:<16} {:>6} {:>5}  {:<4} {:<5} NUMA",
        "name", "order", "bytes", "node", "try", "timed"
    );
    for (title, entries) in parts() {
        let _ = writeln!(text, "\n{title}");
        for entry in entries {
            let _ = writeln!(
                text,
                "{:<16} {:<16} {:>6} {:>5}  {:<4} {:<5} {}\n    {}",
                entry.name,
                order(&entry),
                entry.bytes,
                bytes(entry.node_bytes),
                yes(entry.can_try),
                yes(entry.timed),
                yes(entry.about.numa),
                entry.about.advice,
            );
        }
    }
    text.push_str(
        "\nA suffix says how waiters wait: `mcs-spin`, `mcs-yield` or `mcs-park`. `bytes` is\n\
         the size of the lock, and `node` that of an acquisition's queue node. docs/locks.md\n\
         says which lock to use.\n",
    );
    text
}

fn markdown() -> String {
    let mut text = String::from(
        "| name | what it is | who is next | bytes, node | try, timed | NUMA | use it for | source |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for entry in parts().into_iter().flat_map(|(_, entries)| entries) {
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
