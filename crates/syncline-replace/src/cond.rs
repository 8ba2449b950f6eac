//! `pthread_cond_*`.
//!
//! A condition variable is ours from the first wait with a replaced mutex; until then, and with a
//! mutex that is left to the C library, it is the C library's. A mark says which, in a word that
//! both keep.
//!
//! ```text
//!   bytes   the C library's              ours
//!    0- 7   its sequence                 sequence, waiters
//!    8-35   its groups                   -
//!   36-39   its waiters, clock, sharing  OURS, clock, sharing
//! ```
//!
//! A notification changes the sequence, and a waiter sleeps only while it is what it was when the
//! waiter held the mutex; so none is lost. The kernel wakes in the order of arrival. A waiter may
//! wake for no reason, as POSIX allows: if it was about to sleep when another was notified.
//!
//! Waiters count themselves, so that a notification that nobody waits for is a look at a word, and
//! destroying waits for those that were woken to be gone, as POSIX asks for.
//!
//! Whoever is cancelled while it waits has perhaps taken a notification with it, and passes one
//! on.

use core::ffi::{c_int, c_long, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, ETIMEDOUT, clockid_t, timespec};

use crate::choice::MUTEXES;
use crate::deadline;
use crate::errno::preserving_errno;
use crate::mutex::Mutex;

/// What the C library calls `pthread_cond_t`.
#[repr(C)]
pub struct Cond {
    /// Changed by each notification that somebody might sleep through.
    sequence: AtomicU32,
    /// How many wait or are about to, and [`DESTROYING`].
    waiters: AtomicU32,
    groups: [AtomicU32; 7],
    mode: AtomicU32,
    signals: [AtomicU32; 2],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());

// Of the mode:
/// Processes may share it.
const SHARED: u32 = 1;
/// Absolute times are on the monotonic clock.
const MONOTONIC: u32 = 2;
/// It is ours. The C library counts waiters in these bits, and doesn't get so far.
const OURS: u32 = 1 << 31;

/// Somebody waits for the last waiter to be gone.
const DESTROYING: u32 = 1 << 31;

mod real {
    use super::*;

    crate::real::real! {
        fn pthread_cond_wait(cond: *const Cond, mutex: *const Mutex) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(cond: *const Cond, mutex: *const Mutex, until: *const timespec) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(cond: *const Cond, mutex: *const Mutex, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_cond_signal(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_broadcast(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_destroy(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
    }
}

/// Of the C library: a handler on the list of those that a cancellation runs.
#[repr(C)]
struct Handler {
    routine: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut Handler,
}

unsafe extern "C-unwind" {
    fn _pthread_cleanup_push(
        handler: *mut Handler,
        routine: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(handler: *mut Handler, run: c_int);
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

const PTHREAD_CANCEL_ASYNCHRONOUS: c_int = 1;

impl Cond {
    fn private(&self) -> c_int {
        // Relaxed, as all looks at the mode: who waits has the mutex, and who notifies has had it
        // after that, or needn't be noticed.
        if self.mode.load(Relaxed) & SHARED != 0 { 0 } else { libc::FUTEX_PRIVATE_FLAG }
    }

    fn is_ours(&self) -> bool {
        self.mode.load(Relaxed) & OURS != 0
    }

    /// Makes it ours, for a caller who holds a replaced mutex; so no other waiter comes meanwhile.
    fn make_ours(&self) {
        let mode = self.mode.load(Relaxed);
        if mode & OURS == 0 {
            // What the C library has left. Its sequence may be ours, but nobody waits.
            self.waiters.store(0, Relaxed);
            self.mode.store(mode & (SHARED | MONOTONIC) | OURS, Relaxed);
        }
    }

    /// Gives it back to the C library, for a caller who holds a mutex that is left to it.
    fn make_theirs(&self) {
        let mode = self.mode.load(Relaxed);
        if mode & OURS != 0 {
            let words = [&self.sequence, &self.waiters].into_iter();
            words.chain(&self.groups).chain(&self.signals).for_each(|word| word.store(0, Relaxed));
            self.mode.store(mode & (SHARED | MONOTONIC), Relaxed);
        }
    }

    fn wake(&self, count: c_int) {
        let operation = libc::FUTEX_WAKE | self.private();
        // SAFETY: the kernel compares the address with those of sleepers.
        preserving_errno(|| unsafe {
            syscall(libc::SYS_futex, self.sequence.as_ptr(), operation, count)
        });
    }

    fn notify(&self, count: c_int) {
        // Relaxed: a waiter that must not be missed has counted itself while it held the mutex,
        // which whoever notifies has held since.
        if self.waiters.load(Relaxed) & !DESTROYING != 0 {
            // Relaxed: the mutex carries what the waiter is to see.
            self.sequence.fetch_add(1, Relaxed);
            self.wake(count);
        }
    }

    /// A waiter is gone.
    fn leave(&self) {
        let (word, private) = (self.waiters.as_ptr(), self.private());
        // AcqRel: pairs with the Acquire in `destroy`; all that was done here comes before. The
        // condition variable may be gone after.
        if self.waiters.fetch_sub(1, AcqRel) == DESTROYING | 1 {
            let operation = libc::FUTEX_WAKE | private;
            // SAFETY: as in `wake`.
            preserving_errno(|| unsafe { syscall(libc::SYS_futex, word, operation, c_int::MAX) });
        }
    }

    fn destroy(&self) {
        // Acquire: pairs with the AcqRel in `leave`.
        let mut waiters = self.waiters.fetch_or(DESTROYING, Acquire) | DESTROYING;
        while waiters != DESTROYING {
            let operation = libc::FUTEX_WAIT | self.private();
            // SAFETY: the word is there, and there is no time.
            preserving_errno(|| unsafe {
                let forever = ptr::null::<timespec>();
                syscall(libc::SYS_futex, self.waiters.as_ptr(), operation, waiters, forever)
            });
            waiters = self.waiters.load(Acquire);
        }
        self.waiters.store(0, Relaxed);
    }
}

/// A wait, as a cancellation finds it.
struct Wait {
    cond: *const Cond,
    mutex: *const Mutex,
}

/// Leaves the wait, and holds the mutex for the program's own handlers.
unsafe extern "C-unwind" fn cancelled(wait: *mut c_void) {
    // SAFETY: the wait is on the stack of the thread that is cancelled, which runs this.
    unsafe {
        let wait = &*wait.cast::<Wait>();
        // Perhaps we were woken. Another may take that for it, and would wake in vain otherwise.
        (*wait.cond).wake(1);
        (*wait.cond).leave();
        (MUTEXES.get().lock)(wait.mutex);
    }
}

/// Waits with a replaced mutex.
///
/// # Safety
///
/// As of POSIX' functions; the clock is known and the time is one, if there is one.
unsafe fn wait(
    cond: *const Cond,
    mutex: *const Mutex,
    until: Option<(clockid_t, *const timespec)>,
) -> c_int {
    // SAFETY: our caller's promise. The handler is popped before this returns.
    unsafe {
        let shown = &*cond;
        shown.make_ours();
        // Relaxed: whoever notifies us has held the mutex since then.
        shown.waiters.fetch_add(1, Relaxed);
        let sequence = shown.sequence.load(Relaxed);
        let refused = (MUTEXES.get().unlock)(mutex);
        if refused != 0 {
            shown.leave();
            return refused;
        }
        let mut wait = Wait { cond, mutex };
        let mut handler = MaybeUninit::<Handler>::uninit();
        _pthread_cleanup_push(handler.as_mut_ptr(), cancelled, (&raw mut wait).cast());
        let result = sleep(shown, sequence, until);
        _pthread_cleanup_pop(handler.as_mut_ptr(), 0);
        shown.leave();
        let relocked = (MUTEXES.get().lock)(mutex);
        if relocked != 0 { relocked } else { result }
    }
}

/// Sleeps until the sequence has changed or the time has come. A cancellation may end the thread
/// anywhere here, so nothing here needs to be undone but what `cancelled` does; errno is a
/// cancelled thread's own business.
#[inline(never)]
unsafe fn sleep(cond: &Cond, sequence: u32, until: Option<(clockid_t, *const timespec)>) -> c_int {
    let (clock, time) = until.unwrap_or((CLOCK_MONOTONIC, ptr::null()));
    let real_time = if clock == CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = libc::FUTEX_WAIT_BITSET | cond.private() | real_time;
    let word = cond.sequence.as_ptr();
    // SAFETY: the word is there and the time is valid or null. With a mask the time is absolute.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mut kind = 0;
        let mut result = 0;
        // Relaxed: the mutex orders what the program does.
        while cond.sequence.load(Relaxed) == sequence {
            pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut kind);
            let none = ptr::null::<u32>();
            let outcome = syscall(libc::SYS_futex, word, operation, sequence, time, none, u32::MAX);
            let why = *errno;
            pthread_setcanceltype(kind, &raw mut kind);
            if outcome == 0 {
                break;
            }
            if why == ETIMEDOUT {
                result = ETIMEDOUT;
                break;
            }
        }
        *errno = before;
        result
    }
}

/// Waits with any mutex; `left` is the C library's own function.
unsafe fn wait_with(
    cond: *const Cond,
    mutex: *const Mutex,
    until: Option<(clockid_t, *const timespec)>,
    left: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if (MUTEXES.get().is_ours)(mutex) == 0 {
            (*cond).make_theirs();
            return left();
        }
        if let Some((clock, time)) = until
            && !(deadline::is_known(clock) && deadline::is_valid(&*time))
        {
            return EINVAL;
        }
        wait(cond, mutex, until)
    }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(cond: *const Cond, mutex: *const Mutex) -> c_int {
    // SAFETY: the program's own call.
    unsafe { wait_with(cond, mutex, None, || real::pthread_cond_wait(cond, mutex)) }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *const Cond,
    mutex: *const Mutex,
    time: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let monotonic = (*cond).mode.load(Relaxed) & MONOTONIC != 0;
        let clock = if monotonic { CLOCK_MONOTONIC } else { CLOCK_REALTIME };
        let left = || real::pthread_cond_timedwait(cond, mutex, time);
        wait_with(cond, mutex, Some((clock, time)), left)
    }
}

/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *const Cond,
    mutex: *const Mutex,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let left = || real::pthread_cond_clockwait(cond, mutex, clock, time);
        wait_with(cond, mutex, Some((clock, time)), left)
    }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_signal(cond);
        }
        (*cond).notify(1);
    }
    0
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_broadcast(cond);
        }
        (*cond).notify(c_int::MAX);
    }
    0
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_destroy(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_destroy(cond);
        }
        (*cond).destroy();
    }
    0
}
