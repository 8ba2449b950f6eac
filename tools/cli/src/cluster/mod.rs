//! `syncline cluster`: starts a program as several ranks with shared memory, and watches them.
//!
//! ```text
//!   start        a rank's program, as a process
//!   hosts        starts ranks on several machines
//!   watch        waits for the ranks, and ends all if one dies
//!   races        prints what --check has found
//!   unmodified   prepares the start of an ordinary program
//! ```
//!
//! Only this process watches the ranks, so it notices a death no matter what the other ranks wait
//! for.

pub mod args;
pub mod hosts;
mod races;
mod start;
mod unmodified;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use syncline_dsm::shape::Layout;
use syncline_fabric::Host;

use crate::failure::Failure;
use crate::record::program::find;
use start::{Start, not_launched};
use watch::{Kind, Ranks, say, watch};

/// The exit status if the program succeeded, and `--check` has found data races.
const RACES: u8 = 5;

/// Runs the ranks. Returns the exit status of the first rank that failed outside of the shared
/// memory. Returns [`LOST`](syncline_dsm::program::LOST) in three cases: a signal ended that rank; a
/// rank ended inside the shared memory, with any status; or a rank ended with success and had not
/// joined although others had.
pub fn run(args: &args::Cluster) -> Result<ExitCode, Failure> {
    let program = find(&args.program.command[0])?;
    let options = args.options();
    let layout = options.shape(args.ranks).layout();
    let mut start = Start::new(&program, &args.program.command, options.variables());
    let kind = if args.unmodified { Kind::Unmodified } else { Kind::Written };
    if args.unmodified {
        start.become_unmodified(unmodified::variables(&program)?);
    }
    if let Some(file) = &args.hosts {
        let hosts = hosts::read(file)?;
        let mut ranks = hosts::launch(&hosts, &args.rsh, args.ranks, layout.bytes, start)?;
        let status = outcome(&mut ranks, args.ranks, &layout, kind, &program)?;
        return Ok(ranks.finish(status));
    }
    start.prepare()?;
    let command = |rank| start.command(rank);
    let mut job = Host::launch(args.ranks, layout.bytes, command)
        .map_err(not_launched(layout.bytes * args.ranks, "all ranks together need"))?;
    outcome(&mut job, args.ranks, &layout, kind, &program).map(ExitCode::from)
}

/// Waits until the ranks have ended, and prints what `--check` has found. Returns the exit status.
fn outcome(
    job: &mut dyn Ranks,
    ranks: usize,
    layout: &Layout,
    kind: Kind,
    program: &Path,
) -> Result<u8, Failure> {
    let status = watch(job, ranks, layout, kind)?;
    let races = races::found(job, ranks, layout, program);
    if races.is_empty() {
        return Ok(status);
    }
    say("a data race: two ranks have changed the same bytes without synchronizing in between:");
    races.iter().for_each(|place| say(&format!("  {place}")));
    Ok(if status == 0 { RACES } else { status })
}
