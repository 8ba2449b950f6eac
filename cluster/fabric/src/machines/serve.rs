//! Answers the requests of one connection, in their order.
//!
//! If a rank tells another one of its flush, and that one then asks over another connection, the
//! thread that serves it finds what was put: the kernel orders what two threads do before and after
//! they pass bytes on.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::poll::wait;
use super::wire::{
    self, Call, HELLO, LONGEST, MAGIC, REQUEST, RUNS, Request, Role, each_run, greeted,
};
use crate::fabric::{Fabric, Position, Swap};
use crate::host::{Host, Job};

/// How many bytes are read at once.
const CHUNK: usize = 64 * 1024;
/// A caller has to say who it is within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// The ranks of this machine.
pub struct Ranks {
    /// Their parts.
    pub parts: Host,
    /// Their processes.
    pub job: Mutex<Job>,
}

/// Reads who the caller is.
///
/// # Errors
///
/// If the caller does not know the token, speaks another version, or is silent.
pub fn greet(mut stream: &TcpStream, token: u128) -> io::Result<Role> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut bytes = [0; HELLO];
    stream.read_exact(&mut bytes)?;
    let role = greeted(&bytes, token).ok_or(io::ErrorKind::PermissionDenied)?;
    stream.set_read_timeout(None)?;
    stream.write_all(&MAGIC)?;
    Ok(role)
}

/// Answers requests until the caller leaves.
///
/// # Errors
///
/// If the connection is lost, or the caller sends something that is no request.
pub fn serve(mut stream: &TcpStream, ranks: &Ranks) -> io::Result<()> {
    let mut requests = BufReader::with_capacity(CHUNK, stream);
    let (mut answers, mut put) = (Vec::new(), Vec::new());
    // How many requests of a chain are still to come, and whether they are performed.
    let (mut chained, mut is_broken) = (0, false);
    loop {
        // The next read may have to wait, and the caller may wait for these answers.
        if requests.buffer().len() < REQUEST && !answers.is_empty() {
            stream.write_all(&answers)?;
            answers.clear();
        }
        if requests.buffer().is_empty() {
            wait(stream);
        }
        let mut bytes = [0; REQUEST];
        requests.read_exact(&mut bytes)?;
        let request = Request::from_bytes(&bytes)?;
        if !ranks.contains(&request) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match request.call {
            Call::Chain(length) => {
                (chained, is_broken) = (length, false);
                continue;
            }
            Call::Put(length) | Call::Runs(length) => {
                put.resize(length as usize, 0);
                requests.read_exact(&mut put)?;
            }
            _ => {}
        }
        let in_chain = chained > 0;
        chained = chained.saturating_sub(1);
        if !(in_chain && is_broken) {
            ranks.perform(&request, &put, &mut answers)?;
            is_broken = in_chain && has_failed(&request, &answers);
        }
    }
}

/// Whether this request, whose answer comes last, was a compare-and-swap whose word held neither value.
fn has_failed(request: &Request, answers: &[u8]) -> bool {
    let Call::CompareAndSwap(old, new) = request.call else { return false };
    let at = Position { rank: request.rank, at: request.at };
    let found = answers.last_chunk().map(|word| u64::from_le_bytes(*word));
    found.is_some_and(|found| Swap { at, old, new, found }.has_failed())
}

impl Ranks {
    /// Whether what the request is about is within a part.
    fn contains(&self, Request { call, rank, at }: &Request) -> bool {
        let (length, sound) = match call {
            // Each run is checked for itself.
            Call::Runs(length) => (0, *length as usize <= RUNS),
            Call::Get(length) | Call::Put(length) => {
                (*length as usize, *length as usize <= LONGEST)
            }
            Call::CompareAndSwap(..) | Call::FetchAnd(..) | Call::Wake(_) => {
                (8, at.is_multiple_of(8))
            }
            Call::Flush | Call::Chain(_) | Call::Lives | Call::Ended | Call::End => (0, true),
        };
        let end = at.checked_add(length);
        *rank < self.parts.ranks() && sound && end.is_some_and(|end| end <= self.parts.bytes())
    }

    fn perform(&self, request: &Request, put: &[u8], answers: &mut Vec<u8>) -> io::Result<()> {
        let at = Position { rank: request.rank, at: request.at };
        let parts = &self.parts;
        let word = match request.call {
            Call::Get(length) => {
                let start = answers.len();
                answers.resize(start + length as usize, 0);
                parts.get(at, &mut answers[start..]).map_err(io::Error::other)?;
                return Ok(());
            }
            Call::Put(_) => {
                parts.put(at, put);
                return Ok(());
            }
            Call::Runs(_) => {
                return each_run(request.at, put, |at, bytes| {
                    let call = Call::Put(bytes.len() as u32);
                    if !self.contains(&Request { call, at, ..*request }) {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    parts.put(Position { rank: request.rank, at }, bytes);
                    Ok(())
                });
            }
            Call::CompareAndSwap(old, new) => parts.compare_and_swap(at, old, new),
            Call::FetchAnd(change, operand) => parts.fetch_and(at, change, operand),
            // `serve` takes chains apart.
            Call::Flush | Call::Chain(_) => {
                parts.flush_all();
                Ok(0)
            }
            Call::Wake(most) => {
                parts.wake(at, most);
                Ok(0)
            }
            Call::Lives => Ok(u64::from(parts.is_alive(request.rank))),
            Call::Ended => {
                let status = self.job().ended(request.rank)?;
                Ok(status.map_or(0, |status| wire::ended(status.into_raw())))
            }
            Call::End => {
                self.job().end();
                Ok(0)
            }
        };
        answers.extend(word.map_err(io::Error::other)?.to_le_bytes());
        Ok(())
    }

    /// The processes.
    pub fn job(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Change;

    fn ranks() -> Ranks {
        let job = Job::new(2, 4096).expect("parts");
        Ranks { parts: job.parts(), job: Mutex::new(job) }
    }

    /// A run of a put that is within the part, and one that is not.
    #[test]
    fn each_run_has_to_be_within_the_part() {
        let ranks = ranks();
        for (distance, right) in [(96, true), (97, false), (60_000, false)] {
            let first = wire::run(0, 4000).expect("short");
            let second = wire::run(distance, 0).expect("short");
            let runs = [&first[..], &[1; 4000], &second].concat();
            let request = Request { call: Call::Runs(runs.len() as u32), rank: 1, at: 0 };
            assert!(ranks.contains(&request));
            let performed = ranks.perform(&request, &runs, &mut Vec::new());
            assert_eq!(performed.is_ok(), right, "{distance}");
        }
    }

    #[test]
    fn requests_beyond_the_parts_are_refused() {
        let ranks = ranks();
        let word = Call::FetchAnd(Change::Add, 1);
        for (call, rank, at, right) in [
            (word, 1, 4088, true),
            (word, 1, 4092, false),
            (word, 1, 4096, false),
            (word, 2, 0, false),
            (word, 0, usize::MAX - 7, false),
            (Call::Get(4096), 0, 0, true),
            (Call::Get(4096), 0, 1, false),
            (Call::Put(1), 0, 4096, false),
            (Call::Put(u32::MAX), 0, 0, false),
            (Call::Runs(RUNS as u32 + 1), 0, 0, false),
            (Call::Ended, 2, 0, false),
        ] {
            assert_eq!(ranks.contains(&Request { call, rank, at }), right, "{call:?} {rank} {at}");
        }
    }
}
