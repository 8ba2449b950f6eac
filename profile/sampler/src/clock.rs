//! The kernel's sampling event for one thread, with a buffer that this process reads.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perf_event::data::Record as Data;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use crate::outer::Outer;

/// The number of samples per second of a thread's processor time. It is prime, so that samples do
/// not keep step with a program's own intervals.
pub const HERTZ: u32 = 199;
/// Bytes of a thread's stack in a sample. [`Outer`] has more of it.
const STACK: u32 = 4 << 10;
/// Bytes of each thread's buffer, enough for about 75 milliseconds. The kernel lets a user lock 516
/// KiB for each processor, in addition to what `ulimit -l` allows.
const BUFFER: usize = 64 << 10;

/// The registers that unwinding starts from, by their bits (`perf_regs.h` of x86). The kernel gives
/// them in this order.
const REGISTERS: u64 = 1 << BP | 1 << SP | 1 << IP;
const BP: u64 = 6;
const SP: u64 = 7;
const IP: u64 = 8;

/// Whether the kernel has refused to sample threads that execute in it, as it does for users if
/// `kernel.perf_event_paranoid` is above 1.
static ONLY_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// The bits of a record that say where the thread executed, and their value for the kernel
/// (`PERF_RECORD_MISC_KERNEL`).
const MODE: u16 = 7;
const KERNEL: u16 = 1;

/// The sampling event of a thread.
pub struct Clock {
    sampler: Sampler,
}

/// One sample.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// Whether the thread executed in the kernel.
    pub in_kernel: bool,
    /// The instruction that was about to run, or that runs when the kernel returns.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// `rbp`
    pub bp: u64,
    /// The stack, from `sp` on.
    pub stack: &'a [u8],
    /// The rest of the stack, if more is known.
    pub outer: Option<&'a Outer>,
}

impl Clock {
    /// Opens the event of a thread, and begins to sample.
    ///
    /// # Errors
    /// If the thread has ended (`ESRCH`), or the kernel refuses, for example because
    /// `kernel.perf_event_paranoid` is above 2, a filter of system calls forbids it, the thread is
    /// another user's, or there is no memory for the buffer.
    pub fn of(tid: u32) -> io::Result<Clock> {
        // Relaxed, both: the word only saves calls that would be refused as well.
        let in_kernel = !ONLY_OUTSIDE.load(Relaxed);
        match Clock::sampling(tid, in_kernel) {
            Err(error) if in_kernel && error.kind() == io::ErrorKind::PermissionDenied => {
                let clock = Clock::sampling(tid, false)?;
                ONLY_OUTSIDE.store(true, Relaxed);
                Ok(clock)
            }
            opened => opened,
        }
    }

    /// Opens the event. `in_kernel` says whether threads are sampled while they execute in the
    /// kernel.
    fn sampling(tid: u32, in_kernel: bool) -> io::Result<Clock> {
        let counter = Builder::new(Software::CPU_CLOCK)
            .exclude_kernel(!in_kernel)
            .observe_pid(tid as i32)
            .any_cpu()
            .sample_frequency(HERTZ.into())
            .sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER)
            .sample_regs_user(REGISTERS)
            .sample_stack_user(STACK)
            .wakeup_watermark(BUFFER)
            .enabled(true)
            .build()?;
        Ok(Clock { sampler: counter.sampled(BUFFER)? })
    }

    /// Calls `add` with the samples since the last call, and returns how many were lost.
    pub fn read(&mut self, mut add: impl FnMut(&Sample)) -> u64 {
        let mut lost = 0;
        while let Some(record) = self.sampler.next_record() {
            let in_kernel = record.misc() & MODE == KERNEL;
            match record.parse_record() {
                Ok(Data::Sample(sample)) => {
                    let stack = sample.stack_user().unwrap_or_default();
                    // A thread that is ending has no registers.
                    let registers = sample.regs_user().map(|registers| &registers.regs[..]);
                    if let Some(&[bp, sp, ip]) = registers {
                        add(&Sample { in_kernel, ip, sp, bp, stack, outer: None });
                    }
                }
                Ok(Data::Lost(record)) => lost += record.lost,
                _ => {}
            }
        }
        lost
    }

    /// The processor time that the thread has used since the event was opened, in nanoseconds.
    pub fn covered(&mut self) -> u64 {
        let time = self.sampler.read_full().ok().and_then(|data| data.time_running());
        time.map_or(0, |time| time.as_nanos() as u64)
    }
}
