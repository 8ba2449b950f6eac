//! The locks of a window over several hosts, for one rank. The rank locks the parts of its own host
//! in the segment, and other parts by requests to the part's rank. Under the schemes with messages,
//! it locks all parts by requests.
//!
//! To share all parts, a rank tries the hosts one after another, without waiting at any. If one
//! host refuses, the rank releases the parts of the hosts before it. So a rank that waits for all
//! parts does not block other ranks meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use syncline::memory::Memory;
use syncline_fabric::server::Gone;

use super::peers::Peers;
use super::request::{Answer, Request, What};
use crate::locks::{Locks, Refusal};
use crate::segment::Segment;

/// Between polls for an answer, a rank lets MPI make progress. After this many polls it also
/// sleeps.
const LOOKS: u32 = 2_000;
/// The duration of one sleep.
const NAP: Duration = Duration::from_micros(50);
/// The value for no rank.
const NONE: usize = usize::MAX;

/// The locks of a window over several hosts.
pub struct Spread {
    window: u64,
    rank: usize,
    /// The locks in this host's segment.
    own: Arc<dyn Locks>,
    /// For each rank, the first rank of its host.
    firsts: Box<[usize]>,
    /// Whether parts on this host are also locked by requests.
    by_messages: bool,
    peers: Arc<Peers>,
    /// For each part, whether an owner had died before the part was last acquired.
    orphaned: Box<[AtomicBool]>,
    /// For each host, at the index of its first rank: the rank whose server has shared all parts of
    /// the host for this rank, or `NONE`.
    sharers: Box<[AtomicUsize]>,
}

impl Spread {
    /// The locks of the window with this number, for this rank. `firsts` has, for each rank, the
    /// first rank of its host.
    pub fn new(
        window: u64,
        rank: usize,
        own: Arc<dyn Locks>,
        firsts: Box<[usize]>,
        by_messages: bool,
        peers: Arc<Peers>,
    ) -> Spread {
        let orphaned = firsts.iter().map(|_| AtomicBool::new(false)).collect();
        let sharers = firsts.iter().map(|_| AtomicUsize::new(NONE)).collect();
        Spread { window, rank, own, firsts, by_messages, peers, orphaned, sharers }
    }

    fn is_here(&self, target: usize) -> bool {
        !self.by_messages && self.firsts[target] == self.firsts[self.rank]
    }

    fn request(&self, what: What, target: usize, exclusive: bool) -> Request {
        let (rank, target) = (self.rank as u32, target as u32);
        Request { what, exclusive, rank, window: self.window, target, left: None }
    }

    /// Sends a request to a rank's server, and waits for the answer.
    fn call(&self, rank: usize, request: Request) -> Result<Answer, Gone> {
        let answer = self.peers.link(rank)?.call(&request.to_bytes(), pause)?;
        Ok(Answer::from_bytes(&answer))
    }

    /// Sends a request to a rank's server. An error means that the server is gone; then everything
    /// that it served is gone as well, so errors are ignored.
    fn tell(&self, rank: usize, request: Request) {
        if let Ok(link) = self.peers.link(rank) {
            let _ = link.tell(&request.to_bytes());
        }
    }

    fn take(
        &self,
        target: usize,
        exclusive: bool,
        left: Option<Duration>,
    ) -> Result<bool, Refusal> {
        let request = Request { left, ..self.request(What::Acquire, target, exclusive) };
        let answer = self.call(target, request).map_err(|Gone| Refusal::Gone)?;
        // Relaxed: only this rank reads it later.
        self.orphaned[target].store(answer == Answer::Orphaned, Relaxed);
        match answer {
            Answer::No => Ok(false),
            Answer::Yes | Answer::Orphaned => Ok(true),
            Answer::Unsupported => Err(Refusal::Unsupported),
            Answer::Unknown => Err(Refusal::Gone),
        }
    }

    /// Shares all parts of a host, without waiting. If all ranks of the host have died, it returns
    /// `true`.
    fn try_host(&self, first: usize) -> Result<bool, Refusal> {
        if !self.by_messages && first == self.firsts[self.rank] {
            return self.own.try_acquire_all();
        }
        // Any rank of the host can share the host's parts. If all of them have died, no rank that
        // would have to be excluded is left.
        let here = |rank: &usize| self.firsts[*rank] == first;
        for rank in (0..self.firsts.len()).filter(here) {
            let Ok(answer) = self.call(rank, self.request(What::TryAll, rank, false)) else {
                continue;
            };
            match answer {
                Answer::Yes => self.sharers[first].store(rank, Relaxed),
                Answer::Unknown => return Err(Refusal::Gone),
                _ => {}
            }
            return Ok(answer == Answer::Yes);
        }
        Ok(true)
    }

    fn release_host(&self, first: usize) {
        if !self.by_messages && first == self.firsts[self.rank] {
            self.own.release_all();
            return;
        }
        // Relaxed: only this rank uses it.
        let sharer = self.sharers[first].swap(NONE, Relaxed);
        if sharer != NONE {
            self.tell(sharer, self.request(What::ReleaseAll, sharer, false));
        }
    }

    fn hosts(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.firsts.len()).filter(|rank| self.firsts[*rank] == *rank)
    }
}

/// Pauses between two polls for an answer.
fn pause(looks: u32) {
    Segment::yield_now();
    if looks > LOOKS {
        std::thread::sleep(NAP);
    }
}

impl Locks for Spread {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        if self.is_here(target) {
            // SAFETY: our caller's promise.
            return unsafe { self.own.acquire(target, exclusive) };
        }
        // If the server has no room for the request, this sends it again later.
        while !self.take(target, exclusive, None)? {
            pause(LOOKS + 1);
        }
        Ok(())
    }

    unsafe fn acquire_until(
        &self,
        target: usize,
        exclusive: bool,
        deadline: Duration,
    ) -> Result<bool, Refusal> {
        if self.is_here(target) {
            // SAFETY: our caller's promise.
            return unsafe { self.own.acquire_until(target, exclusive, deadline) };
        }
        self.take(target, exclusive, Some(deadline.saturating_sub(Segment::now())))
    }

    unsafe fn release(&self, target: usize, exclusive: bool) {
        if self.is_here(target) {
            // SAFETY: our caller's promise.
            unsafe { self.own.release(target, exclusive) };
        } else {
            self.tell(target, self.request(What::Release, target, exclusive));
        }
    }

    fn acquire_all(&self) -> Result<(), Refusal> {
        let mut looks = 0;
        while !self.try_acquire_all()? {
            looks += 1;
            pause(looks);
        }
        Ok(())
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        for refusing in self.hosts() {
            let shared = self.try_host(refusing);
            if shared != Ok(true) {
                self.hosts().take_while(|host| *host != refusing).for_each(|host| {
                    self.release_host(host);
                });
                return shared;
            }
        }
        Ok(true)
    }

    fn release_all(&self) {
        self.hosts().for_each(|host| self.release_host(host));
    }

    fn is_orphaned(&self, target: usize) -> bool {
        if self.is_here(target) {
            return self.own.is_orphaned(target);
        }
        // Relaxed: only this rank uses it.
        self.orphaned[target].load(Relaxed)
    }

    fn orphan(&self, target: usize) {
        self.own.orphan(target);
    }

    fn make_consistent(&self, target: usize) {
        if self.is_here(target) {
            self.own.make_consistent(target);
            return;
        }
        // Relaxed: only this rank uses it.
        self.orphaned[target].store(false, Relaxed);
        self.tell(target, self.request(What::Consistent, target, true));
    }
}
