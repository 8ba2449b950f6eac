//! The `syncline` command. It has almost no code of its own: each command has its own file or
//! folder, which reads the arguments, calls the library that does the work, and prints.

mod args;
mod arguments;
mod attempt;
mod cluster;
mod diff;
mod exec;
mod export;
mod failure;
mod inspect;
mod kernel;
mod locks;
mod machine;
mod mends;
mod mpi;
mod progress;
mod quoted;
mod record;
mod report;
mod shell;
mod statuses;
mod study;
mod terminal;
mod top;
mod tune;
mod whatif;

use std::io::{ErrorKind, Write, stderr};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use cluster::hosts::agent;
use failure::Failure;
use terminal::to_terminal;

fn main() -> ExitCode {
    if agent::is_called() {
        return agent::run().unwrap_or_else(|failure| explain(&failure));
    }
    let outcome = match Args::parse().command {
        Command::Record(args) => record::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Mpi(args) => mpi::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Try(args) => attempt::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Whatif(args) => whatif::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Kernel(args) => kernel::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Locks(args) => locks::run(&args),
        Command::Machine(args) => machine::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Bench(args) => study::bench(&args),
        Command::Completions(args) => shell::completions(&args, Args::command()),
        Command::Man(args) => shell::man(&args, Args::command()),
    };
    outcome.unwrap_or_else(|failure| explain(&failure))
}

/// Prints the failure, and returns the exit status. If the reader of our output has closed the
/// pipe, that is not a failure: the reader has seen enough.
fn explain(failure: &Failure) -> ExitCode {
    if failure.io_kind() == Some(ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    // An error is ignored: standard error may be closed, and there is no other place for the
    // message.
    let _ = write!(stderr(), "{}", to_terminal(&failure.to_string()));
    ExitCode::from(failure.status())
}
