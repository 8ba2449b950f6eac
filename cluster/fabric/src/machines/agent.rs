//! A machine's agent: it starts the machine's ranks, and serves their parts to other machines.

use std::fs::File;
use std::io::Write;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::process::{self, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::map::Map;
use super::rank::{MACHINE, MAP};
use super::serve::{Ranks, greet, serve};
use super::wire::Role;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{Shutdown, shutdown};

use crate::host::{Error, Job};
use crate::process::end_with_parent;
use crate::server::{Card, listen, prepare};
use crate::signals::without_signals;

/// The stack size of a thread that serves a connection, in bytes.
const STACK: usize = 256 * 1024;
/// The launcher has to connect within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A machine's agent that can be reached, and has no ranks yet.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    card: Card,
}

impl Agent {
    /// Makes an agent that listens at all addresses of this machine.
    ///
    /// # Errors
    ///
    /// If the system refuses a port.
    pub fn new() -> io::Result<Agent> {
        let listener = listen()?;
        let card = Card::new(listener.local_addr()?.port())?;
        Ok(Agent { listener, card })
    }

    /// How to reach this agent.
    pub fn card(&self) -> Card {
        self.card
    }

    /// Starts a machine's ranks, each with a part of this many bytes, and serves their parts until
    /// the launcher of the job has connected and has left again. Then the ranks that still run are
    /// killed, and so they are if this process or the calling thread ends. `machine` is the machine's
    /// number in the map; `command` makes the command for a rank.
    ///
    /// # Errors
    ///
    /// Same errors as [`Host::launch`](crate::Host::launch), and if the launcher does not connect
    /// within a minute.
    ///
    /// # Panics
    ///
    /// If there is no such machine.
    pub fn run(
        self,
        map: &Map,
        machine: usize,
        bytes: usize,
        mut command: impl FnMut(usize) -> Command,
    ) -> Result<(), Error> {
        let mut job = Job::new(map.machines()[machine].ranks, bytes)?;
        // The ranks open the map by this process's descriptor, so nothing is left of it at the end.
        let file = memfd_create(c"syncline-machines", MemfdFlags::CLOEXEC);
        let file = File::from(file.map_err(io::Error::from)?);
        (&file).write_all(&map.to_bytes())?;
        let name = format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd());
        job.start(map.first(machine), |rank| {
            let mut command = command(rank);
            command.env(MAP, &name).env(MACHINE, machine.to_string());
            end_with_parent(&mut command);
            command
        })?;
        let ranks = Arc::new(Ranks { parts: job.parts(), job: Mutex::new(job) });
        let (tell, events) = channel();
        thread::scope(|scope| {
            let accept = || accept(&self.listener, self.card, &ranks, &tell);
            without_signals(|| thread::Builder::new().spawn_scoped(scope, accept))?;
            let result = wait(&events);
            ranks.job().end();
            // From now on, `accept` gets errors.
            shutdown(&self.listener, Shutdown::Both).map_err(io::Error::from)?;
            Ok(result?)
        })
    }
}

/// What the threads that serve connections report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The launcher has connected.
    Launcher,
    /// The launcher has left.
    Left,
}

fn wait(events: &Receiver<Event>) -> io::Result<()> {
    let never = |_| io::Error::other("the launcher of the job has not connected");
    let mut event = events.recv_timeout(PATIENCE).map_err(never)?;
    while event != Event::Left {
        // The thread that accepts connections has a sender, and is still there.
        event = events.recv().map_err(io::Error::other)?;
    }
    Ok(())
}

fn accept(listener: &TcpListener, card: Card, ranks: &Arc<Ranks>, tell: &Sender<Event>) {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // The listener was shut down.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return,
            Err(_) => {
                // Perhaps no file descriptor is free; callers have to wait until one is.
                thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        let (ranks, tell) = (Arc::clone(ranks), tell.clone());
        let answer = move || {
            // An error only ends the connection: the caller has left, or is none of this job.
            let Ok(role) = prepare(&stream).and_then(|()| greet(&stream, card.token())) else {
                return;
            };
            let is_launcher = role == Role::Launcher;
            // An error is ignored: the agent has stopped waiting, and ends.
            let _ = is_launcher.then(|| tell.send(Event::Launcher));
            let _ = serve(&stream, &ranks);
            let _ = is_launcher.then(|| tell.send(Event::Left));
        };
        // If there are too many threads, the caller finds the connection closed.
        let _ = thread::Builder::new().stack_size(STACK).spawn(answer);
    }
}
