//! The state of a thread.

use core::ptr::null_mut;

use syncline_trace::writer::Writer;

use super::often;
use super::rows::Rows;
use crate::clock;
use crate::engine::context::Context;
use crate::process::{Process, WATCHED};

/// How a thread draws the acquisitions to trace from those of a watched family of locks.
#[derive(Clone, Copy, Default)]
pub struct Draws {
    /// How many acquisitions to let pass before the next one is drawn.
    pub next: u32,
    /// How many acquisitions there have been.
    pub seen: u32,
    /// The most acquisitions that one of them has stood for.
    pub most: u32,
    /// Whether the budget allowed tracing at the last draw.
    pub may_trace: bool,
}

/// The state of a thread.
pub struct Thread {
    /// Writes the thread's records to the file.
    pub writer: Writer,
    /// The process in which the state was made. In a forked child it is the parent's.
    pub process: &'static Process,
    /// The lowest address of its stack, and one past the highest; both 0 until they are known.
    pub stack: (u64, u64),
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Set while this structure is being changed, so that a signal handler leaves it alone.
    pub busy: bool,
    /// How many acquisitions to let pass before the budget is checked again.
    pub countdown: u32,
    /// How many acquisitions there have been since the last check, including those that were passed
    /// over.
    pub passed: u32,
    /// How many of these were counted themselves, and not passed over.
    pub looked_at: u32,
    /// The most acquisitions for which one acquisition of this thread has stood.
    pub most: u32,
    /// The draws for each watched family of locks.
    pub draws: [Draws; WATCHED],
    /// When its counts are to be written next, in ticks.
    pub(super) write_at: u64,
    /// The number of calls of the allocator up to the last check of the budget; it wraps around.
    pub allocator: u32,
    /// Whether the budget allowed tracing at that check.
    pub may_trace: bool,
    /// How many acquisitions to let pass before the next hold is measured.
    pub(super) clock_in: u32,
    /// The time of the acquisition whose hold is being measured, and the number of its row. (The
    /// lock is [`tls::timed`].)
    pub(super) timed: (u64, usize),
    pub(super) random: u64,
    pub(super) rows: Rows,
    /// A context that this thread may still be about to leave: see [`Thread::retire`].
    pub(super) retired: *mut Context,
    pub(super) next: *mut Thread,
}

impl Thread {
    /// The state of a thread that begins; `None` if there is no memory for it or no room in the
    /// file.
    pub(super) fn new(process: &'static Process) -> Option<Box<Thread>> {
        // SAFETY: the call reads and writes no memory.
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let writer = process.file.thread(tid, 0..0, clock::now())?;
        process.note_thread(tid, writer.index());
        Some(Box::new(Thread {
            writer,
            process,
            stack: (0, 0),
            tid,
            busy: true,
            countdown: 1,
            passed: 0,
            looked_at: 0,
            most: 1,
            draws: [Draws::default(); WATCHED],
            write_at: 0,
            allocator: 0,
            may_trace: true,
            clock_in: 1,
            timed: (0, 0),
            random: clock::now() | 1,
            rows: Rows::take()?,
            retired: null_mut(),
            next: null_mut(),
        }))
    }

    /// A random number from 0 to `below` - 1.
    pub fn random(&mut self, below: u32) -> u32 {
        random(&mut self.random, below)
    }

    /// For how many acquisitions the next one at a call site stands; 0 if it is passed over.
    #[inline]
    pub fn stands_for(&mut self, site: u64) -> u32 {
        if self.process.options.budget == 0 {
            return 1;
        }
        let state = &mut self.random;
        often::stands_for(site, |below| random(state, below))
    }
}

/// A random number from 0 to `below` - 1 (xorshift64*, Vigna 2016).
fn random(state: &mut u64, below: u32) -> u32 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let high = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
    ((high * u64::from(below)) >> 32) as u32
}
