//! A rank on one machine: performs a fabric's operations by the processor's instructions, on a
//! shared mapping.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release, Ordering::SeqCst, fence};
use std::thread;
use std::time::Duration;

use syncline::memory::{Memory, Native};

use super::copy;
use super::segment::Segment;
use crate::fabric::{Change, Dead, Fabric, Position};
use crate::heap::Heap;
use crate::here::{Entered, Here};
use crate::process::Process;

/// After this many polls, a waiter lets other threads run between two polls.
const SPINS: u32 = 24;

/// A rank on one machine. Clones of this value are the same rank. Several threads may use it.
#[derive(Clone)]
pub struct Host {
    segment: Arc<Segment>,
    rank: usize,
    /// The identity of this process.
    own: Process,
}

thread_local! {
    static HERE: Entered<Host> = const { Entered::new() };
}

impl Host {
    /// The rank that this process has joined in this segment.
    pub(super) fn new(segment: Arc<Segment>, rank: usize) -> Host {
        Host { segment, rank, own: Process::own() }
    }

    /// Lets this thread use words and locks of [`Window`](crate::Window) as this rank, until the
    /// thread enters another rank. Lock nodes come from this heap.
    pub fn enter(&self, nodes: Heap) {
        HERE.with(|here| here.set(self.clone(), nodes));
    }

    /// Sleeps until a thread of any rank [wakes](Self::wake) this word's sleepers, or for this long.
    /// Returns at once if the low 32 bits of the word's value are not `value`. May also return
    /// early for no reason.
    pub fn sleep(&self, at: Position, value: u32, most: Duration) {
        let until = libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(most.subsec_nanos()),
        };
        let (word, wait) = (self.word(at).as_ptr(), libc::FUTEX_WAIT);
        // SAFETY: the kernel compares the word's low half, which lies first, and reads the time. The
        // word is shared by processes, so the futex is not a private one. An error means that the
        // caller should look at the word again, which it does anyway.
        unsafe { libc::syscall(libc::SYS_futex, word, wait, value, &raw const until) };
    }

    /// Wakes at most this many of the threads that sleep for a word, of any rank.
    pub fn wake(&self, at: Position, most: u32) {
        let most = most.min(i32::MAX as u32);
        // SAFETY: wakes threads, and reads nothing.
        unsafe { libc::syscall(libc::SYS_futex, self.word(at).as_ptr(), libc::FUTEX_WAKE, most) };
    }

    #[inline]
    fn word(&self, at: Position) -> &AtomicU64 {
        self.segment.word(at)
    }
}

impl Fabric for Host {
    #[inline]
    fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.segment.ranks()
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.segment.bytes()
    }

    #[inline]
    fn put(&self, to: Position, bytes: &[u8]) {
        let address = self.segment.address(to, bytes.len());
        // Release: pairs with the fence in `get`. A rank that sees a word of this put also sees the
        // changes of words that this rank made before the put.
        fence(Release);
        // SAFETY: the mapping has this many bytes there.
        unsafe { copy::write(address, bytes) };
    }

    #[inline]
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        let address = self.segment.address(from, into.len());
        // SAFETY: the mapping has this many bytes there.
        unsafe { copy::read(address, into) };
        // Acquire: pairs with the fence in `put`.
        fence(Acquire);
        Ok(())
    }

    #[inline]
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        let (Ok(was) | Err(was)) = self.word(at).compare_exchange(old, new, SeqCst, SeqCst);
        Ok(was)
    }

    #[inline]
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        let word = self.word(at);
        Ok(match change {
            Change::Keep => word.load(SeqCst),
            Change::Replace => word.swap(operand, SeqCst),
            Change::Add => word.fetch_add(operand, SeqCst),
            Change::And => word.fetch_and(operand, SeqCst),
            Change::Or => word.fetch_or(operand, SeqCst),
        })
    }

    #[inline]
    fn flush(&self, _: usize) -> Result<(), Dead> {
        self.flush_all();
        Ok(())
    }

    #[inline]
    fn flush_all(&self) {
        fence(SeqCst);
    }

    #[inline]
    fn pause(&self, _: Position, looks: u32) {
        if looks < SPINS {
            Native::pause(looks);
        } else {
            thread::yield_now();
        }
    }

    fn rest(&self, time: Duration) {
        let end = Native::now() + time;
        let mut looks = 1;
        while Native::now() < end {
            self.pause(Position { rank: self.rank, at: 0 }, looks);
            looks += 1;
        }
    }

    /// Asks the kernel, which takes a few microseconds. A rank that has not joined yet counts as
    /// alive.
    fn is_alive(&self, rank: usize) -> bool {
        self.segment.process(rank).is_none_or(|process| process.lives(&self.own))
    }

    fn machine(&self, _: usize) -> usize {
        0
    }

    fn now(&self) -> Duration {
        Native::now()
    }
}

impl Here for Host {
    fn here<R>(then: impl FnOnce(&Host) -> R) -> R {
        HERE.with(|here| here.with(then))
    }

    fn nodes(&self) -> Heap {
        HERE.with(Entered::nodes)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("rank", &self.rank).field("ranks", &self.ranks()).finish()
    }
}
