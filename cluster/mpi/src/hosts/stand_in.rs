//! Stand-ins: in the locks of its host's segment, this process acts for ranks of other hosts. Under
//! the schemes with messages, it acts for all ranks.
//!
//! An acquisition is a coroutine that runs the code of the lock. When this code would yield the
//! processor, the server continues with something else. A release runs without interruption: it
//! waits at most for a store that another rank is about to make.
//!
//! The server records what each caller holds, and releases it when the caller's connection ends. If
//! the caller was still waiting for a part then, its stand-in acquires the part when its turn
//! comes, and releases it at once. So no queue ever has a gap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use syncline::memory::Memory;
use syncline::window::Scheme;
use syncline_fabric::Process;
use syncline_fabric::server::{Answers, Peer, Service};

use super::request::{Answer, Request, What};
use crate::locks::{Locks, Refusal};
use crate::scheme::locks;
use crate::segment::{Area, Segment, as_server, in_coroutine};

/// The stack size of a coroutine in bytes.
const STACK: usize = 64 * 1024;

/// The windows that this process serves, with their numbers.
static WINDOWS: Mutex<Option<HashMap<u64, Arc<Served>>>> = Mutex::new(None);

/// What the stand-ins of a window need: its segment, and each rank's view of the locks in it.
pub struct Served {
    area: Arc<Area>,
    scheme: Scheme,
    ranks: Box<[OnceLock<Arc<dyn Locks>>]>,
}

impl Served {
    /// A window with this many ranks, whose locks are in this segment.
    pub fn new(area: Arc<Area>, scheme: Scheme, ranks: usize) -> Served {
        Served { area, scheme, ranks: (0..ranks).map(|_| OnceLock::new()).collect() }
    }

    /// The locks as this rank uses them.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    fn of(&self, rank: u32) -> &Arc<dyn Locks> {
        let ranks = self.ranks.len();
        let make = || {
            // The process of the rank may be on another host, and this host can't check whether
            // such a process is alive. When the process dies, its connection ends.
            let nobody = Process::default();
            locks(self.scheme, Arc::clone(&self.area), rank as usize, ranks, nobody)
        };
        self.ranks[rank as usize].get_or_init(make)
    }
}

/// Lets other ranks send requests for parts of this window. `number` is the window's number.
pub fn serve_window(number: u64, window: Served) {
    let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    windows.get_or_insert_default().insert(number, Arc::new(window));
}

/// Stops serving a window, because it was freed or not all ranks could start a server. No rank
/// holds any of its parts.
pub fn forget(number: u64) {
    let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    windows.as_mut().and_then(|windows| windows.remove(&number));
}

fn window(number: u64) -> Option<Arc<Served>> {
    let windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    windows.as_ref()?.get(&number).cloned()
}

/// Decodes a request and finds its window. Returns `None` if the request is malformed, if this
/// process does not serve the window, or if the window has no such rank or part.
fn understood(bytes: &[u8]) -> Option<(Request, Arc<Served>)> {
    let request = Request::from_bytes(bytes)?;
    let window = window(request.window)?;
    let is_rank = |number: u32| (number as usize) < window.ranks.len();
    (is_rank(request.rank) && is_rank(request.target)).then_some((request, window))
}

/// A part that a caller holds: the window, the caller's rank, and the part; `None` stands for all
/// parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Held {
    peer: Peer,
    window: u64,
    rank: u32,
    target: Option<u32>,
}

/// All stand-ins in this server.
#[derive(Default)]
pub struct StandIns {
    /// The parts that callers hold, each with whether it is held exclusively.
    held: HashMap<Held, bool>,
    waiting: Vec<Waiting>,
    /// Requests for a part that, as far as the server knows, the requesting rank or host still
    /// holds or waits for. That happens when another rank of the host has sent the release on its
    /// own connection, and the release has not arrived yet.
    early: Vec<(Peer, u64, Request)>,
    /// Stacks for coroutines that are not in use.
    stacks: Vec<DefaultStack>,
}

struct Waiting {
    peer: Peer,
    number: u64,
    request: Request,
    locks: Arc<dyn Locks>,
    /// The coroutine; it returns whether the part was acquired.
    acquisition: Coroutine<(), (), Result<bool, Refusal>, DefaultStack>,
    /// Whether the caller is gone.
    abandoned: bool,
}

impl Service for StandIns {
    fn asked(&mut self, peer: Peer, number: u64, bytes: &[u8], answers: &mut Answers) {
        let Some((request, window)) = understood(bytes) else {
            answers.give(peer, number, &[Answer::Unknown as u8]);
            return;
        };
        let locks = window.of(request.rank);
        let held = |target| Held { peer, window: request.window, rank: request.rank, target };
        let part = held(Some(request.target));
        match request.what {
            What::Acquire if self.has(&request) => self.early.push((peer, number, request)),
            What::Acquire => self.begin(peer, number, request, locks, answers),
            What::Release => {
                if let Some(exclusive) = self.take_back(part, window.scheme) {
                    // SAFETY: this rank holds it in this mode.
                    as_server(|| unsafe { locks.release(part.part(), exclusive) });
                }
            }
            What::TryAll => {
                let taken = as_server(|| locks.try_acquire_all()).unwrap_or(false);
                if taken {
                    self.held.insert(held(None), false);
                }
                answers.give(peer, number, &[taken.into()]);
            }
            What::ReleaseAll => {
                if self.held.remove(&held(None)).is_some() {
                    as_server(|| locks.release_all());
                }
            }
            What::Consistent => {
                if self.held.get(&part) == Some(&true) {
                    locks.make_consistent(part.part());
                }
            }
        }
    }

    fn left(&mut self, peer: Peer) {
        self.early.retain(|(from, ..)| *from != peer);
        for waiting in &mut self.waiting {
            waiting.abandoned |= waiting.peer == peer;
        }
        let gone: Vec<Held> = self.held.keys().filter(|held| held.peer == peer).copied().collect();
        for held in gone {
            let Some(window) = window(held.window) else { continue };
            let exclusive = self.held.remove(&held).unwrap_or_default();
            if window.scheme == Scheme::Hierarchical && exclusive {
                // The whole host holds it, and other ranks of the host may use it.
                self.held.insert(held, exclusive);
                continue;
            }
            give_back(window.of(held.rank), held, exclusive);
        }
    }

    fn go_on(&mut self, answers: &mut Answers) -> bool {
        for (peer, number, request) in std::mem::take(&mut self.early) {
            self.asked(peer, number, &request.to_bytes(), answers);
        }
        let mut at = 0;
        while at < self.waiting.len() {
            match self.waiting[at].acquisition.resume(()) {
                CoroutineResult::Yield(()) => at += 1,
                CoroutineResult::Return(taken) => {
                    // This keeps the order in which the requests arrived and are resumed, which is
                    // also their order in queues.
                    let waiting = self.waiting.remove(at);
                    self.finish(waiting, taken, answers);
                }
            }
        }
        !self.waiting.is_empty()
    }
}

impl StandIns {
    /// Whether the rank of this request already holds the part or waits for it.
    fn has(&self, request: &Request) -> bool {
        let target = Some(request.target);
        let is_it = |held: &Held| {
            (held.window, held.rank, held.target) == (request.window, request.rank, target)
        };
        let of = |it: &Request| (it.window, it.rank, it.target);
        self.held.keys().any(is_it) || self.waiting.iter().any(|it| of(&it.request) == of(request))
    }

    /// Removes a part from the record of what callers hold. Returns whether it was held
    /// exclusively, or `None` if it was not held. If a host holds the part, any of its ranks may
    /// release it.
    fn take_back(&mut self, part: Held, scheme: Scheme) -> Option<bool> {
        if scheme != Scheme::Hierarchical {
            return self.held.remove(&part);
        }
        let of_host = |held: &&Held| Held { peer: part.peer, ..**held } == part;
        let held = *self.held.keys().find(of_host)?;
        self.held.remove(&held)
    }

    fn begin(
        &mut self,
        peer: Peer,
        number: u64,
        request: Request,
        locks: &Arc<dyn Locks>,
        answers: &mut Answers,
    ) {
        let stack = self.stacks.pop().map_or_else(|| DefaultStack::new(STACK), Ok);
        let Ok(stack) = stack else {
            answers.give(peer, number, &[Answer::No as u8]);
            return;
        };
        let (locks, its) = (Arc::clone(locks), Arc::clone(locks));
        let acquisition = Coroutine::with_stack(stack, move |yielder, ()| {
            in_coroutine(yielder, || {
                let target = request.target as usize;
                // SAFETY: the rank exists, and it requests a part only once at a time.
                unsafe {
                    match request.left {
                        Some(left) => {
                            its.acquire_until(target, request.exclusive, Segment::now() + left)
                        }
                        None => its.acquire(target, request.exclusive).map(|()| true),
                    }
                }
            })
        });
        self.waiting.push(Waiting { peer, number, request, locks, acquisition, abandoned: false });
    }

    fn finish(&mut self, waiting: Waiting, taken: Result<bool, Refusal>, answers: &mut Answers) {
        let Waiting { peer, number, request, locks, acquisition, abandoned } = waiting;
        self.stacks.push(acquisition.into_stack());
        let target = Some(request.target);
        let held = Held { peer, window: request.window, rank: request.rank, target };
        let answer = match taken {
            Ok(true) if abandoned => {
                // The caller never held the part, so its data is not half changed.
                // SAFETY: it was acquired in this mode.
                as_server(|| unsafe { locks.release(held.part(), request.exclusive) });
                return;
            }
            Ok(true) => {
                self.held.insert(held, request.exclusive);
                let orphaned = locks.is_orphaned(held.part());
                if orphaned { Answer::Orphaned } else { Answer::Yes }
            }
            Ok(false) | Err(Refusal::Gone) => Answer::No,
            Err(Refusal::Unsupported) => Answer::Unsupported,
        };
        answers.give(peer, number, &[answer as u8]);
    }
}

impl Held {
    fn part(&self) -> usize {
        self.target.unwrap_or_default() as usize
    }
}

/// Releases what a caller held when its connection ended.
fn give_back(locks: &Arc<dyn Locks>, held: Held, exclusive: bool) {
    as_server(|| match held.target {
        None => locks.release_all(),
        Some(_) => {
            if exclusive {
                locks.orphan(held.part());
            }
            // SAFETY: it is held in this mode.
            unsafe { locks.release(held.part(), exclusive) };
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use syncline_fabric::server::{Link, serve};

    use super::*;
    use crate::scheme::size;
    use crate::segment::{make, position};

    #[test]
    fn malformed_requests_are_answered() {
        const SCHEME: Scheme = Scheme::MessageImmediate;
        let number = position() as u64;
        let made = make(number as usize, size(SCHEME, 2)).expect("a segment");
        serve_window(number, Served::new(Arc::new(made.area), SCHEME, 2));
        let card = serve(StandIns::default).expect("a server");
        let link = Link::connect(&card).expect("a connection");
        let answer = |bytes: &[u8]| {
            let (number, start) = (link.ask(bytes).expect("the server"), Instant::now());
            loop {
                match link.answer(number).expect("the server") {
                    Some(answer) => return Answer::from_bytes(&answer),
                    None => assert!(start.elapsed().as_secs() < 20, "no answer to {bytes:?}"),
                }
                std::thread::yield_now();
            }
        };
        let what = What::Acquire;
        let good =
            Request { what, exclusive: true, rank: 1, window: number, target: 0, left: None };
        let bytes = good.to_bytes();
        let mut unknown = bytes;
        unknown[0] = 77;
        for bad in [&bytes[..27], &[], &unknown] {
            assert_eq!(answer(bad), Answer::Unknown, "{bad:?}");
        }
        for bad in [
            Request { window: number + 1, ..good },
            Request { rank: 2, ..good },
            Request { target: 2, ..good },
            Request { what: What::TryAll, target: 2, ..good },
        ] {
            assert_eq!(answer(&bad.to_bytes()), Answer::Unknown, "{bad:?}");
        }
        assert_eq!(answer(&bytes), Answer::Yes);
    }
}
