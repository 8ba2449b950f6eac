//! Starts an agent on each host, and watches the ranks of all hosts.

use std::io::{self, BufRead as _, BufReader, Read, Write as _, stderr, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};
use std::{env, mem};

use syncline_dsm::program::LOST;
use syncline_fabric::Position;
use syncline_fabric::machines::{CARD, Card, Job, Lost, Machine, Map};
use syncline_recording::command_line;

use super::agent;
use super::file::{Host, share};
use super::order::{Order, VERSION, card_of};
use crate::cluster::start::Start;
use crate::cluster::watch::Ranks;
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};

/// The name that stands for this machine: its agent needs no remote shell.
const THIS_MACHINE: &str = "localhost";
/// The time for which agents may still run after their ranks have ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// An agent that can't be reached may be about to end with a message, within this time.
const GRACE: Duration = Duration::from_secs(1);

/// The ranks of all hosts.
pub struct OnHosts {
    job: Option<Job>,
    agents: Vec<Agent>,
    /// For each rank, its host.
    of_ranks: Vec<usize>,
}

/// An agent that was started.
struct Agent {
    host: String,
    /// The remote shell, or the agent itself on this machine.
    process: Child,
    /// The way for its order.
    input: Option<ChildStdin>,
    /// What its ranks print. At first it prints how it can be reached.
    output: Option<BufReader<ChildStdout>>,
    /// Passes on what its ranks print.
    relay: Option<JoinHandle<()>>,
}

/// Starts this many ranks on the hosts, each with a part of this many bytes.
///
/// # Errors
///
/// If an agent can't be started or reached, or can't start its ranks. Then all ranks are ended.
pub fn launch(
    hosts: &[Host],
    rsh: &str,
    ranks: usize,
    bytes: usize,
    mut start: Start,
) -> Result<OnHosts, Failure> {
    let folder = start.leave_process().map_err(|error| {
        Failure::message(RECORD_FAILED, format!("the current folder is unknown: {error}"))
    })?;
    let shares = share(hosts, ranks);
    let used = hosts.iter().zip(&shares).filter(|(_, share)| **share > 0);
    let agents = used.clone().map(|(host, _)| Agent::start(&host.name, rsh));
    let agents = agents.collect::<Result<Vec<_>, _>>()?;
    let mut all = OnHosts { job: None, agents, of_ranks: Vec::new() };
    let mut machines = Vec::new();
    for (agent, (_, ranks)) in all.agents.iter_mut().zip(used) {
        machines.push(Machine { ranks: *ranks, card: agent.card()? });
    }
    let map = Map::new(machines);
    all.of_ranks = map.of_ranks();
    for (machine, agent) in all.agents.iter_mut().enumerate() {
        agent.order(&Order {
            version: VERSION,
            host: agent.host.clone(),
            folder: folder.clone().into(),
            start: start.clone(),
            bytes,
            map: map.to_bytes(),
            machine,
        })?;
    }
    match Job::connect(&map) {
        Ok(job) => all.job = Some(job),
        Err((machine, error)) => return Err(all.agents[machine].unreachable(&error)),
    }
    Ok(all)
}

impl Agent {
    fn start(host: &str, rsh: &str) -> Result<Agent, Failure> {
        let own = env::current_exe().map_err(|error| Failure::new(RECORD_FAILED, error))?;
        let mut command = if host == THIS_MACHINE {
            let mut command = Command::new(&own);
            command.arg(agent::NAME);
            command
        } else {
            let own = command_line(&[own.to_string_lossy()]);
            let mut words = shlex::split(rsh).unwrap_or_default().into_iter();
            let shell = words.next().ok_or_else(|| {
                Failure::message(CANNOT_RECORD, format!("--rsh: `{rsh}` is not a command"))
            })?;
            let mut command = Command::new(shell);
            command.args(words).arg(host).arg(format!("exec {own} {}", agent::NAME));
            command
        };
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
                let shell = command.get_program().display();
                Failure::message(CANNOT_RECORD, format!("can't start {shell} for {host}: {error}"))
                    .hint("--rsh names another remote shell than ssh")
            })?;
        let (input, output) = (process.stdin.take(), process.stdout.take().map(BufReader::new));
        Ok(Agent { host: host.to_owned(), process, input, output, relay: None })
    }

    /// Waits until the agent says how it can be reached. Passes on what the remote shell prints
    /// before that.
    fn card(&mut self) -> Result<Card, Failure> {
        let output = self.output.as_mut().expect("it was not taken yet");
        loop {
            let mut line = Vec::new();
            // No error is expected of a pipe; either way, nothing more will come.
            if output.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                break;
            }
            match card_of::<CARD>(&line) {
                Some(card) => return Ok(Card::from_bytes(&card)),
                // An error is ignored: standard error may be closed.
                None => _ = stderr().write_all(&line),
            }
        }
        let why = self.end().map_or_else(|error| error.to_string(), |status| status.to_string());
        let message = format!("no agent could be started on {}: {why}", self.host);
        Err(Failure::message(RECORD_FAILED, message).hint(
            "Syncline has to be installed on each host, under the same path, and the remote shell \
             has to work without questions",
        ))
    }

    /// Sends the order. From then on, the agent of rank 0 gets this process's standard input, and
    /// what the ranks print is passed on.
    fn order(&mut self, order: &Order) -> Result<(), Failure> {
        let mut input = self.input.take().expect("there is one order");
        order.write(&mut input).map_err(|error| self.unreachable(&error))?;
        if order.machine == 0 {
            // The thread is never joined: it may wait for input that never comes.
            thread::spawn(move || io::copy(&mut stdin().lock(), &mut input));
        }
        let mut output = self.output.take().expect("there is one order");
        self.relay = Some(thread::spawn(move || relay(&mut output)));
        Ok(())
    }

    /// The failure if the agent can't be reached. If the agent has ended by itself, it has printed
    /// the reason.
    fn unreachable(&mut self, error: &io::Error) -> Failure {
        let host = self.host.clone();
        match self.ended(GRACE) {
            Ok(Some(status)) if !status.success() => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                let message = format!("the agent on {host} has ended: {status}");
                Failure::message(code.unwrap_or(RECORD_FAILED), message)
            }
            _ => {
                let message = format!("the agent on {host} can't be reached: {error}");
                Failure::message(RECORD_FAILED, message)
                    .hint("the hosts must be able to connect to each other at any port")
            }
        }
    }

    /// Waits for the process, and kills it if that takes too long.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended(PATIENCE)? {
            return Ok(status);
        }
        self.process.kill()?;
        self.process.wait()
    }

    /// The process's exit status, if it ends within this time.
    fn ended(&mut self, most: Duration) -> io::Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            let status = self.process.try_wait()?;
            if status.is_some() || start.elapsed() > most {
                return Ok(status);
            }
            sleep(Duration::from_millis(2));
        }
    }
}

/// Passes on what ranks print, as soon as it comes.
fn relay(from: &mut BufReader<ChildStdout>) {
    let mut bytes = [0; 64 * 1024];
    loop {
        // Errors end the relay: the pipe is gone, or the reader of our output is.
        let Ok(length @ 1..) = from.read(&mut bytes) else { return };
        let mut output = stdout().lock();
        if output.write_all(&bytes[..length]).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

impl OnHosts {
    /// Ends the agents, and waits until all that the ranks have printed has been passed on.
    pub fn finish(mut self, status: u8) -> ExitCode {
        self.leave();
        ExitCode::from(status)
    }

    fn leave(&mut self) {
        // The agents end when the connections are closed.
        let was_launched = self.job.take().is_some();
        for agent in mem::take(&mut self.agents).iter_mut() {
            agent.input = None;
            if !was_launched {
                // The agent may wait for a connection. An error is ignored: it has ended already.
                let _ = agent.process.kill();
            }
            // An error is ignored: the process is gone either way.
            let _ = agent.end();
            if let Some(relay) = agent.relay.take() {
                let _ = relay.join();
            }
        }
    }

    fn job(&self) -> &Job {
        self.job.as_ref().expect("it was launched")
    }
}

impl Drop for OnHosts {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Ranks for OnHosts {
    fn ended(&mut self, rank: usize) -> Result<Option<ExitStatus>, Failure> {
        self.job().ended(rank).map_err(|Lost { machine }| {
            let host = &self.agents[machine].host;
            let message = format!("the connection to {host} is lost; all ranks were ended");
            Failure::message(LOST as u8, message)
        })
    }

    fn load(&self, at: Position) -> u64 {
        self.job().load(at).unwrap_or(0)
    }

    fn end(&mut self) {
        self.job().end();
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.agents[self.of_ranks[rank]].host)
    }
}
