//! Makes one run of a server under a load.
//!
//! The server is started. When it is ready, the load is started, which is a shell command. When the
//! load has ended, the server is asked to end. The time and the output of the run are the load's;
//! the processor time is the server's. So a number that a load generator prints is found like one
//! that a program prints.

use std::fs::File;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill as send};
use nix::unistd::Pid;
use regex::bytes::Regex;
use wait_timeout::ChildExt;

use crate::run::{Failed, GLANCE, Sample, end_of, how, kill, processor_seconds, read, start, wait};

/// A server that is not ready after this time counts as failed.
const START: Duration = Duration::from_secs(60);
/// The time that a server has to end after it was asked to, for example to write its data.
const END: Duration = Duration::from_secs(30);
/// The interval at which the server is checked for being ready.
const LOOK: Duration = Duration::from_millis(20);

/// The load of a server.
#[derive(Clone, Debug)]
pub struct Load {
    /// A command for the shell.
    pub command: String,
    /// How to see that the server is ready.
    pub ready: Ready,
}

/// How to see that a server is ready.
#[derive(Clone, Debug)]
pub enum Ready {
    /// The server answers at this address (`host:port`), or at this path of a socket.
    Answers(String),
    /// The server prints this, on standard output or standard error.
    Prints(Regex),
}

impl Load {
    /// Makes one run.
    pub(crate) fn run(
        &self,
        server: &mut Command,
        limit: Option<Duration>,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Sample, Failed> {
        if let Ready::Answers(address) = &self.ready
            && answers(address)
        {
            return Err(Failed::Taken(address.clone()));
        }
        let (mut child, mut output) = start(server)?;
        let done = self
            .wait_until_ready(&mut child, &mut output, interrupted)
            .and_then(|()| self.client(&mut child, &mut output, limit, interrupted));
        let (seconds, printed) = match done {
            Ok(done) => done,
            Err(failed) => {
                kill(&mut child)?;
                return Err(failed);
            }
        };
        let before = processor_seconds();
        let status = end(&mut child)?;
        let processor_seconds = processor_seconds() - before;
        // A server may react to the request to end in any way except by a crash.
        if status.core_dumped() || status.signal().is_some_and(|s| s != Signal::SIGTERM as i32) {
            return Err(Failed::Status(how(status), end_of(&read(&mut output)?)));
        }
        Ok(Sample { seconds, processor_seconds, output: printed })
    }

    fn wait_until_ready(
        &self,
        server: &mut Child,
        output: &mut File,
        interrupted: impl Fn() -> bool,
    ) -> Result<(), Failed> {
        let started = Instant::now();
        loop {
            if let Some(status) = server.try_wait()? {
                return Err(Failed::Status(how(status), end_of(&read(output)?)));
            }
            let ready = match &self.ready {
                Ready::Answers(address) => answers(address),
                Ready::Prints(pattern) => pattern.is_match(&read(output)?),
            };
            if ready {
                return Ok(());
            }
            if started.elapsed() > START {
                return Err(Failed::NotReady(START, end_of(&read(output)?)));
            }
            if interrupted() {
                return Err(Failed::Interrupted);
            }
            sleep(LOOK);
        }
    }

    /// Runs the load. Returns its seconds and its output.
    fn client(
        &self,
        server: &mut Child,
        output: &mut File,
        limit: Option<Duration>,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(f64, Vec<u8>), Failed> {
        let mut shell = Command::new("/bin/sh");
        let (mut client, mut printed) = start(shell.args(["-c", &self.command]))?;
        let started = Instant::now();
        let ended = wait(&mut client, started, limit, interrupted);
        let seconds = started.elapsed().as_secs_f64();
        // If the server has ended, that is the cause of any failure of the load.
        if let Some(status) = server.wait_timeout(GLANCE.min(LOOK))? {
            return Err(Failed::Status(how(status), end_of(&read(output)?)));
        }
        let status = ended?;
        let printed = read(&mut printed)?;
        if !status.success() {
            let failed = Failed::Status(how(status), end_of(&printed));
            return Err(Failed::Load(Box::new(failed)));
        }
        Ok((seconds, printed))
    }
}

/// Asks the server to end, and kills it if it doesn't.
fn end(server: &mut Child) -> Result<ExitStatus, Failed> {
    let _ = send(Pid::from_raw(server.id() as i32), Signal::SIGTERM);
    if let Some(status) = server.wait_timeout(END)? {
        return Ok(status);
    }
    kill(server)?;
    Err(Failed::TooLong(END))
}

fn answers(address: &str) -> bool {
    if address.starts_with('/') {
        return UnixStream::connect(address).is_ok();
    }
    let addresses = address.to_socket_addrs();
    addresses.is_ok_and(|mut all| all.any(|one| TcpStream::connect_timeout(&one, GLANCE).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server written in shell: it prints that it is ready, and writes a variable of its
    /// environment to a file for the load.
    const SERVER: &str = "trap 'exit 0' TERM; sleep 0.2; echo ready to serve; \
                          echo $SPEED >\"$0/speed\"; while :; do sleep 0.05; done";

    fn run(server: &str, load: &str, ready: &str) -> Result<Sample, Failed> {
        let folder = tempfile::tempdir().unwrap();
        let load = Load {
            command: load.replace("FOLDER", &folder.path().display().to_string()),
            ready: Ready::Prints(Regex::new(ready).unwrap()),
        };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", server]).arg(folder.path()).env("SPEED", "12");
        load.run(&mut command, None, || false)
    }

    #[test]
    fn the_load_runs_when_the_server_is_ready_and_its_figure_counts() {
        let load = "sleep 0.1; echo figure: $(cat FOLDER/speed)";
        let sample = run(SERVER, load, "ready to serve\n").unwrap();
        assert_eq!(sample.output, b"figure: 12\n");
        assert!((0.1..10.0).contains(&sample.seconds), "{}", sample.seconds);
    }

    #[test]
    fn who_failed_is_told() {
        let told = |server, load| run(server, load, "ready").unwrap_err().to_string();
        assert!(told("echo no; exit 3", "true").contains("status 3, and printed:\nno"));
        let load = told(SERVER, "echo why; exit 4");
        assert!(load.contains("its load ended with status 4, and printed:\nwhy"), "{load}");
        let dies = "echo ready; sleep 0.1; kill -9 $$";
        assert!(told(dies, "sleep 0.5; exit 1").contains("ended with signal 9"));
        let crashes = "trap 'kill -SEGV $$' TERM; echo ready; while :; do sleep 0.05; done";
        assert!(told(crashes, "true").contains("signal 11"));
    }

    #[test]
    fn an_address_that_somebody_else_has_is_refused() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert!(answers(&address) && !answers("/no/such/socket"));
        let load = Load { command: "true".into(), ready: Ready::Answers(address) };
        let failed = load.run(&mut Command::new("/bin/true"), None, || false).unwrap_err();
        assert!(matches!(failed, Failed::Taken(_)));
    }
}
