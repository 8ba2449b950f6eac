//! A program on shared memory: this process as one of its ranks.
//!
//! ```text
//!   options      how it is started: variables that `syncline cluster` sets
//!   start        from the environment to a node with handlers installed
//!   handler      page faults
//!   threads      threads of this rank, barriers of all threads of all ranks
//!   allocation   global memory, taken by all together or by one
//!   locks        locks and counters of all ranks, by number
//! ```
//!
//! There is one program in a process, since there is one range of global addresses: [`start`] makes
//! it, and it stays until the process ends.
//!
//! Every function here can be called by any thread, except in signal handlers.

mod allocation;
mod handler;
mod locks;
mod options;
mod start;
mod threads;

use std::fmt;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use syncline::lock::Futex;
use syncline::{Barrier, Mutex};
use syncline_fabric::{Dead, Fabric, Host};

use crate::carina::{Fence, FenceStep, Rules};
use crate::node::{Counts, Node, Quiet};
use crate::pages::{Access, Pages, Reserved, Side};
use crate::shape::{Control, Layout, PAGE, Shape};
use crate::vela::Meeting;
use allocation::Arena;
pub use allocation::OutOfMemory;
pub use locks::LOCKS_BY_NUMBER;
pub use locks::Section;
use locks::{Local, Spare};
pub use options::{Misunderstood, Options, SCHEMES, scheme_name};
pub use start::{Error, start};
pub use threads::thread;

type OfProgram = Node<Host, Box<dyn Pages + Send>>;

/// Ends a process that can't go on, because of another rank or of the system.
pub const LOST: i32 = 3;

/// This process as a rank.
pub struct Program {
    host: Host,
    shape: Shape,
    layout: Layout,
    options: Options,
    side: Side,
    reserved: Reserved,
    node: Mutex<Box<OfProgram>, Futex>,
    meeting: Mutex<Meeting>,
    /// The state of this rank's threads.
    barrier: Mutex<std::sync::Arc<Barrier>>,
    threads: AtomicUsize,
    /// The value of [`Control::Allocated`] when it was last read.
    allocated: AtomicU64,
    arena: Mutex<Arena>,
    locks: Box<[OnceLock<Box<Local>>]>,
    spare: Spare,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

impl Program {
    /// The program, if it has been started.
    pub fn get() -> Option<&'static Program> {
        PROGRAM.get()
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.host.rank()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.host.ranks()
    }

    /// The fault side.
    pub fn side(&self) -> Side {
        self.side
    }

    /// What this node has done so far.
    pub fn counts(&self) -> Counts {
        self.inside(|node| node.counts())
    }

    /// The first of the global addresses, and how many bytes they are. Memory has to be allocated
    /// before it can be used.
    pub fn addresses(&self) -> (*mut u8, usize) {
        (self.reserved.base(), self.shape.bytes())
    }

    /// Runs a function on the node. No signal handler runs in this thread meanwhile: it could
    /// access shared memory, and would wait for us.
    fn inside<R>(&self, act: impl FnOnce(&mut OfProgram) -> R) -> R {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: sets, which are written before they are read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        }
        let result = self.node.with(|node| act(node));
        // SAFETY: what was blocked before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
        result
    }

    /// Makes an access possible that has faulted; false if that is not ours to do.
    fn fault(&self, address: usize, access: Option<Access>) -> bool {
        let Some(offset) = self.reserved.offset(address) else { return false };
        let page = offset / PAGE;
        // All signals are blocked in the handler.
        self.node.with(|node| {
            let here = node.has(page);
            if !here && !self.is_allocated(page) {
                return false;
            }
            // A page that is here and can't be accessed can't be written.
            let access = access.unwrap_or(if here { Access::Write } else { Access::Read });
            reached(node.fault(page, access));
            true
        })
    }

    /// Makes accesses to a page of ours raise SIGSEGV; false if the address is not ours.
    fn forbid(&self, address: usize) -> bool {
        let page = self.reserved.offset(address).map(|offset| offset / PAGE);
        page.is_some_and(|page| {
            self.reserved.protect(page..page + 1, libc::PROT_NONE);
            true
        })
    }

    fn is_allocated(&self, page: usize) -> bool {
        let within = |word| {
            let (below, above) = allocation::halves(word);
            page < below || page >= self.shape.pages() - above
        };
        // Relaxed: an old value leads to a look at the word itself.
        within(self.allocated.load(Relaxed)) || {
            let word = self.layout.control(0, Control::Allocated);
            let now = reached(self.host.load(word));
            self.allocated.store(now, Relaxed);
            within(now)
        }
    }

    /// Performs the steps of a fence up to its first synchronization.
    fn before(&self, which: Fence) {
        let steps = crate::carina::Carina.fence(which).iter();
        for step in steps.take_while(|step| **step != FenceStep::Synchronize) {
            reached(self.inside(|node| node.step(*step, Quiet::No)));
        }
    }

    /// Performs the steps of a fence after its first synchronization; at any other does `again`.
    fn after(&self, which: Fence, quiet: Quiet, mut again: impl FnMut()) {
        let steps = crate::carina::Carina.fence(which).iter();
        for step in steps.skip_while(|step| **step != FenceStep::Synchronize).skip(1) {
            match step {
                FenceStep::Synchronize => again(),
                _ => reached(self.inside(|node| node.step(*step, quiet))),
            }
        }
    }

    /// Makes what other ranks have released before, by whatever means, visible from now on: for
    /// synchronization by other means than ours.
    pub fn acquire(&self) {
        self.after(Fence::Acquire, Quiet::No, || ());
    }

    /// What this rank's threads have written is visible to all threads that acquire from now on.
    pub fn release(&self) {
        self.before(Fence::Release);
    }

    /// Makes the pages of a range present, so that a system call can read them, or write to them:
    /// one that is given an absent page fails with `EFAULT` instead of raising a signal. The pages
    /// may go at the next fence of this rank, or for others that take their places in a small
    /// cache.
    ///
    /// # Safety
    ///
    /// The bytes are allocated, and no other thread writes to them without synchronization.
    pub unsafe fn touch(&self, from: *mut u8, bytes: usize, write: bool) {
        if bytes == 0 {
            return;
        }
        let pages = from.addr() / PAGE..=(from.addr() + bytes - 1) / PAGE;
        for page in pages {
            let byte = from.with_addr((page * PAGE).max(from.addr()));
            // SAFETY: a byte of the range.
            let value = unsafe { byte.read_volatile() };
            if write {
                // SAFETY: as above. An exchange for the same value writes, and changes nothing; an
                // addition of nothing may be compiled to a read. Relaxed: nothing is ordered by it. If
                // it fails, another thread has written, and the page is a written one.
                let byte = unsafe { AtomicU8::from_ptr(byte) };
                let _ = byte.compare_exchange(value, value, Relaxed, Relaxed);
            }
        }
    }

    /// Ends this rank's part in the program, once all ranks have come to this: from then on shared
    /// memory must not be accessed.
    pub fn finish(&self) {
        self.barrier();
        if self.options.counts {
            self.print_counts();
        }
        reached(self.host.store(self.layout.control(self.rank(), Control::State), LEFT));
    }

    fn print_counts(&self) {
        let mut text = format!("rank {} ({}):", self.rank(), self.side.name());
        for (name, count) in self.counts().named() {
            text += &format!(" {name} {count},");
        }
        text.pop();
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("host", &self.host).finish_non_exhaustive()
    }
}

/// In [`Control::State`]: the rank has begun, and has ended in order.
pub const JOINED: u64 = 1;
/// See [`JOINED`].
pub const LEFT: u64 = 2;

/// The result of an operation on the fabric; if it failed, this process ends, since nothing that it
/// computes could be right.
fn reached<R>(result: Result<R, Dead>) -> R {
    result.unwrap_or_else(|dead| {
        let _ = writeln!(std::io::stderr(), "syncline: shared memory is lost: {dead}");
        // SAFETY: ends this process at once: other threads may be in the middle of anything.
        unsafe { libc::_exit(LOST) }
    })
}
