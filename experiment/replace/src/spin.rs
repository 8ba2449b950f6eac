//! Spinlocks.
//!
//! A spinlock is a word, too small for most locks. Every one is initialised by a call, and so gets
//! a lock in the library's memory; the word says which. The C library's own words are 1 for a free
//! lock, 0 and below for a held one, so they can be distinguished. Those beyond the limit, and
//! those shared between processes, are left to the C library.

use core::ffi::c_int;
use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicI32, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use libc::EBUSY;
use syncline::lock::TryLock;

use crate::memory::{Cells, Own};
use crate::mutex::{NEVER, poll};
use crate::slot::{Large, Slot};
use crate::{generation, report};

/// What the C library calls `pthread_spinlock_t`.
pub type Word = AtomicI32;

/// Says that the word is ours: below it are the number of the kind of lock, if a policy chose it,
/// and where the lock is.
pub const OURS: c_int = 1 << 30;
/// From this bit on there is the kind's number.
pub const CHOICE: u32 = 25;
/// The position of the lock.
const PLACE: c_int = (1 << CHOICE) - 1;
/// A free lock of the C library.
pub const FREE: c_int = 1;

pub mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_spin_init(word: *const Word, shared: c_int) -> c_int;
        fn pthread_spin_destroy(word: *const Word) -> c_int;
        fn pthread_spin_lock(word: *const Word) -> c_int;
        fn pthread_spin_trylock(word: *const Word) -> c_int;
        fn pthread_spin_unlock(word: *const Word) -> c_int;
    }
}

type Call = unsafe fn(*const Word) -> c_int;

/// What can be done with a spinlock.
#[derive(Clone, Copy)]
pub struct Ops {
    pub init: unsafe fn(*const Word, c_int) -> c_int,
    pub destroy: Call,
    pub lock: Call,
    pub try_lock: Call,
    pub unlock: Call,
    /// Makes a lock for a replaced word that has none, unless another thread is first. Returns
    /// whether there was room for it.
    pub make: unsafe fn(*const Word, u16) -> bool,
}

impl Ops {
    /// With a lock of the catalogue.
    pub const fn of<L: TryLock<Memory = Own>>() -> Ops {
        Ops {
            init: init::<L>,
            destroy: destroy::<L>,
            lock: lock::<L>,
            try_lock: try_lock::<L>,
            unlock: unlock::<L>,
            make: make::<L>,
        }
    }

    /// Those of the C library.
    pub const LEFT: Ops = Ops {
        init: |word, shared| {
            report::spinlock_unnamed();
            // SAFETY: the program's own call.
            unsafe { real::pthread_spin_init(word, shared) }
        },
        destroy: real::pthread_spin_destroy,
        lock: real::pthread_spin_lock,
        try_lock: real::pthread_spin_trylock,
        unlock: real::pthread_spin_unlock,
        make: |_, _| false,
    };
}

/// A lock in the library's memory.
struct Home<L> {
    lock: L,
    /// Only for the holder's node.
    holder: Slot<1>,
    /// The generation of the process in which it was acquired; 0 if no thread holds it.
    generation: AtomicU32,
}

impl<L: Default> Default for Home<L> {
    fn default() -> Self {
        Home { lock: L::default(), holder: Slot::default(), generation: AtomicU32::new(0) }
    }
}

impl<L: TryLock<Memory = Own>> Home<L> {
    /// Whether it is held since before a fork, and its queue is that of another process.
    #[inline(always)]
    fn is_stranded(&self) -> bool {
        generation::is_past(&self.generation)
    }

    /// What follows an acquisition.
    #[inline(always)]
    fn entered(&self, node: &L::Node) -> c_int {
        self.holder.hold::<L>(node);
        // Relaxed: the lock orders holders; a thread that comes after a fork knows it from the
        // fork.
        self.generation.store(generation::now(), Relaxed);
        0
    }
}

static LARGE: Large = Large::new();

/// The lock of a replaced spinlock.
///
/// # Safety
///
/// The program's spinlock.
#[inline(always)]
unsafe fn home<'a, L>(word: *const Word) -> Option<&'a Home<L>> {
    // SAFETY: our caller's promise. Acquire: pairs with the Release in `make`, so that the lock is
    // seen; one from `init` is known from elsewhere.
    let value = unsafe { (*word).load(Acquire) };
    // Of a held lock of the C library the sign is set, too.
    (value >= OURS).then(|| {
        // SAFETY: such a value comes from `init` or `make`, and the lock lives until `destroy`.
        unsafe { Cells::at((value & PLACE) as u32).cast().as_ref() }
    })
}

unsafe fn init<L: TryLock<Memory = Own>>(word: *const Word, shared: c_int) -> c_int {
    let private = shared == libc::PTHREAD_PROCESS_PRIVATE;
    let home = if private { LARGE.create::<Home<L>>() } else { None };
    report::spinlock_made(home.is_some());
    match home {
        Some(home) => {
            let number = Cells::number(home.cast());
            // SAFETY: the program's own call.
            unsafe { (*word).store(OURS | number as c_int, Relaxed) };
            0
        }
        // SAFETY: as above.
        None => unsafe { real::pthread_spin_init(word, shared) },
    }
}

unsafe fn make<L: TryLock<Memory = Own>>(word: *const Word, number: u16) -> bool {
    let home = LARGE.create::<Home<L>>();
    report::spinlock_made(home.is_some());
    let Some(home) = home else { return false };
    let value = OURS | c_int::from(number) << CHOICE | Cells::number(home.cast()) as c_int;
    // SAFETY: the program's own call; no other thread has seen a lock that was not published.
    unsafe {
        // Release: pairs with the Acquire in `home`: the lock is initialised.
        if (*word).compare_exchange(OURS, value, Release, Relaxed).is_err() {
            LARGE.destroy(home);
        }
    }
    true
}

unsafe fn destroy<L: TryLock<Memory = Own>>(word: *const Word) -> c_int {
    // SAFETY: the program's own call; no thread uses the lock.
    unsafe {
        match home::<L>(word) {
            Some(home) => {
                (*word).store(0, Relaxed);
                LARGE.destroy(NonNull::from_ref(home));
                0
            }
            None => real::pthread_spin_destroy(word),
        }
    }
}

unsafe fn lock<L: TryLock<Memory = Own>>(word: *const Word) -> c_int {
    // SAFETY: the program's own call; the node stays until it is released.
    unsafe {
        let Some(home) = home::<L>(word) else { return real::pthread_spin_lock(word) };
        if home.is_stranded() {
            poll(NEVER, || !home.is_stranded());
        }
        let node = Slot::<1>::node::<L>();
        home.lock.acquire(node);
        home.entered(node)
    }
}

unsafe fn try_lock<L: TryLock<Memory = Own>>(word: *const Word) -> c_int {
    // SAFETY: as above; a try that fails leaves the node free.
    unsafe {
        let Some(home) = home::<L>(word) else { return real::pthread_spin_trylock(word) };
        if home.is_stranded() {
            return EBUSY;
        }
        let node = Slot::<1>::node::<L>();
        if !home.lock.try_acquire(node) {
            Slot::<1>::done::<L>(node);
            return EBUSY;
        }
        home.entered(node)
    }
}

unsafe fn unlock<L: TryLock<Memory = Own>>(word: *const Word) -> c_int {
    // SAFETY: as above; the lock is held, and was acquired with this node.
    unsafe {
        let Some(home) = home::<L>(word) else { return real::pthread_spin_unlock(word) };
        if home.is_stranded() {
            // The queue belongs to another process, and threads that came since only poll the
            // generation: so the lock becomes a fresh one.
            let value = (*word).load(Relaxed);
            let stale = Cells::at((value & PLACE) as u32).cast::<Home<L>>();
            (&raw mut (*stale.as_ptr()).lock).write(L::default());
            // Release: pairs with the Acquire in `is_past`: the next thread finds a fresh lock.
            home.generation.store(0, Release);
            return 0;
        }
        home.generation.store(0, Relaxed);
        let node = home.holder.held::<L>();
        home.lock.release(node);
        Slot::<1>::done::<L>(node);
    }
    0
}
