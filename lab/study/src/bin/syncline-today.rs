//! `syncline-today`: finds which lock is best on the simulated machines that are built from
//! published figures. The results are for docs/locks.md.

use std::process::ExitCode;

use clap::Parser;
use syncline_study::document::replace_between;
use syncline_study::lab::{Effort, Lab};
use syncline_study::today::{MARKS, Measured, markdown};

/// Compare the library's locks on simulated machines of today, and compare the results with the
/// library's advice and with what others have measured
#[derive(Parser)]
#[command(name = "syncline-today")]
struct Arguments {
    /// Measure each point with two seeds instead of five
    #[arg(long)]
    quick: bool,
    /// Write the tables into docs/locks.md
    #[arg(long)]
    markdown: bool,
}

const DOCUMENT: &str = "docs/locks.md";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    let measured = Measured::of(&Lab { effort, seed: 1 }, |part| eprintln!("{part}"));
    let tables = markdown(&measured);
    print!("{tables}");
    if arguments.markdown
        && let Err(error) = replace_between(DOCUMENT, MARKS, &tables)
    {
        eprintln!("syncline-today: {DOCUMENT}: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
