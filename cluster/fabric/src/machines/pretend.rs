//! Ranks on several machines, all of which are this one.

use std::process::Command;
use std::thread;

use super::agent::Agent;
use super::job::Job;
use super::map::{Machine, Map};
use crate::host::Error;

/// Runs ranks as if they were on several machines, with this many ranks on each: ranks of different
/// machines share no memory, and reach each other over TCP. This is for tests of programs.
///
/// Each rank has a part of this many bytes, and is started by the command that `command` makes for
/// it. `act` watches the ranks. When it returns, those that still run are killed.
///
/// # Errors
///
/// If there is too little memory, or a process can't be started.
///
/// # Panics
///
/// If there is no machine, or one without ranks; and if an agent can't be reached, since all are in
/// this process.
pub fn pretend<R>(
    ranks: &[usize],
    bytes: usize,
    command: impl Fn(usize) -> Command + Sync,
    act: impl FnOnce(&Job) -> R,
) -> Result<R, Error> {
    let agents = ranks.iter().map(|_| Agent::new()).collect::<Result<Vec<_>, _>>()?;
    let machine = |(agent, ranks): (&Agent, &usize)| Machine { ranks: *ranks, card: agent.card() };
    let map = Map::new(agents.iter().zip(ranks).map(machine).collect());
    thread::scope(|scope| {
        let (map, command) = (&map, &command);
        let run = |(number, agent): (usize, Agent)| {
            scope.spawn(move || agent.run(map, number, bytes, command))
        };
        let running: Vec<_> = agents.into_iter().enumerate().map(run).collect();
        let result = Job::connect(map).map(|job| act(&job));
        for agent in running {
            agent.join().expect("an agent does not panic")?;
        }
        Ok(result.expect("all agents are in this process"))
    })
}
