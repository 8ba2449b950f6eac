//! `syncline cluster-agent`: starts a machine's ranks, and serves their parts to other machines.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Write as _, stdin, stdout};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::ExitCode;

use nix::sys::memfd::{MFdFlags, memfd_create};
use syncline_fabric::Machines;
use syncline_fabric::machines::{Agent, Map};

use super::order::{Order, ready};
use crate::cluster::not_launched;
use crate::failure::{Failure, RECORD_FAILED};

/// Start ranks of `syncline cluster --hosts` on this machine
///
/// `syncline cluster` starts this on each host, and tells it on its standard input what to do.
#[derive(clap::Args)]
pub struct ClusterAgent {}

/// Runs the agent until `syncline cluster` has ended, or has seen all ranks end.
pub fn run(_: &ClusterAgent) -> Result<ExitCode, Failure> {
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
    let failed = |error: std::io::Error| Failure::new(RECORD_FAILED, error);
    std::env::set_current_dir(&order.folder).map_err(|error| {
        let folder = order.folder.display();
        Failure::message(RECORD_FAILED, format!("can't go to the folder {folder}: {error}"))
            .hint("all hosts need the program's files under the same paths")
    })?;
    let map = Map::from_bytes(&order.map).map_err(|error| Failure::new(RECORD_FAILED, error))?;
    let first = map.first(order.machine);
    let ranks = first..first + map.machines()[order.machine].ranks;
    // The ranks open the map by this process's descriptor, so nothing is left of it at the end.
    let file = memfd_create(c"syncline-machines", MFdFlags::MFD_CLOEXEC);
    let file = File::from(file.map_err(|error| failed(error.into()))?);
    (&file).write_all(&order.map).map_err(failed)?;
    let name = OsString::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    let mut start = order.start.clone();
    start.add(Machines::variables(&name, order.machine));
    start.prepare()?;
    let needed = order.bytes * ranks.len();
    let run = agent.run(ranks, order.bytes, |rank| start.command(rank));
    run.map_err(not_launched(needed, "the ranks of this host need"))
}
