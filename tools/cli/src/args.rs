//! The command line, as clap reads it: all commands. The arguments of a command are defined next to
//! the command's code. The help texts, the man pages and the completions are generated from these
//! definitions.

use clap::{Parser, Subcommand};

use crate::statuses;

/// Find out what a threaded program waits for
///
/// `syncline record -- PROGRAM` runs a program and counts what it does with its locks;
/// `syncline report` then says which locks cost it time, where, and what to do.
/// `syncline inspect` shows which data the critical sections access, and whether the sections depend
/// on each other; `syncline kernel` shows this for the Linux kernel. `syncline whatif` measures how
/// much a call site matters, and `syncline try` whether other locks would make the program faster.
/// `syncline machine` and `syncline study` measure what synchronization costs, on this machine and
/// on simulated ones.
#[derive(Parser)]
#[command(name = "syncline", version, after_long_help = statuses::ALL)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Record(crate::record::args::Record),
    Exec(crate::exec::args::Exec),
    Mpi(crate::mpi::Mpi),
    Cluster(crate::cluster::args::Cluster),
    Try(crate::attempt::args::Try),
    Tune(crate::tune::args::Tune),
    Whatif(crate::whatif::args::WhatIf),
    Inspect(crate::inspect::args::Inspect),
    Kernel(crate::kernel::args::Kernel),
    Report(crate::report::args::Report),
    Diff(crate::diff::Diff),
    Export(crate::export::Export),
    Top(crate::top::args::Top),
    Locks(crate::locks::Locks),
    Machine(crate::machine::Machine),
    Study(crate::study::args::Study),
    Bench(crate::study::args::Bench),
    Completions(crate::shell::Completions),
    Man(crate::shell::ManPages),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn everything_after_the_program_belongs_to_it() {
        let args = Args::parse_from(["syncline", "record", "-o", "d", "ls", "-l", "--", "-o"]);
        let Command::Record(record) = args.command else { panic!("not record") };
        assert_eq!(record.command, ["ls", "-l", "--", "-o"]);
    }
}
