//! Locks that are written plainly over `core::sync::atomic`, like those in a program that needs one
//! lock and no library. The library's native forms must be equally fast: being generic over a
//! memory and a waiting policy must cost nothing. The six locks in this file are timed. The tests
//! in `instructions.rs` compare the executed instructions, for these six and for the locks in the
//! modules below.
//!
//! Each lock has the same words and the same memory orderings as the library's lock of that name.

#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod near;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod preferences;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod queues;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod shared;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod trees;

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use syncline::lock::Waiting;

use super::arena::Lock;
use super::contender::{Contender, Kind, Side};

/// The locks that are timed, each with the name of the corresponding form in the library.
pub fn contenders() -> Vec<(Contender, &'static str)> {
    fn lock<L: Lock + 'static>(name: &str, kind: Kind) -> Contender {
        let waiting = if kind == Kind::Blocking { Waiting::Parks } else { Waiting::Spins };
        Contender::new::<L>(name, Side::Handwritten, kind, waiting)
    }
    vec![
        (lock::<Tas>("tas by hand", Kind::Spin), "tas-spin"),
        (lock::<Ttas>("ttas by hand", Kind::Spin), "ttas-spin"),
        (lock::<Ticket>("ticket by hand", Kind::Ticket), "ticket-spin"),
        (lock::<Mcs>("mcs by hand", Kind::Mcs), "mcs-spin"),
        (lock::<Futex>("futex by hand", Kind::Blocking), "futex"),
        (lock::<FlagRw>("rw_flag by hand", Kind::SpinningShared), "rw_flag-spin"),
    ]
}

const FREE: u32 = 0;
const HELD: u32 = 2;

#[derive(Default)]
pub struct Tas(AtomicU32);

impl Lock for Tas {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.contend();
        }
        let result = section();
        self.0.store(FREE, Release);
        result
    }
}

impl Tas {
    #[cold]
    fn contend(&self) {
        while self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            spin_loop();
        }
    }
}

#[derive(Default)]
pub struct Ttas(AtomicU32);

impl Lock for Ttas {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        self.acquire();
        let result = section();
        self.release();
        result
    }
}

impl Ttas {
    #[inline(always)]
    fn acquire(&self) {
        if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.contend();
        }
    }

    #[inline(always)]
    fn release(&self) {
        self.0.store(FREE, Release);
    }

    #[cold]
    fn contend(&self) {
        loop {
            while self.0.load(Relaxed) != FREE {
                spin_loop();
            }
            if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() {
                return;
            }
        }
    }
}

#[derive(Default)]
pub struct Ticket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Lock for Ticket {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        self.acquire();
        let result = section();
        self.release();
        result
    }
}

impl Ticket {
    #[inline(always)]
    fn acquire(&self) {
        let mine = self.next.fetch_add(2, Relaxed);
        while self.serving.load(Acquire) != mine {
            spin_loop();
        }
    }

    #[inline(always)]
    fn release(&self) {
        // The number is loaded again, as in a release that is called without the ticket.
        self.serving.store(self.serving.load(Relaxed).wrapping_add(2), Release);
    }
}

#[derive(Default)]
pub struct Mcs {
    tail: AtomicPtr<Node>,
}

#[derive(Default)]
pub struct Node {
    next: AtomicPtr<Node>,
    granted: AtomicU32,
}

impl Lock for Mcs {
    type Thread = Node;

    #[inline(always)]
    fn with<R: Send>(&self, node: &mut Node, section: impl FnOnce() -> R + Send) -> R {
        self.acquire(node);
        let result = section();
        self.release(node);
        result
    }
}

impl Mcs {
    #[inline(always)]
    fn acquire(&self, node: &Node) {
        let ours = ptr::from_ref(node).cast_mut();
        node.next.store(ptr::null_mut(), Relaxed);
        node.granted.store(0, Relaxed);
        let previous = self.tail.swap(ours, AcqRel);
        if !previous.is_null() {
            // SAFETY: the node before this one lives until its holder has seen the link.
            unsafe { &*previous }.next.store(ours, Release);
            while node.granted.load(Acquire) == 0 {
                spin_loop();
            }
        }
    }

    #[inline(always)]
    fn release(&self, node: &Node) {
        let ours = ptr::from_ref(node).cast_mut();
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            if self.tail.compare_exchange(ours, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            while next.is_null() {
                spin_loop();
                next = node.next.load(Acquire);
            }
        }
        // SAFETY: the successor's node lives until the hand-over.
        unsafe { &*next }.granted.store(2, Release);
    }
}

#[derive(Default)]
pub struct Futex(AtomicU32);

const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

impl Lock for Futex {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.0.compare_exchange(FREE, LOCKED, Acquire, Relaxed).is_err() {
            self.contend();
        }
        let result = section();
        if self.0.swap(FREE, Release) == CONTENDED {
            Self::wake(&self.0);
        }
        result
    }
}

impl Futex {
    #[cold]
    fn contend(&self) {
        while self.0.swap(CONTENDED, Acquire) != FREE {
            Self::wait(&self.0, CONTENDED);
        }
    }

    #[cold]
    fn wake(word: &AtomicU32) {
        Self::call(word, libc::FUTEX_WAKE, 1);
    }

    #[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
    fn wake_all(word: &AtomicU32) {
        Self::call(word, libc::FUTEX_WAKE, i32::MAX as u32);
    }

    /// Sleeps while the word has this value.
    fn wait(word: &AtomicU32, value: u32) {
        Self::call(word, libc::FUTEX_WAIT, value);
    }

    fn call(word: &AtomicU32, operation: i32, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let no_deadline = ptr::null::<libc::timespec>();
        // SAFETY: the kernel only reads the word. Whatever the call returns, callers check the word
        // again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_deadline) };
    }
}

#[derive(Default)]
pub struct FlagRw {
    flag: AtomicU32,
    readers: AtomicU32,
}

const READER: u32 = 2;
const FULL: u32 = 1 << 31;

impl Lock for FlagRw {
    const SHARED: bool = true;

    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.flag.compare_exchange(FREE, HELD, SeqCst, Relaxed).is_err() {
            self.contend_alone();
        }
        if self.readers.load(SeqCst) != 0 {
            until_zero(&self.readers);
        }
        let result = section();
        self.flag.store(FREE, Release);
        result
    }

    #[inline(always)]
    fn share<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if !self.enter() {
            self.contend_shared();
        }
        let result = section();
        self.readers.fetch_sub(READER, Release);
        result
    }
}

impl FlagRw {
    #[inline(always)]
    fn enter(&self) -> bool {
        if self.flag.load(Relaxed) != FREE {
            return false;
        }
        let readers = self.readers.fetch_add(READER, SeqCst).wrapping_add(READER);
        if readers < FULL && self.flag.load(SeqCst) == FREE {
            return true;
        }
        self.readers.fetch_sub(READER, Release);
        false
    }

    #[cold]
    fn contend_alone(&self) {
        until_zero(&self.flag);
        while self.flag.compare_exchange(FREE, HELD, SeqCst, Relaxed).is_err() {
            until_zero(&self.flag);
        }
    }

    #[cold]
    fn contend_shared(&self) {
        until_zero(&self.flag);
        while !self.enter() {
            until_zero(&self.flag);
        }
    }
}

#[cold]
fn until_zero(word: &AtomicU32) {
    while word.load(Acquire) != 0 {
        spin_loop();
    }
}
