//! memcached under memcaslap (or memaslap), the load generator of libmemcached.
//!
//! Only the server runs under the measured command. Wall time is the time that a client sees: from
//! the start of the load generator to the answer to its last request. Nine of ten requests read,
//! ten keys at a time, so that the server spends its time on items and their locks rather than on
//! sockets. Processor time and memory are the server's, from its start to its end. The server is
//! stopped through its own protocol, so that it ends properly under any command.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Context;

use super::{Programs, used};
use crate::compare::{Case, Side};
use crate::lab::find_program;
use crate::process;

const NAME: &str = "memcached";

impl<'a> Programs<'a> {
    pub(super) fn memcached(self) -> anyhow::Result<Case<'a>> {
        let server = find_program(&["memcached"], "memcached")?;
        // The name depends on the prefix with which libmemcached was built.
        let client = find_program(&["memcaslap", "memaslap"], "libmemcached-tools")?;
        Ok(self.case(NAME, move |side| once(self, side, &server, &client)))
    }
}

fn once(programs: Programs, side: Side, server: &Path, client: &Path) -> anyhow::Result<Vec<f64>> {
    let lab = programs.lab;
    let address = free_address()?;
    let mut command = programs.wrapper.command(side, NAME, server)?;
    // -A allows the shutdown command. -u is required for root, and ignored for other users.
    command.args(["-A", "-u", "root", "-l", "127.0.0.1", "-t", "2", "-m", "64", "-p"]);
    command.arg(port(&address));
    let running = process::start(command, lab.folder(), "memcached")?;
    wait_until_ready(&address)?;

    let requests: u32 = lab.size.pick(1000, 100_000, 800_000);
    let mut command = Command::new(client);
    command.args(["-s", &address, "-T", "1", "-c", "16", "-d", "10", "-x", &requests.to_string()]);
    let load = process::run(command, lab.folder(), "memaslap");

    TcpStream::connect(&address)?.write_all(b"shutdown\r\n")?;
    let mut finished = running.finish()?;
    finished.wall_seconds = load?.wall_seconds;
    Ok(used(&finished))
}

/// An address on this machine at which no process listened a moment ago.
fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or(address)
}

fn wait_until_ready(address: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect(address) {
            Ok(_) => return Ok(()),
            Err(e) if Instant::now() > deadline => {
                return Err(e).context("memcached does not answer");
            }
            Err(_) => thread::sleep(Duration::from_millis(2)),
        }
    }
}
