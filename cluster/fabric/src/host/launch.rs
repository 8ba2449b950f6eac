//! Starts ranks as processes, or as threads.
//!
//! Two environment variables tell a process its rank, and the segment: the memory that all ranks
//! share.
//!
//! ```text
//!   SYNCLINE_FABRIC=/proc/4711/fd/5     the launcher's descriptor, or any file's name
//!   SYNCLINE_RANK=3
//! ```

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use super::rank::Host;
use super::segment::{Error, Segment};
use crate::fabric::Position;

/// The variable with the segment's file name.
const FABRIC: &str = "SYNCLINE_FABRIC";
/// The variable with the number of the process's rank.
const RANK: &str = "SYNCLINE_RANK";

/// Ranks that were started as processes. When this is dropped, ranks that still run are killed.
#[derive(Debug)]
pub struct Job {
    children: Vec<Child>,
    /// The file that the ranks open to get the segment.
    file: File,
    segment: Arc<Segment>,
}

impl Job {
    /// A job without processes so far. Each of its ranks has a part of this many bytes, rounded up
    /// to whole words.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the parts.
    ///
    /// # Panics
    ///
    /// If there are no ranks.
    pub(crate) fn new(ranks: usize, bytes: usize) -> Result<Job, Error> {
        let (file, segment) = Segment::make(ranks, bytes)?;
        Ok(Job { children: Vec::with_capacity(ranks), file, segment: Arc::new(segment) })
    }

    /// Starts processes as the ranks, which are numbered from `first`. They join by
    /// [`Host::from_environment`].
    ///
    /// # Errors
    ///
    /// If a process can't be started. Some of the others may have been.
    pub(crate) fn start(
        &mut self,
        first: usize,
        mut command: impl FnMut(usize) -> Command,
    ) -> Result<(), Error> {
        for rank in first..first + self.segment.ranks() {
            let mut command = command(rank);
            command.env(FABRIC, self.name()).env(RANK, rank.to_string());
            self.children.push(command.spawn().map_err(Error::Start)?);
        }
        Ok(())
    }

    /// The ranks' parts, for a process that is no rank.
    pub(crate) fn parts(&self) -> Host {
        Host::new(Arc::clone(&self.segment), 0)
    }

    /// Waits until all ranks have ended, and returns their exit statuses.
    ///
    /// # Errors
    ///
    /// If the system reports an error.
    pub fn wait(&mut self) -> io::Result<Vec<ExitStatus>> {
        self.children.iter_mut().map(Child::wait).collect()
    }

    /// Kills a rank (`SIGKILL`), and returns once it is dead.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn kill(&mut self, rank: usize) -> io::Result<()> {
        self.children[rank].kill()?;
        self.children[rank].wait().map(|_| ())
    }

    /// Kills the ranks that still run, and returns once all are dead. Their memory stays readable.
    pub fn end(&mut self) {
        for child in &mut self.children {
            // An error is ignored: the process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// A rank's exit status; `None` if it still runs.
    ///
    /// # Errors
    ///
    /// If the system reports an error.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn ended(&mut self, rank: usize) -> io::Result<Option<ExitStatus>> {
        self.children[rank].try_wait()
    }

    /// Loads a word of a rank's part. The rank may be dead.
    ///
    /// # Panics
    ///
    /// If the position is not a word of a part.
    pub fn load(&self, at: Position) -> u64 {
        // SeqCst: like every load of a fabric's word.
        self.segment.word(at).load(SeqCst)
    }

    /// The file name by which other processes can join as ranks. The name is valid until the job is
    /// dropped.
    pub fn name(&self) -> PathBuf {
        name(&self.file)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
    }
}

fn name(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()).into()
}

impl Host {
    /// Starts processes as ranks, each with a part of this many bytes, rounded up to whole words.
    /// `command` makes the command for a rank. The processes join by
    /// [`from_environment`](Self::from_environment).
    ///
    /// # Errors
    ///
    /// If there is too little memory for the parts, or a process can't be started. Then the
    /// processes that were started already are killed.
    ///
    /// # Panics
    ///
    /// If there are no ranks.
    pub fn launch(
        ranks: usize,
        bytes: usize,
        command: impl FnMut(usize) -> Command,
    ) -> Result<Job, Error> {
        let mut job = Job::new(ranks, bytes)?;
        job.start(0, command)?;
        Ok(job)
    }

    /// Makes the only rank of a fabric, with a part of this many bytes.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the part.
    pub fn alone(bytes: usize) -> Result<Host, Error> {
        let (_, segment) = Segment::make(1, bytes)?;
        segment.join(0)?;
        Ok(Host::new(Arc::new(segment), 0))
    }

    /// Whether this process was started as a rank.
    pub fn is_launched() -> bool {
        env::var_os(FABRIC).is_some()
    }

    /// Joins as the rank that the environment says.
    ///
    /// # Errors
    ///
    /// If this process was not started as a rank, or can't join.
    pub fn from_environment() -> Result<Host, Error> {
        Host::numbered_from(0)
    }

    /// Joins as the rank that the environment says, if this machine's ranks are numbered from
    /// `first`. The segment numbers them from 0.
    pub(crate) fn numbered_from(first: usize) -> Result<Host, Error> {
        let path = env::var_os(FABRIC).ok_or(Error::Environment(FABRIC))?;
        let rank = env::var(RANK).ok().and_then(|rank| rank.parse::<usize>().ok());
        let rank = rank.and_then(|rank| rank.checked_sub(first));
        Host::join(Path::new(&path), rank.ok_or(Error::Environment(RANK))?)
    }

    /// Joins as one of the ranks that share the segment with this file name.
    ///
    /// # Errors
    ///
    /// If there is no such segment or rank, or if the rank was joined before, even by a process
    /// that has died.
    pub fn join(name: &Path, rank: usize) -> Result<Host, Error> {
        let segment = Segment::open(name)?;
        segment.join(rank)?;
        Ok(Host::new(Arc::new(segment), rank))
    }

    /// Runs a function as each rank, each in a thread of its own and with a part of this many
    /// bytes. Returns the functions' results.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the parts.
    ///
    /// # Panics
    ///
    /// If there are no ranks. If a rank panics, this panics once the other ranks have returned; a
    /// rank that waits for the panicked one waits for ever.
    pub fn threads<R: Send>(
        ranks: usize,
        bytes: usize,
        body: impl Fn(Host) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let (_, segment) = Segment::make(ranks, bytes)?;
        let (segment, body) = (Arc::new(segment), &body);
        thread::scope(|scope| {
            let start = |rank| {
                segment.join(rank)?;
                let host = Host::new(Arc::clone(&segment), rank);
                Ok(scope.spawn(move || body(host)))
            };
            let threads: Vec<_> = (0..ranks).map(start).collect::<Result<_, Error>>()?;
            let result = |thread: thread::ScopedJoinHandle<'_, R>| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok(threads.into_iter().map(result).collect())
        })
    }
}
