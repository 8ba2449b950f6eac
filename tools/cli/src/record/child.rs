//! Runs the program, and waits until it ends.
//!
//! A signal that is meant for the program must not end Syncline. So Syncline blocks such signals,
//! and reads them one by one. A signal that a process sent to Syncline is passed on to the program.
//! A signal from the terminal is dropped: it has already reached the program, because Syncline and
//! the program are in the terminal's foreground group. The program starts with the signal state
//! with which Syncline was started.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::libc;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use syncline_recording::Ending;

use super::inherited::Signals;
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND, RECORD_FAILED};

/// The signals that are meant for the program.
const PASSED_ON: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// The signals with which a user asks for the end of the program.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];

/// Whether Syncline has got SIGTERM and passed it on.
static GOT_SIGTERM: AtomicBool = AtomicBool::new(false);

/// Whether a user has asked for the end of the program, by a signal to Syncline or from the
/// terminal.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether a user has asked for the end of the program, by a signal to Syncline or from the
/// terminal. Then no further run is started.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Relaxed)
}

/// Whether Syncline has got SIGTERM while the program ran. The sender waits for Syncline to end, so
/// Syncline makes no report that takes long.
pub fn got_sigterm() -> bool {
    GOT_SIGTERM.load(Relaxed)
}

/// The running program, and the signals that Syncline reads while it runs.
pub struct Recorded {
    child: Child,
    signals: SignalFd,
}

/// The signal state from before the first run. The program starts with this state in every run.
fn inherited() -> nix::Result<&'static Signals> {
    static INHERITED: OnceLock<Signals> = OnceLock::new();
    match INHERITED.get() {
        Some(noted) => Ok(noted),
        None => {
            let noted = Signals::note()?;
            Ok(INHERITED.get_or_init(|| noted))
        }
    }
}

/// Starts the program under the name that the user gave, with these environment variables added.
///
/// # Errors
/// With [`NOT_FOUND`], [`CANNOT_RECORD`] or [`RECORD_FAILED`] if it can't be started.
pub fn start(
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<Recorded, Failure> {
    let failed = |e: nix::Error| Failure::new(RECORD_FAILED, e);
    let inherited = inherited().map_err(failed)?;
    let mut waited_for: SigSet = PASSED_ON.into_iter().collect();
    waited_for.add(Signal::SIGCHLD);
    waited_for.thread_block().map_err(failed)?;

    let mut start = Command::new(program);
    start.arg0(&command[0]).args(&command[1..]).envs(variables);
    // SAFETY: between fork and exec, only functions that are safe in signal handlers may run.
    // `restore` calls sigaction, pthread_sigmask and the system call rt_sigaction, and allocates
    // nothing.
    let child =
        unsafe { start.pre_exec(move || inherited.restore()) }.spawn().map_err(|error| {
            let status = match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => CANNOT_RECORD,
            };
            let context = format!("can't run {}", program.display());
            Failure::new(status, anyhow::Error::new(error).context(context))
        })?;
    let signals = SignalFd::new(&waited_for).map_err(failed)?;
    Ok(Recorded { child, signals })
}

impl Recorded {
    /// The program's process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Passes signals on to the program until it ends. Returns how it ended.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`], if waiting for the program or reading signals fails.
    pub fn wait(mut self) -> Result<Ending, Failure> {
        loop {
            if let Some(status) =
                self.child.try_wait().map_err(|e| Failure::new(RECORD_FAILED, e))?
            {
                return Ok(ending(status));
            }
            let info = match self.signals.read_signal() {
                Ok(Some(info)) => info,
                Ok(None) | Err(nix::Error::EINTR) => continue,
                Err(e) => return Err(Failure::new(RECORD_FAILED, e)),
            };
            let from_terminal = info.ssi_code == libc::SI_KERNEL;
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            if ENDING.contains(&signal) {
                INTERRUPTED.store(true, Relaxed);
            }
            if PASSED_ON.contains(&signal) && !from_terminal {
                self.pass_on(signal);
            }
        }
    }

    /// Sends a signal to the program. Syncline has not waited for the program's end yet, so the
    /// process number still belongs to it. If the program has just ended, the signal has no effect,
    /// just as without Syncline.
    fn pass_on(&self, signal: Signal) {
        if signal == Signal::SIGTERM {
            GOT_SIGTERM.store(true, Relaxed);
        }
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }
}

/// Lets signals end Syncline again. Called when the program has ended and only a report remains to
/// be made. Signals that arrived while the program ran were meant for the program, and are
/// discarded.
pub fn hear_signals() {
    let passed_on: SigSet = PASSED_ON.into_iter().collect();
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    // If the kernel refuses this, signals stay blocked, and the report is still made.
    let Ok(signals) = SignalFd::with_flags(&passed_on, flags) else { return };
    while let Ok(Some(_)) = signals.read_signal() {}
    let _ = passed_on.thread_unblock();
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Status(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    }
}
