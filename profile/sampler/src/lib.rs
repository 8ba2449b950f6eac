//! Where a program's threads are while they run.
//!
//! A thread that waits in a loop of its own instructions makes no call that the recorder could see.
//! So the kernel interrupts some threads some hundred times in a second of their processor time,
//! and notes their registers and the tops of their stacks (`perf_event_open`, with the processor's
//! clock as its event). [`Sampler`] reads these notes in a thread of its own, outside of the
//! recorded program, unwinds the stacks and counts equal ones. The analysis finds out what the
//! instructions at an address do.
//!
//! Threads that sleep are looked at now and then: what the kernel says of them has the call that
//! they sleep in, and their stacks can be read. That shows what threads do in the kernel, besides
//! the waits that the recorder has seen.
//!
//! The events are opened on threads that are seen to use the processors, and are not inherited: an
//! inherited event makes the creation of threads slower, the more so the more processors there are. A thread
//! that gets a processor often has one for a part of its time only.

mod asleep;
mod clock;
mod gathered;
mod mapped;
mod own;
mod threads;
mod times;
mod unwinding;
mod window;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow};
use syncline_recording::Samples;

use gathered::Gathered;
use threads::Threads;

/// Samples threads until it is stopped.
pub struct Sampler {
    ends: Arc<AtomicBool>,
    reader: JoinHandle<Samples>,
}

impl Sampler {
    /// Begins. `processes` returns the numbers of the processes to sample, and is called
    /// repeatedly. The samples have the numbers by which processes and threads call themselves,
    /// which are others in another namespace, as recordings do. If the kernel refuses samples,
    /// [`Samples::refused`] says so at the end.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(processes: impl FnMut() -> Vec<u32> + Send + 'static) -> io::Result<Sampler> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let sample = move || {
            let mut threads = Threads::new(processes);
            let mut gathered = Gathered::default();
            // Relaxed: the result is ordered by the join.
            while !told.load(Ordering::Relaxed) && threads.refused().is_none() {
                threads.choose(&mut gathered);
                threads.read(&mut gathered);
                thread::park_timeout(threads.pause());
            }
            threads.finish(gathered)
        };
        // The thread begins with the signals blocked that this one has blocked: all of them, since
        // the command waits for its signals elsewhere.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let reader = thread::Builder::new().name("sampler".to_owned()).spawn(sample);
        before.thread_set_mask()?;
        Ok(Sampler { ends, reader: reader? })
    }

    /// Ends, and returns what was seen.
    pub fn finish(self) -> Samples {
        self.ends.store(true, Ordering::Relaxed);
        self.reader.thread().unpark();
        self.reader.join().unwrap_or_default()
    }
}
