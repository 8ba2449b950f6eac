//! `syncline study`: measures what synchronization costs, and writes figures as a page and as CSV
//! files.

pub mod args;
mod bench;
mod machine;

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write, stderr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use syncline_study::figure::Book;
use syncline_study::lab::{Effort, Lab};
use syncline_study::target::{self, Target};
use syncline_study::{page, study, today};

use crate::failure::{Failure, REPORT_FAILED};
pub use bench::run as bench;
use machine::{WRONG, machine};

/// Measures, and writes the page and the CSV files.
pub fn run(args: &args::Study) -> Result<ExitCode, Failure> {
    let plans = study::plans(&ids(&args.figure)?);
    let targets = targets(&args.machine)?;
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let bar = bar((plans.len() * targets.len()) as u64);
    let book = study::run(&Lab { effort, seed: args.seed }, &plans, &targets, |plan, target| {
        bar.set_message(format!("{}, {}", plan.id, target.name()));
        bar.inc(1);
    });
    bar.finish_and_clear();
    let titles: Vec<String> = targets.iter().map(Target::title).collect();
    write(&book, &titles, &args.out).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    for figure in &book.figures {
        println!("{}: {}.", figure.id, figure.says);
    }
    // An error is ignored: standard error may be closed, and the files are written already.
    let _ = writeln!(stderr(), "syncline: wrote {}", args.out.join(PAGE).display());
    Ok(ExitCode::SUCCESS)
}

/// The file name of the page.
const PAGE: &str = "study.html";

fn write(book: &Book, titles: &[String], folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    let file = |name: &str| {
        let path = folder.join(name);
        File::create(&path).with_context(|| format!("can't write {}", path.display()))
    };
    for figure in &book.figures {
        file(&format!("{}.csv", figure.id))?.write_all(Book::csv(figure).as_bytes())?;
    }
    let mut out = BufWriter::new(file(PAGE)?);
    page::write(book, titles, &mut out)?;
    Ok(out.flush()?)
}

/// The ids of the figures that these names stand for; `5` stands for `figure-5`.
fn ids(names: &[String]) -> Result<Vec<String>, Failure> {
    let known: Vec<&str> = study::plans(&[]).iter().map(|plan| plan.id).collect();
    let find = |name: &String| {
        let number = format!("figure-{name}");
        let id = known.iter().find(|id| **id == name || **id == number);
        id.map(|&id| id.to_owned()).ok_or_else(|| {
            let told = format!("there is no figure `{name}`; the figures are {}", known.join(", "));
            Failure::message(WRONG, told)
        })
    };
    names.iter().map(find).collect()
}

fn targets(names: &[String]) -> Result<Vec<Target>, Failure> {
    let all = |name: &String| match name.as_str() {
        "all" => target::MACHINES.map(str::to_owned).to_vec(),
        "today" => today::MACHINES.map(str::to_owned).to_vec(),
        name => vec![name.to_owned()],
    };
    names.iter().flat_map(all).map(|name| machine(&name)).collect()
}

/// A progress bar on standard error, if standard error is a terminal.
fn bar(length: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
