//! The reasons why a process can't be attached to, and what the user can do about it.

use std::fs::read_to_string;

use thiserror::Error;

/// Why a process is refused. A process is refused before anything in it is changed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum Refusal {
    #[error("there is no process {0}")]
    NoProcess(u32),
    #[error("process {0} has ended, and its parent has not waited for it")]
    Ended(u32),
    #[error("process {0} is one of the kernel's own")]
    Kernel(u32),
    #[error("process {pid} can't be attached to: {why}")]
    NoPermission { pid: u32, why: &'static str, hint: &'static str },
    #[error(
        "process {pid} is being traced by process {tracer}{name}, and a process can have only one tracer"
    )]
    Traced { pid: u32, tracer: u32, name: String },
    #[error("process {0} is stopped")]
    Stopped(u32),
    #[error("process {pid} is recorded already, by {by}")]
    Claimed { pid: u32, by: String },
    #[error("process {0} has been recorded since its start")]
    Preloaded(u32),
    #[error(
        "process {0} is statically linked: it has no dynamic loader that could load Syncline's library"
    )]
    Static(u32),
    #[error("process {0} is not a 64-bit x86 program")]
    Machine(u32),
    #[error("process {0} uses the C library musl, and Syncline's library needs glibc")]
    Musl(u32),
    #[error("process {0} is in a sandbox (seccomp) that forbids all but a few system calls")]
    Sandbox(u32),
    #[error("process {pid} is in a sandbox (seccomp) that ends it if it calls {what}")]
    Filter { pid: u32, what: &'static str },
    #[error("process {0} is in a sandbox (seccomp) whose filter can't be read")]
    UnknownFilter(u32),
    #[error("process {0} contains a recorder of another version of Syncline")]
    Version(u32),
}

impl Refusal {
    /// What the user can do about it; `None` if nothing.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Refusal::NoProcess(_) => {
                "`ps -e` lists the processes; inside a container, a process has another number \
                 than outside"
            }
            Refusal::NoPermission { hint, .. } => hint,
            Refusal::Traced { .. } => "detach the debugger or tracer",
            Refusal::Stopped(_) => "`kill -CONT` continues it",
            Refusal::Claimed { .. } => "stop that command, or wait for its end",
            Refusal::Preloaded(_) => "`syncline top DIR` shows what it waits for now",
            Refusal::Static(_) => "link it dynamically (without -static)",
            Refusal::Filter { .. } => "start it without that filter, or with the call allowed",
            Refusal::UnknownFilter(_) => "run this command as root, which may read the filter",
            Refusal::Version(_) => "restart the program, or use that version",
            _ => return None,
        })
    }
}

/// Why attaching or detaching failed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("process {0} has ended")]
    Gone(u32),
    #[error("process {0} has executed another program meanwhile; try again")]
    Executed(u32),
    #[error(
        "no thread of process {0} could be borrowed within 10 s: each one computed, was inside the \
             allocator or the loader, or had no room for a signal frame on its stack; try again"
    )]
    NoThread(u32),
    #[error("process {pid} lacks {what}")]
    Lacks { pid: u32, what: &'static str },
    #[error("the loader of process {pid} can't open the recorder: {why}")]
    Loader { pid: u32, why: String },
    #[error(
        "{what} waited {seconds} s for a lock in process {pid}, whose thread continues without that call; in \
             a process that was forked while a thread of its parent was in the loader, the loader's lock is \
             never released"
    )]
    Held { pid: u32, what: &'static str, seconds: u64 },
    #[error("{what} did not return within {seconds} s; the thread continues with that call")]
    Slow { what: &'static str, seconds: u64 },
    #[error("{what} failed in process {pid}: {why}")]
    Failed { pid: u32, what: &'static str, why: String },
    #[error("can't {what}: {source}")]
    System { what: &'static str, source: std::io::Error },
}

impl Error {
    /// Whether the error is that another command has claimed the process.
    pub(crate) fn is_claimed(&self) -> bool {
        matches!(self, Error::Refused(Refusal::Claimed { .. }))
    }

    /// Makes an error of the system's last error. `what` is the action that failed.
    pub(crate) fn last(what: &'static str) -> Error {
        Error::System { what, source: std::io::Error::last_os_error() }
    }
}

/// A space and the name of a process in brackets; empty if the name can't be read.
pub fn name_of(pid: u32) -> String {
    let name = read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.is_empty() { name } else { format!(" ({})", name.trim_end()) }
}
