//! `syncline-claims`: compares the papers' claims with results on the simulated machines, row by
//! row, and prints a line of JSON at the end. `./x claims` runs it.

use std::process::ExitCode;

use clap::Parser;
use syncline_study::claims::{self, Summary};
use syncline_study::document::replace_between;
use syncline_study::lab::{Effort, Lab};
use syncline_study::study;

/// Compare the papers' claims with simulated machines, claim by claim
#[derive(Parser)]
#[command(name = "syncline-claims")]
struct Arguments {
    /// Measure each point once instead of five times: about 3 minutes of processor time instead of 15,
    /// divided among all processors
    #[arg(long)]
    quick: bool,
    /// Write the tables into docs/study.md and lab/study/claims.md
    #[arg(long)]
    markdown: bool,
}

/// The documentation page with the claims, and the file with the details of each claim.
const DOCUMENTS: [&str; 2] = ["docs/study.md", "lab/study/claims.md"];
/// This program replaces the text between these two marks.
const MARKS: [&str; 2] = ["<!-- claims -->\n", "<!-- end of claims -->\n"];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    let book = study::claimed(&Lab { effort, seed: 1 }, |plan, target| {
        eprintln!("{}: {}", plan.id, target.name());
    });
    print!("{}", claims::text(&book));
    if arguments.markdown {
        let tables = [claims::markdown(&book), claims::parts_markdown(&book)];
        for (document, tables) in DOCUMENTS.iter().zip(tables) {
            if let Err(error) = replace_between(document, MARKS, &tables) {
                eprintln!("syncline-claims: {document}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let summary = serde_json::to_string(&Summary::of(&book)).expect("a few numbers");
    println!("{summary}");
    ExitCode::SUCCESS
}
