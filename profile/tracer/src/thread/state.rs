//! The state of a thread.

use core::ptr::null_mut;

use syncline_trace::writer::Writer;

use super::often;
use super::rows::Rows;
use crate::clock;
use crate::engine::context::Context;
use crate::process::{Process, WATCHED};

/// What a thread draws of the acquisitions of a watched lock.
#[derive(Clone, Copy, Default)]
pub struct Draws {
    /// Acquisitions to let pass before the next one is drawn.
    pub next: u32,
    /// How many there were.
    pub seen: u32,
    /// The most that one of them has stood for.
    pub most: u32,
    /// Whether the budget allowed the last one.
    pub may_trace: bool,
}

/// A thread.
pub struct Thread {
    /// Where it writes.
    pub writer: Writer,
    /// The process that it was seen in.
    pub process: &'static Process,
    /// Lowest address of its stack and one past the highest; 0 while they are not known.
    pub stack: (u64, u64),
    /// The kernel's number.
    pub tid: u32,
    /// Set while this is being changed, against handlers of signals.
    pub busy: bool,
    /// Acquisitions to let pass before the budget is asked.
    pub countdown: u32,
    /// How many have passed since.
    pub passed: u32,
    /// And how many of them were looked at.
    pub looked_at: u32,
    /// The most acquisitions that one of them has stood for.
    pub most: u32,
    /// For each of the locks that are watched, which is traced next.
    pub draws: [Draws; WATCHED],
    /// When its counts are to be written next, in ticks.
    pub(super) write_at: u64,
    /// Calls of the allocator when it was last asked, wrapping around.
    pub allocator: u32,
    /// What it said last.
    pub may_trace: bool,
    /// Acquisitions to let pass before one has its time held measured.
    pub(super) clock_in: u32,
    /// Of the lock whose time held is being measured ([`tls::timed`]): since when, and its row.
    pub(super) timed: (u64, usize),
    pub(super) random: u64,
    pub(super) rows: Rows,
    /// A context that this thread may still be about to leave: see [`Thread::retire`].
    pub(super) retired: *mut Context,
    pub(super) next: *mut Thread,
}

impl Thread {
    /// A thread that begins; `None` if there is no memory for it or no room in the file.
    pub(super) fn new(process: &'static Process) -> Option<Box<Thread>> {
        // SAFETY: a plain call.
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

    /// A number from 0 to `below` - 1.
    pub fn random(&mut self, below: u32) -> u32 {
        random(&mut self.random, below)
    }

    /// For how many acquisitions at a call site the next one stands; 0 if it is passed over.
    #[inline]
    pub fn stands_for(&mut self, site: u64) -> u32 {
        if self.process.options.budget == 0 {
            return 1;
        }
        let state = &mut self.random;
        often::stands_for(site, |below| random(state, below))
    }
}

/// A number from 0 to `below` - 1 (xorshift64*, Vigna 2016).
fn random(state: &mut u64, below: u32) -> u32 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let high = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
    ((high * u64::from(below)) >> 32) as u32
}
