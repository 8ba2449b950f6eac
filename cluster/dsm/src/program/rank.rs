//! This process as a rank: its node, and the addresses that the node makes accessible.
//!
//! A process is one rank, and keeps the rank in a [static](Rank::get), because callers can't pass
//! it: the library's locks call functions without a receiver, and the kernel calls the signal
//! handler.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncline::Mutex;
use syncline::lock::Futex;
use syncline_fabric::{Dead, Fabric, Machines, say, without_signals};

use crate::carina::{Fence, FenceStep, Rules};
use crate::node::{Node, Quiet};
use crate::pages::{Access, Pages, Reserved};
use crate::shape::{Control, Layout, PAGE, Shape};

pub(super) type NodeOfRank = Node<Machines, Box<dyn Pages + Send>>;

/// The exit status of a process that can't go on, because another rank's memory is lost. The
/// command `syncline cluster` also ends with it if a signal ended a rank, or if a rank left the
/// shared memory without [`finish`](super::Program::finish).
pub const LOST: i32 = 3;

/// The value of [`Control::State`] for a rank that has started. For a rank that has called
/// [`Program::finish`](super::Program::finish) it is [`LEFT`].
pub const JOINED: u64 = 1;
/// See [`JOINED`].
pub const LEFT: u64 = 2;

static RANK: OnceLock<Rank> = OnceLock::new();

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// This process as a rank.
pub(super) struct Rank {
    pub fabric: Machines,
    pub shape: Shape,
    pub layout: Layout,
    pub reserved: Reserved,
    node: Mutex<Box<NodeOfRank>, Futex>,
    /// A bit for each line that this rank's threads must not access.
    guards: Box<[AtomicU64]>,
    /// The value of [`Control::Allocated`] when it was last read or written.
    allocated: AtomicU64,
}

impl Rank {
    pub fn new(fabric: Machines, shape: Shape, reserved: Reserved, node: NodeOfRank) -> Rank {
        Rank {
            fabric,
            layout: shape.layout(),
            shape,
            reserved,
            node: Mutex::from_raw(Futex::default(), Box::new(node)),
            guards: (0..shape.lines.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            allocated: AtomicU64::new(0),
        }
    }

    /// Makes this process the rank.
    pub fn set(self) -> &'static Rank {
        RANK.get_or_init(|| self)
    }

    /// This process's rank, if shared memory has been started.
    pub fn get() -> Option<&'static Rank> {
        RANK.get()
    }

    /// The rank's number.
    pub fn number(&self) -> usize {
        self.fabric.rank()
    }

    /// Calls a function with the node. All signals of this thread are blocked meanwhile: a signal
    /// handler could access shared memory, and would then wait for this call to end.
    pub fn inside<R>(&self, act: impl FnOnce(&mut NodeOfRank) -> R) -> R {
        without_signals(|| self.node.with(|node| act(node)))
    }

    /// Performs these steps of a fence, one after another. Other threads may use the node in
    /// between.
    fn steps<'a>(&self, steps: impl Iterator<Item = &'a FenceStep>, quiet: Quiet) {
        without_signals(|| {
            steps.for_each(|step| reached(self.node.with(|node| node.step(*step, quiet))));
        });
    }

    /// Makes a faulted access possible. Returns false if the address is not in this shared memory,
    /// or if its page is not allocated.
    pub fn fault(&self, address: usize, access: Option<Access>) -> bool {
        let Some(offset) = self.reserved.offset(address) else { return false };
        let page = offset / PAGE;
        // All signals are blocked in the handler.
        self.node.with(|node| {
            let here = node.has(page);
            if !here && !self.may_access(page) {
                return false;
            }
            // If the kind is unknown and the page is present, the access is a write: a read of a
            // present page does not fault.
            let access = access.unwrap_or(if here { Access::Write } else { Access::Read });
            reached(node.fault(page, access));
            true
        })
    }

    /// Makes accesses to a page of shared memory raise SIGSEGV. Returns false for other addresses.
    pub fn forbid(&self, address: usize) -> bool {
        let page = self.reserved.offset(address).map(|offset| offset / PAGE);
        page.is_some_and(|page| {
            self.reserved.protect(page..page + 1, libc::PROT_NONE);
            true
        })
    }

    /// Makes accesses of this rank's threads to a line an error, or allows them again. The line is
    /// not in this rank's cache.
    pub fn guard(&self, line: usize, guarded: bool) {
        let (word, bit) = (&self.guards[line / 64], 1 << (line % 64));
        // Relaxed, here and below: a line is guarded for the calling thread.
        match guarded {
            true => word.fetch_or(bit, Relaxed),
            false => word.fetch_and(!bit, Relaxed),
        };
    }

    fn is_guard(&self, line: usize) -> bool {
        self.guards[line / 64].load(Relaxed) & 1 << (line % 64) != 0
    }

    /// Whether a page is allocated, and not guarded.
    pub fn may_access(&self, page: usize) -> bool {
        !self.is_guard(page / self.shape.line_pages) && self.is_allocated(page)
    }

    fn is_allocated(&self, page: usize) -> bool {
        let within = |word| {
            let (below, above) = halves(word);
            page < below || page >= self.shape.pages() - above
        };
        // Relaxed: if the value is old, the next step loads the word itself.
        within(self.allocated.load(Relaxed)) || {
            let word = self.layout.control(0, Control::Allocated);
            let now = reached(self.fabric.load(word));
            self.note_allocated(now);
            within(now)
        }
    }

    /// Records the value of [`Control::Allocated`], so that most page faults need not load it from
    /// rank 0.
    pub fn note_allocated(&self, word: u64) {
        // Relaxed: the handler uses it only as a hint.
        self.allocated.store(word, Relaxed);
    }

    /// Performs the steps of a fence up to its first synchronization.
    pub fn before(&self, which: Fence) {
        let steps = crate::carina::Carina.fence(which).iter();
        self.steps(steps.take_while(|step| **step != FenceStep::Synchronize), Quiet::No);
    }

    /// Performs the steps of a fence after its first synchronization. If there is a second one,
    /// calls `again` for it.
    pub fn after(&self, which: Fence, quiet: Quiet, mut again: impl FnMut()) {
        let steps = crate::carina::Carina.fence(which).iter();
        let mut parts = steps.as_slice().split(|step| *step == FenceStep::Synchronize).skip(1);
        if let Some(first) = parts.next() {
            self.steps(first.iter(), quiet);
        }
        for part in parts {
            again();
            self.steps(part.iter(), quiet);
        }
    }

    /// Makes everything visible that other ranks have released so far.
    pub fn acquire(&self) {
        self.after(Fence::Acquire, Quiet::No, || ());
    }

    /// Makes everything that this rank's threads have written visible to threads that acquire
    /// later.
    pub fn release(&self) {
        self.before(Fence::Release);
    }

    /// Makes this thread's rank known to the library's locks.
    pub fn enter(&self) {
        if !ENTERED.replace(true) {
            self.fabric.enter(self.layout.nodes);
        }
    }
}

/// The numbers of pages that [`Control::Allocated`] counts as taken from the low end and from the
/// high end.
pub(super) fn halves(word: u64) -> (usize, usize) {
    (word as u32 as usize, (word >> 32) as usize)
}

/// The result of an operation on the fabric. If the operation failed, this process ends, since
/// nothing that it computes could be right.
pub(super) fn reached<R>(result: Result<R, Dead>) -> R {
    result.unwrap_or_else(|dead| {
        say(&format!("syncline: shared memory is lost: {dead}"));
        // SAFETY: ends this process at once: other threads may be in the middle of anything.
        unsafe { libc::_exit(LOST) }
    })
}
