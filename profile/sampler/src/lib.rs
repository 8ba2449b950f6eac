//! Where a program's threads are while they run.
//!
//! A thread that waits in a loop of its own instructions makes no call that the recorder could see.
//! So the kernel interrupts some threads about two hundred times per second of their processor
//! time. It notes their registers and the tops of their stacks (`perf_event_open`, with the
//! processor's clock as its event). [`Sampler`] reads these notes in a thread of its own, outside
//! of the recorded program. It unwinds the stacks and counts equal ones. The analysis finds out
//! what the instructions at an address do.
//!
//! Now and then the sampler looks at sleeping threads: the kernel says which system call they sleep
//! in, and their stacks can be read. That shows what threads do in the kernel, in addition to the
//! waits that the recorder has seen. If a thread sleeps in Python's interpreter, the sampler also
//! reads which Python functions the thread is in. If all threads sleep, the sampler looks for
//! requests that wait in the program's sockets.
//!
//! An event is opened only for a thread that was seen to use the processors. New threads do not
//! inherit the event, because inherited events slow the creation of threads down. The effect grows
//! with the number of processors. A thread that gets a processor often has an event for only a part
//! of its time.

mod asleep;
mod awaited;
mod clock;
mod gathered;
mod inner;
mod mapped;
mod memory;
mod outer;
mod own;
mod python;
mod sockets;
mod threads;
mod times;
mod unread;
mod unwinding;
mod window;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use syncline_recording::Samples;

use gathered::Gathered;
use threads::Threads;

/// How long after the start the samples so far are kept for the first time. Each further pause is
/// twice as long as the one before, up to [`RAREST_KEPT`].
const FIRST_KEPT: Duration = Duration::from_secs(2);
const RAREST_KEPT: Duration = Duration::from_secs(60);

/// Samples threads until it is stopped.
pub struct Sampler {
    ends: Arc<AtomicBool>,
    reader: JoinHandle<Samples>,
}

impl Sampler {
    /// Begins. `recorder` is the recorder's file, if the recorder is attached to running processes.
    /// `processes` returns the numbers of the processes to sample, and is called repeatedly. `keep`
    /// gets the samples so far after pauses of 2, 4, 8 seconds and so on, and at least once a
    /// minute. So the samples of a program that hangs can be read, and a command that is killed has
    /// already written most samples.
    ///
    /// As in recordings, the samples have the numbers that processes and threads have for
    /// themselves, which differ in another namespace. If the kernel refuses samples,
    /// [`Samples::refused`] says so at the end.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        recorder: Option<PathBuf>,
        processes: impl FnMut() -> Vec<u32> + Send + 'static,
        mut keep: impl FnMut(Samples) + Send + 'static,
    ) -> io::Result<Sampler> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let sample = move || {
            let mut threads = Threads::new(processes);
            let mut gathered = Gathered::new(recorder);
            let (mut since, mut pause) = (Instant::now(), FIRST_KEPT);
            // Relaxed: the join orders the result.
            while !told.load(Ordering::Relaxed) && threads.refused().is_none() {
                threads.choose(&mut gathered);
                threads.read(&mut gathered);
                if since.elapsed() >= pause {
                    keep(threads.so_far(&gathered));
                    (since, pause) = (Instant::now(), RAREST_KEPT.min(2 * pause));
                }
                thread::park_timeout(threads.pause());
            }
            threads.finish(gathered)
        };
        // The new thread inherits the set of blocked signals: all of them, since the command waits
        // for its signals elsewhere.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let reader = thread::Builder::new().name("sampler".to_owned()).spawn(sample);
        before.thread_set_mask()?;
        Ok(Sampler { ends, reader: reader? })
    }

    /// Ends the sampling, and returns the samples.
    pub fn finish(self) -> Samples {
        self.ends.store(true, Ordering::Relaxed);
        self.reader.thread().unpark();
        self.reader.join().unwrap_or_default()
    }
}
