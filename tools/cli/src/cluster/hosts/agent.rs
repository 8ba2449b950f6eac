//! `syncline cluster-agent`: starts a machine's ranks, and serves their parts to other machines.
//!
//! `syncline cluster` starts this on each host. It is no command for users, so no help text, man page
//! or completion has it.

use std::fs::File;
use std::io::{Write as _, stdin, stdout};
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use syncline_fabric::machines::{Agent, Map};

use super::order::{Order, ready};
use crate::cluster::start::not_launched;
use crate::failure::{Failure, RECORD_FAILED};

/// The word of the command line by which an agent is started.
pub const NAME: &str = "cluster-agent";

/// Whether this process is an agent.
pub fn is_called() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == NAME)
}

/// Runs the agent until `syncline cluster` has ended, or has seen all ranks end.
pub fn run() -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::new(RECORD_FAILED, error);
    let agent = Agent::new().map_err(failed)?;
    stdout().write_all(ready(&agent.card().to_bytes()).as_bytes()).map_err(failed)?;
    stdout().flush().map_err(failed)?;
    // A file has no buffer: what follows the order belongs to rank 0.
    let input = File::from(stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let order = Order::read(&input).map_err(|error| {
        Failure::message(
            RECORD_FAILED,
            format!("what `syncline cluster` has sent can't be read: {error}"),
        )
        .hint("all hosts need the same version of Syncline")
    })?;
    drop(input);
    // `syncline cluster` has given up, and has said why.
    let Some(order) = order else { return Ok(ExitCode::from(RECORD_FAILED)) };
    start(agent, &order).map_err(|failure| failure.on(&order.host))?;
    Ok(ExitCode::SUCCESS)
}

fn start(agent: Agent, order: &Order) -> Result<(), Failure> {
    std::env::set_current_dir(&order.folder).map_err(|error| {
        let folder = order.folder.display();
        Failure::message(RECORD_FAILED, format!("can't go to the folder {folder}: {error}"))
            .hint("all hosts need the program's files under the same paths")
    })?;
    let map = Map::from_bytes(&order.map).map_err(|error| Failure::new(RECORD_FAILED, error))?;
    order.start.prepare()?;
    let needed = order.bytes * map.machines()[order.machine].ranks;
    let run = agent.run(&map, order.machine, order.bytes, |rank| order.start.command(rank));
    run.map_err(not_launched(needed, "the ranks of this host need"))
}
