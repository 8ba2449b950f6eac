//! Spinlocks.
//!
//! A spinlock is a word, too small for most locks. Each one is initialised by a call, and gets a
//! lock in the library's memory. The lock's position is stored in the word. The C library's own
//! words are 1 for a free lock, and 0 or less for a held one, so the two can be distinguished.
//! Spinlocks beyond the limit, and those shared between processes, are left to the C library.

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

/// The C library's `pthread_spinlock_t`.
pub type Word = AtomicI32;

/// The bit that marks a word as ours. The bits below it are the number of the lock in a policy, if
/// there is one, and the lock's position.
pub const OURS: c_int = 1 << 30;
/// The lowest bit of the number.
pub const CHOICE: u32 = 25;
/// The bits of the lock's position.
const PLACE: c_int = (1 << CHOICE) - 1;
/// The word of a free lock of the C library.
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

/// The operations on a spinlock.
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
    /// The operations by a lock of the catalogue.
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

    /// The operations of the C library.
    pub const LEFT: Ops = Ops {
        init: |word, shared| {
            if is_private(shared) {
                report::spinlock_unnamed();
            } else {
                report::spinlock_shared();
            }
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

/// A replacing lock in the library's memory.
struct Home<L> {
    lock: L,
    /// The holder's node.
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
    /// Whether it has been held since before a fork, so that its queue belongs to threads of
    /// another process.
    #[inline(always)]
    fn is_stranded(&self) -> bool {
        generation::is_past(&self.generation)
    }

    /// Notes the holder after an acquisition.
    #[inline(always)]
    fn entered(&self, node: &L::Node) -> c_int {
        self.holder.hold::<L>(node);
        // Relaxed: the lock orders holders, and a thread that comes after a fork sees the value
        // through the fork.
        self.generation.store(generation::now(), Relaxed);
        0
    }
}

static LARGE: Large = Large::new();

/// The lock of a replaced spinlock; `None` if the spinlock is the C library's.
///
/// # Safety
///
/// The program's spinlock.
#[inline(always)]
unsafe fn home<'a, L>(word: *const Word) -> Option<&'a Home<L>> {
    // SAFETY: our caller's promise. Acquire pairs with the Release in `make`: the lock is
    // initialised. For a lock from `init`, the program orders the initialisation before its use.
    let value = unsafe { (*word).load(Acquire) };
    // The word of a held lock of the C library may be negative, so the bit alone would not do.
    (value >= OURS).then(|| {
        // SAFETY: a value like this comes from `init` or `make`, and the lock exists until
        // `destroy`.
        unsafe { Cells::at((value & PLACE) as u32).cast().as_ref() }
    })
}

/// Whether a spinlock that is initialised this way is not shared between processes.
pub fn is_private(shared: c_int) -> bool {
    shared == libc::PTHREAD_PROCESS_PRIVATE
}

unsafe fn init<L: TryLock<Memory = Own>>(word: *const Word, shared: c_int) -> c_int {
    if !is_private(shared) {
        report::spinlock_shared();
        // SAFETY: the program's own call.
        return unsafe { real::pthread_spin_init(word, shared) };
    }
    let home = LARGE.create::<Home<L>>();
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
    // SAFETY: the program's own call; a lock that was not published is known to no other thread.
    unsafe {
        // Release pairs with the Acquire in `home`: the lock is initialised.
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
    // SAFETY: the program's own call; the node exists until the release.
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
            // The queue belongs to threads of another process, and threads that came since the fork
            // only poll the generation. So the lock can become a fresh one.
            let value = (*word).load(Relaxed);
            let stale = Cells::at((value & PLACE) as u32).cast::<Home<L>>();
            (&raw mut (*stale.as_ptr()).lock).write(L::default());
            // Release pairs with the Acquire in `is_past`: the next thread finds a fresh lock.
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
