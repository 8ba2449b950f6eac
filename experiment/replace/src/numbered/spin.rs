//! The functions for spinlocks under a policy: a spinlock's word has the number of its lock, or 0
//! if it has none yet.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use crate::policy::{LEFT, Moment, NUMBERS, SPINLOCK, decide};
use crate::report;
use crate::spin::{CHOICE, FREE, OURS, Ops, Word, is_private, real};
use crate::table::Table;

/// The locks that replace spinlocks, by number.
pub static SPINLOCKS: [Table<Ops>; NUMBERS] = [const { Table::new(&Ops::LEFT) }; NUMBERS];

impl Ops {
    /// The functions that read the number in the word.
    pub const NUMBERED: Ops = Ops {
        init,
        // SAFETY: the program's own call.
        destroy: |word| unsafe {
            match number(word) {
                // The spinlock was never acquired.
                Some(0) => 0,
                _ => (of(word).destroy)(word),
            }
        },
        // SAFETY: as above.
        lock: |word| unsafe { (of(word).lock)(word) },
        // SAFETY: as above.
        try_lock: |word| unsafe { (of(word).try_lock)(word) },
        // SAFETY: as above.
        unlock: |word| unsafe { (of(word).unlock)(word) },
        make: |_, _| false,
    };
}

/// The number in a word; `None` if the spinlock is the C library's.
#[inline(always)]
unsafe fn number(word: *const Word) -> Option<u16> {
    // SAFETY: our caller's promise. Relaxed: the number only selects functions, and these load the
    // word again with Acquire before they use the lock.
    let value = unsafe { (*word).load(Relaxed) };
    (value >= OURS).then_some(((value & !OURS) >> CHOICE) as u16)
}

#[inline(always)]
unsafe fn of(word: *const Word) -> &'static Ops {
    // SAFETY: our caller's promise.
    match unsafe { number(word) } {
        None => &Ops::LEFT,
        // SAFETY: as above.
        Some(0) => unsafe { choose(word, Moment::Acquired) },
        Some(number) => by(number),
    }
}

#[inline(always)]
fn by(number: u16) -> &'static Ops {
    SPINLOCKS[usize::from(number) % SPINLOCKS.len()].get()
}

unsafe fn init(word: *const Word, shared: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !is_private(shared) {
            report::spinlock_shared();
            return real::pthread_spin_init(word, shared);
        }
        (*word).store(OURS, Relaxed);
        choose(word, Moment::Created);
    }
    0
}

/// Chooses a lock and makes it, unless another thread is first. If the policy leaves the spinlock
/// to the C library, or there is no room for a lock, the spinlock becomes the C library's.
#[cold]
unsafe fn choose(word: *const Word, moment: Moment) -> &'static Ops {
    let number = match decide(SPINLOCK, word.addr(), moment) {
        0 => return &Ops::LEFT,
        number => number,
    };
    // SAFETY: our caller's promise; a word without a lock of this library may become a free
    // spinlock of the C library.
    unsafe {
        let made = number != LEFT && (by(number).make)(word, number);
        if !made {
            let _ = (*word).compare_exchange(OURS, FREE, Relaxed, Relaxed);
        }
        // This is the lock of the thread that was first.
        self::number(word).map_or(&Ops::LEFT, by)
    }
}
