//! The launcher's view of the ranks of all machines.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use thiserror::Error;

use super::link::{Gone, Link};
use super::map::Map;
use super::wire::{Call, Request, Role, status};
use crate::fabric::{Change, Position};

/// The error for a machine that can't be reached any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the connection to machine {machine} is lost")]
pub struct Lost {
    /// The machine, by its number in the map.
    pub machine: usize,
}

/// The ranks of all machines. When this is dropped, the machines' agents kill the ranks that still
/// run.
#[derive(Debug)]
pub struct Job {
    links: Vec<Link>,
    /// For each rank, its machine and its number there.
    ranks: Vec<(usize, usize)>,
}

impl Job {
    /// Connects to the agents of all machines.
    ///
    /// # Errors
    ///
    /// The number of the machine that can't be reached, and why not.
    pub fn connect(map: &Map) -> Result<Job, (usize, io::Error)> {
        let connect = |(number, machine): (usize, &super::map::Machine)| {
            Link::connect(&machine.card, Role::Launcher).map_err(|error| (number, error))
        };
        let links = map.machines().iter().enumerate().map(connect).collect::<Result<_, _>>()?;
        let of_ranks = map.of_ranks().into_iter().enumerate();
        let ranks = of_ranks.map(|(rank, machine)| (machine, rank - map.first(machine))).collect();
        Ok(Job { links, ranks })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// A rank's exit status; `None` if it still runs.
    ///
    /// # Errors
    ///
    /// If the rank's machine can't be reached any more.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn ended(&self, rank: usize) -> Result<Option<ExitStatus>, Lost> {
        let answer = self.ask(Position { rank, at: 0 }, Call::Ended)?;
        Ok(status(answer).map(ExitStatus::from_raw))
    }

    /// Loads a word of a rank's part. The rank may be dead.
    ///
    /// # Errors
    ///
    /// If the rank's machine can't be reached any more, or if the position is not that of a word.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn load(&self, at: Position) -> Result<u64, Lost> {
        self.ask(at, Call::FetchAnd(Change::Keep, 0))
    }

    /// Kills the ranks that still run, and returns once all are dead. Their memory stays readable.
    /// Machines that can't be reached do so by themselves.
    pub fn end(&self) {
        for link in &self.links {
            let _ = link.ask_word(Request { call: Call::End, rank: 0, at: 0 });
        }
    }

    fn ask(&self, at: Position, call: Call) -> Result<u64, Lost> {
        let (machine, rank) = self.ranks[at.rank];
        let request = Request { call, rank, at: at.at };
        self.links[machine].ask_word(request).map_err(|_: Gone| Lost { machine })
    }
}
