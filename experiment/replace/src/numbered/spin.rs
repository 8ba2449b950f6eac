//! The functions under a policy: a spinlock's word has its lock's number, or that it has none yet.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use crate::policy::{LEFT, Moment, NUMBERS, SPINLOCK, decide};
use crate::report;
use crate::spin::{CHOICE, FREE, OURS, Ops, Word, real};
use crate::table::Table;

/// The locks of spinlocks, by their numbers.
pub static SPINLOCKS: [Table<Ops>; NUMBERS] = [const { Table::new(&Ops::LEFT) }; NUMBERS];

impl Ops {
    /// Those that look at the word.
    pub const NUMBERED: Ops = Ops {
        init,
        // SAFETY: the program's own call.
        destroy: |word| unsafe {
            match number(word) {
                // It was never acquired.
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

/// The number in a word; `None` if it is the C library's own.
#[inline(always)]
unsafe fn number(word: *const Word) -> Option<u16> {
    // SAFETY: our caller's promise. Relaxed: as in `place`.
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
        if shared != libc::PTHREAD_PROCESS_PRIVATE {
            report::spinlock_made(false);
            return real::pthread_spin_init(word, shared);
        }
        (*word).store(OURS, Relaxed);
        choose(word, Moment::Created);
    }
    0
}

/// Chooses a lock and makes it, unless another thread is first. Where there is no room for another,
/// the word becomes the C library's.
#[cold]
unsafe fn choose(word: *const Word, moment: Moment) -> &'static Ops {
    let number = match decide(SPINLOCK, word.addr(), moment) {
        0 => return &Ops::LEFT,
        number => number,
    };
    // SAFETY: our caller's promise; without a lock of ours in it, the word may be made a free one
    // of the C library.
    unsafe {
        let made = number != LEFT && (by(number).make)(word, number);
        if !made {
            let _ = (*word).compare_exchange(OURS, FREE, Relaxed, Relaxed);
        }
        // The lock of the thread that was first.
        self::number(word).map_or(&Ops::LEFT, by)
    }
}
